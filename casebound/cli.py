"""The `casebound` command: parses the command line and hands over to `casebound.commands`.

Commands are imported when they are run: `--help`, `--version` and a mistyped option should not
wait for Temporal's SDK.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from casebound import __version__
from casebound.cli_durations import DurationError, parse_duration
from casebound.cli_errors import run_command

app = typer.Typer(
    name="casebound",
    help="Run read-only diagnosis agents on Temporal whose answers can be proved.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except DurationError as error:
        raise typer.BadParameter(error.message) from None


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar="CASEBOUND_CONFIG",
        metavar="FILE",
        help="Declares sources, store and limits; default: casebound.toml here, if there is one.",
    ),
]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run id or a workflow id.")]
Owner = Annotated[str, typer.Option(envvar="CASEBOUND_OWNER", help="Who asks; default: the user's name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _limit(text: str) -> Any:
    return typer.Option(min=0, metavar="N", help=text)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)] = False,
) -> None:
    """Print the version if that is what was asked for."""
    if version:
        print(f"casebound {__version__}")
        raise typer.Exit


@app.command()
def diagnose(
    question: Annotated[str | None, typer.Argument(help="What to find out; default: the runbook's question.")] = None,
    config: Config = None,
    runbook: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What to look at and what to claim of it, in YAML.")
    ] = None,
    deadline: Annotated[
        timedelta, typer.Option(parser=_duration, metavar="DURATION", help="When the run concludes: 90s, 10m, 2h.")
    ] = "10m",  # pyright: ignore[reportArgumentType] # typer parses a default like any other text
    max_tool_calls: Annotated[int | None, _limit("Tool calls of the run.")] = None,
    max_turns: Annotated[int | None, _limit("Turns of the planner.")] = None,
    max_run_bytes: Annotated[int | None, _limit("Bytes of evidence of the run.")] = None,
    max_tokens: Annotated[int | None, _limit("Tokens the planner may use.")] = None,
    max_parallel_calls: Annotated[int | None, _limit("Tool calls at one time.")] = None,
    record_ttl: Annotated[
        timedelta | None,
        typer.Option(parser=_duration, metavar="DURATION", help="How long evidence is kept; default: deadline + 7d."),
    ] = None,
    owner: Owner = "",
    as_json: AsJson = False,
) -> None:
    """Run one diagnosis: progress on stderr, the report on stdout.

    Exit code: 0 every claim proven, 1 not every one or none, 2 nothing was started, 3 the run failed, 4 cancelled.
    """
    from casebound.commands.diagnose import DiagnoseOptions, limits_given
    from casebound.commands.diagnose import diagnose as command

    options = DiagnoseOptions(
        question=question,
        config=config,
        runbook=runbook,
        deadline=deadline,
        record_ttl=record_ttl,
        owner=_named(owner),
        json=as_json,
        limits=limits_given(
            max_tool_calls=max_tool_calls,
            max_turns=max_turns,
            max_run_bytes=max_run_bytes,
            max_tokens=max_tokens,
            max_parallel_calls=max_parallel_calls,
        ),
    )
    _leave(lambda: command(options))


@app.command()
def up(config: Config = None) -> None:
    """Run the embedded stack - Temporal with its UI, store, worker - until Ctrl-C."""
    from casebound.commands.serve import up as command

    _leave(lambda: command(config))


@app.command()
def worker(config: Config = None) -> None:
    """Serve runs on the servers that TEMPORAL_ADDRESS and REDIS_URL name, until SIGTERM."""
    from casebound.commands.serve import worker as command

    _leave(lambda: command(config))


@app.command()
def setup() -> None:
    """Declare casebound's search attributes on the server that TEMPORAL_ADDRESS names, once per namespace."""
    from casebound.commands.setup import setup as command

    _leave(command)


@app.command()
def tools(as_json: AsJson = False, config: Config = None) -> None:
    """List every tool and declared source, and whether it can be used right now.

    Exit code: 0 every source can be used, 1 at least one cannot, or there is none.
    """
    from casebound.commands.tools import tools as command

    _leave(lambda: command(config, as_json=as_json))


@app.command()
def doctor(config: Config = None) -> None:
    """Check configuration, servers and sources; nothing is started or changed.

    Exit code: 0 nothing stands in the way of a diagnosis, 1 something does.
    """
    from casebound.commands.doctor import doctor as command

    _leave(lambda: command(config))


@app.command()
def runs(
    text: Annotated[str, typer.Argument(help="Only runs whose question has this in it.")] = "",
    outcome: Annotated[str, typer.Option(metavar="OUTCOME", help="Only runs that ended so: REPORTED, ...")] = "",
    owner: Annotated[str, typer.Option(help="Only runs that this person asked for.")] = "",
    running: Annotated[bool, typer.Option("--running", help="Only runs that have not ended.")] = False,
    since: Annotated[
        timedelta | None, typer.Option(parser=_duration, metavar="DURATION", help="Only runs started since: 1d, 2h.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Runs listed at most.")] = 50,
    stored: Annotated[bool, typer.Option("--stored", help="Also runs that only the store still has; slower.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """List runs, the latest first."""
    from casebound.commands.runs import RunsOptions
    from casebound.commands.runs import runs as command
    from casebound.run_list import Wanted

    wanted = Wanted(text=text, outcome=outcome.upper(), owner=owner, running=running, since=since)
    _leave(lambda: command(RunsOptions(wanted, limit, stored, as_json, config)))


@app.command()
def show(
    run: Run,
    as_json: AsJson = False,
    timeline: Annotated[bool, typer.Option("--timeline", help="What happened when, instead of the report.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Wait for the end of a run that goes on.")] = False,
    config: Config = None,
) -> None:
    """Print the report of a run, or how far it is."""
    from casebound.commands.show import ShowOptions
    from casebound.commands.show import show as command

    _leave(lambda: command(ShowOptions(run, config, json=as_json, timeline=timeline, watch=watch)))


@app.command()
def evidence(
    run: Run,
    tool_call_id: Annotated[str, typer.Argument(metavar="TOOL_CALL_ID", help="As the report cites it.")],
    raw: Annotated[bool, typer.Option("--raw", help="The tool's raw response, which the agent never saw.")] = False,
    config: Config = None,
) -> None:
    """Print the evidence of one call as JSON."""
    from casebound.commands.show import EvidenceOptions
    from casebound.commands.show import evidence as command

    options = EvidenceOptions(run=run, tool_call_id=tool_call_id, raw=raw, config=config)
    _leave(lambda: command(options))


@app.command()
def cancel(run: Run, config: Config = None) -> None:
    """Cancel a run: its records are settled, and there is no report."""
    from casebound.commands.control import cancel as command

    _leave(lambda: command(run, config))


@app.command()
def stop(
    run: Run,
    reason: Annotated[str, typer.Option(help="Stands in the run's report.")] = "",
    owner: Owner = "",
    config: Config = None,
) -> None:
    """Let a run conclude now, with the evidence at hand."""
    from casebound.commands import steering

    _leave(lambda: steering.stop(steering.Steered(run, _named(owner), config), reason))


@app.command()
def pause(
    run: Run,
    reason: Annotated[str, typer.Option(help="Shown with the run.")] = "",
    owner: Owner = "",
    config: Config = None,
) -> None:
    """Let a run's calls end and start no new ones; the deadline runs on."""
    from casebound.commands import steering

    _leave(lambda: steering.pause(steering.Steered(run, _named(owner), config), reason))


@app.command()
def resume(run: Run, owner: Owner = "", config: Config = None) -> None:
    """Let a paused run go on."""
    from casebound.commands import steering

    _leave(lambda: steering.resume(steering.Steered(run, _named(owner), config)))


@app.command()
def extend(
    run: Run,
    by: Annotated[timedelta, typer.Argument(parser=_duration, metavar="DURATION", help="How much longer: 30m, 2h.")],
    owner: Owner = "",
    config: Config = None,
) -> None:
    """Move a run's deadline, as far as its evidence outlives it."""
    from casebound.commands import steering

    _leave(lambda: steering.extend(steering.Steered(run, _named(owner), config), by))


@app.command()
def note(
    run: Run,
    text: Annotated[str, typer.Argument(help="A hint, at most 2000 characters.")],
    owner: Owner = "",
    config: Config = None,
) -> None:
    """Give a run's planner a hint with its next turn; a runbook reads it as `notes`."""
    from casebound.commands import steering

    _leave(lambda: steering.note(steering.Steered(run, _named(owner), config), text))


@app.command()
def sweep(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Run ids or workflow ids; default: every run there is.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be settled, change nothing.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Settle the calls that terminated or lost runs left open; a live run is never touched."""
    from casebound.commands.sweep import SweepOptions
    from casebound.commands.sweep import sweep as command

    options = SweepOptions(runs=tuple(runs or ()), dry_run=dry_run, json=as_json, config=config)
    _leave(lambda: command(options))


@app.command()
def replay(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE|DIR]...", help="Histories as JSON; of a directory, every *.json in it."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Runs of the Temporal server, as in: ExecutionStatus = 'Running'."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Histories fetched at most.")] = 1000,
    timeout: Annotated[
        timedelta, typer.Option(parser=_duration, metavar="DURATION", help="For one history; then it is given up.")
    ] = "30s",  # pyright: ignore[reportArgumentType] # typer parses a default like any other text
    strict: Annotated[bool, typer.Option("--strict", help="Let differences count as failures.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replay recorded histories with the workflow code at hand; without FILE or query, every run there is.

    Exit code: 0 all replay, 1 at least one does not, 2 nothing could be replayed.
    """
    from casebound.commands.replay import ReplayOptions
    from casebound.commands.replay import replay as command

    options = ReplayOptions(
        files=tuple(files or ()), query=query, limit=limit, timeout=timeout, strict=strict, json=as_json
    )
    _leave(lambda: command(options))


def _named(owner: str) -> str:
    return owner or os.environ.get("USER", "")


def _leave(command: Callable[[], Coroutine[Any, Any, int]]) -> None:
    raise typer.Exit(run_command(command))


def main() -> None:
    """Run the command line."""
    sys.exit(app())

"""Turns the text of a runbook into a `Runbook`, or into all that is wrong with it, each with its line.

Above: `planner` (and the command line, before a run starts). Below: `document` (YAML), `written`
(fields), `expressions`, `scope_check`, `schema_check`. Structure is checked first; what the parts mean is
checked once the structure holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from activities.contracts import RUNBOOK_MAX_BYTES, CatalogEntry
from activities.planners.runbook.document import Document, DocumentError, Path, Problem, read_document
from activities.planners.runbook.expressions import (
    Expression,
    ExpressionError,
    Template,
    Use,
    parse_expression,
    parse_template,
)
from activities.planners.runbook.model import (
    MAX_ITEMS,
    Cite,
    ClaimRule,
    Repeat,
    Runbook,
    Step,
    Tree,
    WrittenCite,
    WrittenClaim,
    WrittenRunbook,
    WrittenStep,
    name_of,
    step_of,
)
from activities.planners.runbook.schema_check import argument_faults
from activities.planners.runbook.scope_check import RESERVED, WORDS, Reach
from activities.planners.runbook.suggest import suggest
from activities.planners.runbook.written import read_written
from boundary.contracts import JsonObject, JsonValue
from boundary.errors import CaseboundError
from boundary.ids import is_tool_call_id, is_tool_name

_SUFFIX = re.compile(r"(.+)\.([0-9]+)")
_ID_MAX = 250
"""Characters of a step's id, so that `.64` still fits a tool call id."""


class RunbookError(CaseboundError):
    """The runbook cannot run.

    Attributes:
        errors: everything that is wrong, each `file:line: message`, by line.
    """

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        unique = sorted({(problem.line, problem.message) for problem in problems})
        self.errors = tuple(f"{source}:{line}: {message}" for line, message in unique)
        super().__init__("\n".join(self.errors))


def load_runbook(text: str, source: str = "runbook", catalog: Sequence[CatalogEntry] | None = None) -> Runbook:
    """Read and check a runbook; with a catalog, its tools and their arguments too.

    Raises:
        RunbookError: it cannot run.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > RUNBOOK_MAX_BYTES:
        raise RunbookError(source, [Problem(1, f"the runbook has {size} bytes; at most {RUNBOOK_MAX_BYTES}")])
    try:
        document = read_document(text)
    except DocumentError as error:
        raise RunbookError(source, [error.problem]) from None
    written, problems = read_written(document)
    if written is None:
        raise RunbookError(source, problems)
    compiler = _Compiler(document, written, catalog)
    runbook = compiler.compile()
    if compiler.problems:
        raise RunbookError(source, compiler.problems)
    return runbook


class _Compiler:
    """Compiles the parts of one runbook and collects what is wrong with them."""

    def __init__(self, document: Document, written: WrittenRunbook, catalog: Sequence[CatalogEntry] | None) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._written = written
        self._repeated = {step.id: step.for_each is not None for step in written.steps}
        self._ids: dict[str, str] = {}
        self._catalog = None if catalog is None else {entry.name: entry for entry in catalog}
        self._tools: Mapping[str, CatalogEntry | None] = {
            step.id: (self._catalog or {}).get(step.tool) for step in written.steps
        }

    def compile(self) -> Runbook:
        written = self._written
        self._check_ids()
        return Runbook(
            name=written.name,
            question=written.question,
            vars=written.vars,
            steps=tuple(self._step(index, step) for index, step in enumerate(written.steps)),
            claims=tuple(self._claim(index, claim) for index, claim in enumerate(written.report.claims)),
        )

    def fault(self, path: Path, message: str, lineno: int = 1) -> None:
        self.problems.append(Problem(self._document.place(path).line_of(lineno), message))

    def resolved(self, use: Use) -> Use:
        """Give the use of a step its id; in an expression it has a name."""
        return replace(use, name=self._ids.get(use.name, use.name))

    def _check_ids(self) -> None:
        first: dict[str, int] = {}
        for index, step in enumerate(self._written.steps):
            path: Path = ("steps", index, "id")
            if not is_tool_call_id(step.id) or len(step.id) > _ID_MAX:
                self.fault(path, f"id {step.id!r}: 1..{_ID_MAX} printable ASCII characters without space")
            name = name_of(step.id)
            if name in RESERVED | WORDS:
                self.fault(path, f"id {step.id!r} means something else in expressions; choose another")
            if name in first:
                twice = (
                    "stands twice" if self._ids[name] == step.id else f"is read as {name!r}, as is {self._ids[name]!r}"
                )
                self.fault(path, f"id {step.id!r} {twice}, first on line {first[name]}; choose another")
            self._ids.setdefault(name, step.id)
            first.setdefault(name, self._document.place(path).line)
            suffix = _SUFFIX.fullmatch(step.id)
            if suffix and self._repeated.get(suffix[1]):
                self.fault(path, f"id {step.id!r} clashes with a call of step {suffix[1]!r}, which has for_each")

    def _reach(self, before: int, repeated: bool) -> Reach:
        ids = [step.id for step in self._written.steps]
        earlier = {name: self._repeated[name] for name in ids[:before]}
        return Reach(earlier, frozenset(ids[before:]), self._written.vars, repeated, self._tools)

    def _step(self, index: int, step: WrittenStep) -> Step:
        path: Path = ("steps", index)
        parts = _Parts(self, path, self._reach(index, False), self._reach(index, step.for_each is not None))
        self._check_tool(path, step)
        return Step(
            id=step.id,
            tool=step.tool,
            arguments=cast("dict[str, Tree]", parts.tree((*path, "arguments"), step.arguments)),
            when=parts.condition(step.when),
            for_each=parts.repeat(step.for_each),
            uses=tuple(parts.uses),
        )

    def _check_tool(self, path: Path, step: WrittenStep) -> None:
        if not is_tool_name(step.tool):
            self.fault((*path, "tool"), f"{step.tool!r} is no tool name; a name is written out, without expressions")
        elif self._catalog is not None and step.tool not in self._catalog:
            self.fault((*path, "tool"), f"there is no tool {step.tool!r}{suggest(step.tool, self._catalog)}")
        elif self._catalog is not None:
            for name, message in argument_faults(self._catalog[step.tool].arguments_schema, step.arguments):
                inner = () if name is None else (name,)
                self.fault((*path, "arguments", *inner), f"{step.tool}: {message}")

    def _claim(self, index: int, claim: WrittenClaim) -> ClaimRule:
        path: Path = ("report", "claims", index)
        count = len(self._written.steps)
        parts = _Parts(self, path, self._reach(count, False), self._reach(count, claim.for_each is not None))
        return ClaimRule(
            text=parts.template((*path, "text"), claim.text),
            kind=claim.kind,
            cites=tuple(self._cite((*path, "cites", number), cite, parts) for number, cite in enumerate(claim.cites)),
            when=parts.condition(claim.when),
            for_each=parts.repeat(claim.for_each),
            uses=tuple(parts.uses),
        )

    def _cite(self, path: Path, cite: WrittenCite, claim: _Parts) -> Cite:
        parts = claim if cite.for_each is None else claim.inside(path)
        call = parts.template((*path, "call"), cite.call)
        if call.parts == (cite.call,):
            self._check_cited(path, cite.call)
            parts.uses.append(Use(step_of(cite.call, self._repeated), ("status",), 1))
        if cite.pointer and not cite.pointer.startswith(("/", "{{")):
            self.fault((*path, "pointer"), f"pointer {cite.pointer!r} must begin with /, as in /groups/0/count")
        pointer = None if cite.pointer is None else parts.template((*path, "pointer"), cite.pointer)
        quote = None if cite.quote is None else parts.template((*path, "quote"), scalar_text(cite.quote))
        repeat = parts.repeat(cite.for_each)
        claim.uses += parts.uses if parts is not claim else []
        return Cite(call, pointer, quote, repeat)

    def _check_cited(self, path: Path, call: str) -> None:
        name = step_of(call, self._repeated)
        if name not in self._repeated:
            self.fault((*path, "call"), f"there is no step {call!r} to cite{suggest(call, self._repeated)}")
        elif self._repeated[name] and name == call:
            self.fault(
                (*path, "call"),
                f'step {call!r} has for_each: cite one of its calls, as in "{call}.1" or "{{{{ item.call }}}}"',
            )


class _Parts:
    """Compiles the expressions of one step or claim."""

    def __init__(self, compiler: _Compiler, path: Path, outside: Reach, inside: Reach) -> None:
        self.uses: list[Use] = []
        self._compiler = compiler
        self._path = path
        self._outside = outside
        self._reach = inside

    def inside(self, path: Path) -> _Parts:
        """Begin a part of this one that has a `for_each` of its own."""
        return _Parts(self._compiler, path, self._reach, replace(self._reach, repeated=True))

    def condition(self, source: str | bool | None) -> Expression | bool | None:
        return self._expression("when", source, self._reach) if isinstance(source, str) else source

    def repeat(self, source: str | list[JsonValue] | None) -> Repeat | None:
        if source is None:
            return None
        if isinstance(source, str):
            return Repeat(self._expression("for_each", source, self._outside))
        if len(source) > MAX_ITEMS:
            self._compiler.fault((*self._path, "for_each"), f"for_each has {len(source)} items; at most {MAX_ITEMS}")
        return Repeat(cast("list[Tree]", self.tree((*self._path, "for_each"), source, self._outside)))

    def _expression(self, name: str, source: str, reach: Reach) -> Expression:
        try:
            expression = parse_expression(source)
        except ExpressionError as error:
            self._unusable((*self._path, name), error)
            return parse_expression("none")
        self._noted((*self._path, name), expression.uses, reach)
        return expression

    def template(self, path: Path, source: str, reach: Reach | None = None) -> Template:
        try:
            template = parse_template(source)
        except ExpressionError as error:
            self._unusable(path, error)
            return Template(("",))
        self._noted(path, template.uses, reach or self._reach)
        return template

    def tree(self, path: Path, value: JsonValue, reach: Reach | None = None) -> Tree:
        if isinstance(value, str):
            return self.template(path, value, reach)
        if isinstance(value, dict):
            fields = cast("JsonObject", value)
            return {key: self.tree((*path, key), item, reach) for key, item in fields.items()}
        if isinstance(value, list):
            items = cast("list[JsonValue]", value)
            return [self.tree((*path, index), item, reach) for index, item in enumerate(items)]
        return value

    def _unusable(self, path: Path, error: ExpressionError) -> None:
        for lineno, message in error.faults:
            self._compiler.fault(path, message, lineno)

    def _noted(self, path: Path, uses: Sequence[Use], reach: Reach) -> None:
        for use in map(self._compiler.resolved, uses):
            self.uses.append(use)
            for message in reach.faults(use):
                self._compiler.fault(path, message, use.line)


def scalar_text(value: str | int | float | bool) -> str:
    """Write a scalar as it stands in JSON; a text as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)

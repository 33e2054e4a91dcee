"""Reading times only where they are asked for gives the times that reading every line gives."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from activities.logs.lines import LineReader
from activities.logs.reading import Block
from activities.logs.source import LogSource
from activities.logs.timeline import Timeline

SYSLOG = LogSource(name="s", path=Path("/s"), timestamp="%b %d %H:%M:%S", zone="UTC", year=2020)
FULL = LogSource(name="f", path=Path("/f"), timestamp="%Y-%m-%d %H:%M:%S", zone="UTC")
INSIDE = LogSource(name="i", path=Path("/i"), timestamp="epoch", timestamp_regex=r"^\S+ t=(\S+)")

LINES = {
    "s": ["Jan  1 00:00:01 a", "Dec 31 23:59:59 b", "Jun  5 12:00:00 c", "\tat Dec", "Jan"],
    "f": ["2020-01-01 00:00:00 a", "2019-05-05 05:05:05 b", "  continued", ""],
    "i": ["x t=1000 a", "y t=20.5 b", "t=3", "z t=later"],
}
SCENES = st.sampled_from([SYSLOG, FULL, INSIDE]).flatmap(
    lambda source: st.tuples(
        st.just(source),
        st.lists(st.lists(st.sampled_from(LINES[source.name]), min_size=1, max_size=5), min_size=1, max_size=5),
        st.sets(st.integers(min_value=0, max_value=24)),
    )
)


def times(source: LogSource, blocks: list[list[str]], asked: set[int], *, every_line: bool) -> list[int | None]:
    """Times of the asked lines, counted over all blocks."""
    timeline = Timeline(LineReader(source), every_line=every_line)
    timeline.start_file(continues=False)
    found: list[int | None] = []
    number = 0
    for lines in blocks:
        data = "\n".join(lines).encode()
        timeline.enter(Block(data, number + 1, len(lines), frozenset()))
        start = 0
        for line in lines:
            if number in asked:
                stamp = timeline.at(start)
                found.append(None if stamp is None else stamp.us)
            start += len(line.encode()) + 1
            number += 1
        timeline.leave()
    return found


@given(SCENES)
def test_a_line_has_the_same_time_whichever_other_lines_were_asked_for(
    scene: tuple[LogSource, list[list[str]], set[int]],
) -> None:
    """In any split into blocks, with continuation lines and with years that change."""
    source, blocks, asked = scene
    one_block = [[line for lines in blocks for line in lines]]
    expected = times(source, one_block, asked, every_line=True)
    assert times(source, blocks, asked, every_line=True) == expected
    assert times(source, blocks, asked, every_line=False) == expected

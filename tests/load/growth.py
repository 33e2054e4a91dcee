"""Tells growth from noise in what a worker holds, sampled round after round.

Growth is a last third that stands above the first third, medians compared, by more than the allowance. Before the
thirds are cut the warm-up is left out: caches fill, pools open what they need, allocators take what they will keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

WARM_UP = 0.15
"""Share of the rounds."""

MIB = 2**20


@dataclass(frozen=True)
class Trend:
    """One thing that was sampled, and what became of it."""

    name: str
    first: float
    """Median of the first third."""
    last: float
    lowest: float
    highest: float
    allowance: float
    why: str
    """Where the allowance comes from."""

    @property
    def grew(self) -> bool:
        """Tell whether the last third stands above the first by more than the allowance."""
        return self.last - self.first > self.allowance

    def line(self) -> str:
        """Show it as a line of a table."""
        verdict = "GREW" if self.grew else "no growth"
        numbers = (f"{value:12.1f}" for value in (self.first, self.last, self.lowest, self.highest, self.allowance))
        return f"{self.name:24}{''.join(numbers)}  {verdict}; {self.why}"


HEADER = f"{'':24}{'first third':>12}{'last third':>12}{'lowest':>12}{'highest':>12}{'allowed':>12}"


def spread(values: Sequence[float]) -> float:
    """Twice the distance from the lower to the upper quarter: what the same load differs by from round to round."""
    ordered = sorted(values)
    return 2 * (ordered[len(ordered) * 3 // 4] - ordered[len(ordered) // 4])


def trends(
    rounds: Sequence[Mapping[str, float]], allowances: Mapping[str, tuple[Callable[[Sequence[float]], float], str]]
) -> list[Trend]:
    """Compare the thirds of each thing that was sampled."""
    warm = rounds[round(len(rounds) * WARM_UP) :]
    third = max(len(warm) // 3, 1)
    found: list[Trend] = []
    for name, (allowance, why) in allowances.items():
        values = [sampled[name] for sampled in warm]
        first = values[:third]
        found.append(
            Trend(name, median(first), median(values[-third:]), min(values), max(values), allowance(first), why)
        )
    return found

"""What the hour of endurance calls growth: a last third above the first by more than the allowance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.load.growth import spread, trends

NOISE = [3, 0, 2, 1, 4, 0, 3, 2, 1, 4]


def _grew(values: Sequence[float], allowed: Callable[[Sequence[float]], float] = spread) -> bool:
    [trend] = trends([{"held": value} for value in values], {"held": (allowed, "as the test says")})
    return trend.grew


@pytest.mark.parametrize("step", [1, 0.1])
def test_what_grows_a_little_each_round_has_grown(step: float) -> None:
    """A tenth of the noise in each round stands out after a hundred of them."""
    assert _grew([NOISE[n % 10] + n * step for n in range(100)])


def test_noise_is_no_growth() -> None:
    """Neither is what comes down in the end."""
    assert not _grew([NOISE[n % 10] for n in range(100)])
    assert not _grew([NOISE[n % 10] + 100 - n for n in range(100)])


def test_what_fills_in_the_warm_up_is_no_growth() -> None:
    """The first 15 % of the rounds and a little more may fill caches and open pools."""
    assert not _grew([min(n, 17) * 100 + NOISE[n % 10] for n in range(100)], lambda _: 5)

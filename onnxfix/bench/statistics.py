"""The figures of a benchmark: percentiles as trtexec counts them, and bootstrap intervals over rounds.

Times are in milliseconds. A *round* is the samples that one variant gave without a break; rounds of two variants are paired by
their number, since they ran one right after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

PERCENTILES = (90, 95, 99)
LEVEL = 0.95
# How often the samples are drawn anew: the ends of a 95 % interval then move by less than a tenth of its length.
RESAMPLES = 2000


def percentile(values: Sequence[float], percent: float) -> float:
    """As trtexec: of the sorted values, the one below which `percent` of them lie, never one between two.

    NVIDIA/TensorRT samples/common/sampleReporting.cpp, findPercentile: index `max(n - 1 - int((1 - p / 100) * n), 0)`.

    Raises:
        ValueError: no values, or a percentage outside 0 to 100.
    """
    if not values or not 0 <= percent <= 100:
        raise ValueError("needs values and a percentage from 0 to 100")
    # In single precision, as there: otherwise 90 % of 10 excludes another value than trtexec does.
    excluded = int((np.float32(1) - np.float32(percent) / np.float32(100)) * np.float32(len(values)))
    return sorted(values)[max(len(values) - 1 - excluded, 0)]


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("needs values")
    return float(np.median(np.asarray(values, np.float64)))


def variation(values: Sequence[float]) -> float:
    """Coefficient of variation in percent: standard deviation (of the population, as trtexec) through the mean."""
    array = np.asarray(values, np.float64)
    mean = float(array.mean())
    return float(array.std()) / mean * 100 if mean else math.inf


@dataclass(frozen=True, slots=True)
class Summary:
    """One kind of time of one variant, in milliseconds; `median` is the median of the rounds' medians.

    Attributes:
        count: samples.
        interval: of `median`, bootstrap, LEVEL.
        percentiles: of all samples together, by percentage.
        variation: coefficient of variation of all samples, in percent.
    """

    count: int
    min: float
    max: float
    mean: float
    median: float
    interval: tuple[float, float]
    percentiles: dict[int, float]
    variation: float


def summarize(rounds: Sequence[Sequence[float]], seed: int = 0) -> Summary:
    """The figures of one kind of time, given its samples by round.

    Raises:
        ValueError: a round has no samples, or there is none.
    """
    every = [value for values in rounds for value in values]
    rng = np.random.default_rng(seed)
    drawn = np.median(_drawn(rounds, _choose(len(rounds), rng), rng), axis=1)
    return Summary(
        len(every),
        min(every),
        max(every),
        float(np.mean(every)),
        median([median(values) for values in rounds]),
        _interval(drawn),
        {percent: percentile(every, percent) for percent in PERCENTILES},
        variation(every),
    )


_Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


def _redrawn(values: Sequence[float], shape: tuple[int, int], rng: np.random.Generator) -> _Floats:
    """Medians of samples drawn anew from `values` with replacement, as many as drawn from.

    None of the samples is made: the k-th smallest of n draws is the value at the k-th smallest of n uniform numbers, which is
    distributed as Beta(k, n - k + 1), and the next one is the smallest of the n - k that are left above it.
    """
    ordered: _Floats = np.sort(np.asarray(values, np.float64))
    count = len(ordered)
    rank = (count + 1) // 2
    place = rng.beta(rank, count - rank + 1, shape)
    low = ordered[np.minimum((place * count).astype(int), count - 1)]
    if count % 2:
        return np.asarray(low)
    above = 1 - (1 - place) * rng.random(shape) ** (1 / (count - rank))
    return np.asarray((low + ordered[np.minimum((above * count).astype(int), count - 1)]) / 2)


def _drawn(rounds: Sequence[Sequence[float]], chosen: np.ndarray[Any, np.dtype[np.int64]], rng: np.random.Generator) -> _Floats:
    """For each chosen round the median of its samples drawn anew."""
    pools = np.stack([_redrawn(values, chosen.shape, rng) for values in rounds])
    rows, columns = np.indices(chosen.shape)
    return np.asarray(pools[chosen, rows, columns])


def _choose(count: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    """RESAMPLES times as many rounds as there are, with replacement."""
    return rng.integers(0, count, (RESAMPLES, count))


def _interval(drawn: _Floats) -> tuple[float, float]:
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much slower one variant is than another.

    Attributes:
        change: of the time, as a fraction: -0.2 is 20 % less.
        interval: of `change`, bootstrap, LEVEL.
    """

    change: float
    interval: tuple[float, float]

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 0."""
        return not self.interval[0] <= 0 <= self.interval[1]


def compare(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], seed: int = 0) -> Comparison:
    """`after` against `before`: the median over rounds of the ratio of their medians, less 1.

    Raises:
        ValueError: they have not the same number of rounds.
    """
    ratios = [median(new) / median(old) for old, new in zip(before, after, strict=True)]
    rng = np.random.default_rng(seed)
    chosen = _choose(len(ratios), rng)
    drawn = np.median(_drawn(after, chosen, rng) / _drawn(before, chosen, rng), axis=1)
    low, high = _interval(drawn)
    return Comparison(median(ratios) - 1, (low - 1, high - 1))

"""Figures against samples that were counted by hand."""

import math
import random

import numpy as np
import pytest

from onnxfix.bench.statistics import _redrawn, compare, median, percentile, summarize, variation

TEN = [7.0, 1.0, 10.0, 3.0, 5.0, 2.0, 9.0, 4.0, 8.0, 6.0]


@pytest.mark.parametrize(
    ("values", "percent", "wanted"),
    [
        (TEN, 90, 9.0),  # one of ten is left out
        (TEN, 95, 10.0),  # half of one is none
        (TEN, 99, 10.0),
        (TEN, 50, 5.0),
        (TEN, 0, 1.0),
        (TEN, 100, 10.0),
        ([4.0], 99, 4.0),
        ([float(value) for value in range(1, 101)], 99, 100.0),  # in single precision 1 % of 100 is just below one
        ([float(value) for value in range(1, 1001)], 99, 991.0),
        ([float(value) for value in range(1, 101)], 90, 90.0),
    ],
)
def test_percentiles_are_trtexecs(values, percent, wanted):
    assert percentile(values, percent) == wanted


@pytest.mark.parametrize(("values", "percent"), [([], 90), (TEN, -1), (TEN, 101)])
def test_no_percentile_of_nothing(values, percent):
    with pytest.raises(ValueError, match="needs values"):
        percentile(values, percent)


def test_median_and_variation_by_hand():
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5
    assert variation([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) == pytest.approx(40.0)  # deviation 2, mean 5
    assert variation([1.0, 1.0]) == 0.0
    assert variation([0.0]) == math.inf
    with pytest.raises(ValueError, match="needs values"):
        median([])


def test_a_summary_is_of_all_samples_and_its_median_that_of_the_rounds():
    summary = summarize([[1.0, 2.0, 3.0], [10.0, 11.0, 12.0], [4.0, 5.0, 6.0]])
    assert (summary.count, summary.min, summary.max) == (9, 1.0, 12.0)
    assert summary.mean == pytest.approx(6.0)
    assert summary.median == 5.0  # of 2, 11 and 5
    assert summary.percentiles == {90: 12.0, 95: 12.0, 99: 12.0}
    assert summary.interval[0] <= summary.median <= summary.interval[1]


def test_samples_that_are_all_alike_leave_no_doubt():
    assert summarize([[2.0] * 5] * 4).interval == (2.0, 2.0)
    comparison = compare([[2.0] * 5] * 4, [[3.0] * 5] * 4)
    assert (comparison.change, comparison.interval, comparison.differs) == (0.5, (0.5, 0.5), True)
    same = compare([[2.0] * 5] * 4, [[2.0] * 5] * 4)
    assert (same.change, same.differs) == (0.0, False)


def test_rounds_are_paired_so_that_a_drift_of_both_is_no_difference():
    before = [[1.0] * 9, [2.0] * 9, [4.0] * 9, [8.0] * 9]
    after = [[value * 1.1 for value in values] for values in before]
    comparison = compare(before, after)
    assert comparison.change == pytest.approx(0.1)
    assert comparison.interval == pytest.approx((0.1, 0.1))
    with pytest.raises(ValueError, match="zip"):
        compare(before, after[1:])


def test_the_same_seed_gives_the_same_interval():
    rounds = [[1.0, 2.0, 5.0, 9.0], [3.0, 4.0, 6.0, 2.0], [2.0, 2.5, 7.0, 3.0]]
    assert summarize(rounds, seed=1) == summarize(rounds, seed=1)


def test_an_interval_holds_the_truth_about_as_often_as_it_says():
    """Forty pairs of runs that do not differ: about two in forty intervals may leave 0 out; ten would be far too many."""
    rng = random.Random(7)
    wrong = 0
    for _ in range(40):
        before, after = ([[rng.gauss(10, 1) for _ in range(30)] for _ in range(6)] for _ in range(2))
        wrong += compare(before, after).differs
    assert wrong < 10


def test_a_real_difference_is_found():
    rng = random.Random(7)
    before = [[rng.gauss(10, 1) for _ in range(50)] for _ in range(6)]
    after = [[rng.gauss(8, 1) for _ in range(50)] for _ in range(6)]
    comparison = compare(before, after)
    assert comparison.differs
    assert comparison.interval[0] < -0.2 < comparison.interval[1]


@pytest.mark.parametrize("count", [1, 2, 7, 8])
def test_medians_drawn_without_samples_are_spread_as_those_of_samples(count):
    rng = np.random.default_rng(3)
    values = np.sort(rng.random(count))
    quick = _redrawn(list(values), (20000, 1), rng)[:, 0]
    slow = np.median(values[rng.integers(0, count, (20000, count))], axis=1)
    for part in (0.05, 0.25, 0.5, 0.75, 0.95):
        bound = np.quantile(slow, part) + 1e-12
        assert np.mean(quick <= bound) == pytest.approx(np.mean(slow <= bound), abs=0.02)

"""A sample of the bundled node tests of eight releases of ONNX: most move to an older opset, and compute the same there."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

table = pytest.importorskip("benchmarks.lowering_table", reason="benchmarks/ does not come with the source archive")
ARCHIVE = Path(__file__).parents[2] / "fixtures" / "agreement" / "models" / "node.tar.xz"
# One model in so many is tried; `python -m benchmarks.lowering_table fixtures/agreement/models/node.tar.xz` tries all.
EVERY = 41


@pytest.mark.parametrize(("low", "percent"), [(13, 85), (11, 85), (9, 75)])
def test_most_node_tests_move_and_none_computes_otherwise(low: int, percent: int, measured: Callable[[str], None]) -> None:
    cases = [case for number, case in enumerate(table.cases_of_archive(str(ARCHIVE))) if number % EVERY == low % EVERY]
    outcomes = [outcome for outcome in table.measure(cases, [low]) if low in outcome.results]
    count = Counter(outcome.results[low][0] for outcome in outcomes)
    wrong = [(outcome.name, outcome.results[low]) for outcome in outcomes if outcome.results[low][0] not in ("equal", "declined")]
    assert not wrong
    assert count["equal"] * 100 >= percent * len(outcomes)
    measured(f"bundled node tests moved to opset {low}: {count['equal']} of {len(outcomes)} equal")

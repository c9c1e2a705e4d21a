"""The promise of every rewrite, on drawn models: valid, the same interface, the same numbers, and nothing left to do a second time.

Each is tried in the model as it is, with outputs that others read too, with outputs that are none of the graph's, in a branch of
an If, in the body of a Loop, and by `repair` with all of it in a function of the model. `pytest --examples 200` tries more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies
from hypothesis import Phase as Step

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rewrites._edit import copy_model
from onnxfix.rewrites._gates import checker_error, checker_level, interface
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.catalogue import REWRITES, Applicability, Phase
from onnxfix.rewrites.list_initializers import list_initializers
from onnxfix.rewrites.opset_move import LOWERINGS
from onnxfix.rewrites.raising import RAISINGS

from .cases import Case, collect
from .harness import Arrays, applied, error, lower, repair, run, run_pass
from .properties import CONDITION, ROUNDS, hidden, in_branch, in_function, in_loop, read_twice, tried

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx
    from hypothesis.strategies import SearchStrategy

CASES, LOWERED, RAISED = collect()
VARIANTS: dict[str, tuple[Callable[[onnx.ModelProto], onnx.ModelProto], Arrays]] = {
    "as it is": (lambda model: model, {}),
    "read twice": (read_twice, {}),
    "hidden": (hidden, {}),
    "branch": (in_branch, CONDITION),
    "loop": (in_loop, ROUNDS),
}


def test_every_rewrite_and_every_way_to_another_opset_has_its_cases() -> None:
    assert CASES.keys() == REWRITES.keys()
    assert LOWERED.keys() == LOWERINGS.keys()
    assert RAISED.keys() == RAISINGS.keys()


def _check(request: pytest.FixtureRequest, cases: SearchStrategy[Any], usual: int, check: Callable[[Any], None]) -> None:
    """Run the check on drawn cases: the same few every time, or as many new ones as the option says."""
    count = request.config.getoption("--examples")
    few = settings(
        max_examples=count or usual,
        derandomize=not count,
        deadline=None,
        phases=[Step.generate],  # cases are small already
        suppress_health_check=list(HealthCheck),
    )
    few(given(cases)(check))()


def _rewritten(model: onnx.ModelProto, name: str, case: Case) -> onnx.ModelProto | Decline:
    info = REWRITES[name]
    if info.phase is Phase.OPSET:
        moved = lower(model, 9, target=case.target)
        return Decline(moved) if isinstance(moved, str) else moved
    if info.phase is Phase.INTERFACE:
        result = copy_model(model)
        return list_initializers(result, Facts(ModelView(model))) or result
    if info.over_model:
        inner = [value for each in ModelView(model).scopes for value in each.producers if value.endswith(tuple(case.values))]
        return run_pass(model, name, *(inner or case.values), target=case.target)
    return tried(model, name, case.target, case.node)


def _outputs(case: Case, variant: str, feeds: Arrays) -> Arrays:
    """What the result has to give."""
    change, more = VARIANTS[variant]
    if case.reference is None:
        return run(change(case.meant or case.model), feeds | more)
    if variant == "loop":
        return {name: np.stack([array] * 2) for name, array in case.reference.items()}
    return dict(case.reference)


def _compare(expected: Arrays, got: Arrays, bound: float, what: str) -> None:
    for name, array in expected.items():
        assert (got[name].dtype, got[name].shape) == (array.dtype, array.shape), what
        if not bound or array.dtype.kind != "f":
            np.testing.assert_array_equal(got[name], array, err_msg=what)
        elif array.dtype.kind == "f":
            np.testing.assert_array_equal(np.isnan(got[name]), np.isnan(array), err_msg=what)
            some = np.isfinite(array)
            worst = error({name: array[some]}, {name: got[name][some]})
            assert worst <= bound, f"{what}: {worst:.2g} of the largest value"


@pytest.mark.parametrize("name", sorted(REWRITES))
def test_a_rewrite_keeps_what_it_promises(name: str, request: pytest.FixtureRequest) -> None:
    info = REWRITES[name]

    def check(case: Case) -> None:
        if info.applicability is Applicability.EXACT:
            assert not case.bound, "it promises the same bits"
        for variant in ("as it is", *case.places):
            change, more = VARIANTS[variant]
            model = change(case.model)
            result = _rewritten(model, name, case)
            if isinstance(result, Decline):
                assume(variant != "as it is")
                raise AssertionError(f"{variant}: declined, {result.reason}")
            if case.meant is None:
                assert checker_error(result, checker_level(model)) is None, variant
            retyped = case.after is not None
            same = interface(result, types=not retyped), interface(model, types=not retyped)
            if not info.rebatches:
                assert same[0][: 1 if info.new_outputs else 2] == same[1][: 1 if info.new_outputs else 2], variant
            if not case.numbers:
                continue
            feeds = case.after(case.feeds) if case.after is not None else case.feeds
            _compare(_outputs(case, variant, case.feeds), run(result, feeds | more), case.bound, variant)
            if variant == "as it is" and not info.whole_model:
                _nothing_left(model, result, name, case)

    _check(request, CASES[name], 3, check)


def _nothing_left(before: onnx.ModelProto, after: onnx.ModelProto, name: str, case: Case) -> None:
    """No node that the rewrite made is one that it would rewrite again."""
    wanted, old = REWRITES[name].ops, {node.proto.SerializeToString() for node in ModelView(before).nodes()}
    for node in ModelView(after).nodes():
        if node.proto.SerializeToString() in old:
            continue
        if node.op_type in wanted or (not wanted and node.proto.name == case.node):
            again = tried(after, name, case.target, path=node.path)
            assert isinstance(again, Decline), f"{node.op_type} {node.name} would be rewritten again"


@pytest.mark.parametrize("name", sorted(REWRITES))
def test_repair_leaves_nothing_to_repair(name: str, request: pytest.FixtureRequest) -> None:
    """Also in a function: what repair writes gives the same numbers, and a second repair changes nothing."""

    def check(case: Case) -> None:
        runs = case.meant is None and case.reference is None and case.numbers
        # a constant of integers came with opset 9
        for change in (
            (lambda model: model, in_function) if runs and case.model.opset_import[0].version >= 9 else (lambda model: model,)
        ):
            model = change(case.model)
            options = {"samples": 2, "consent": frozenset(case.consent), **case.options}
            report, result = repair(model, case.target, **options)
            assert report.status in ("repaired", "clean", "declined", *([] if runs else ["unproven"])), (
                report.detail or report.reason
            )
            if result is None:
                continue
            again, unchanged = repair(result, case.target, **options)
            assert applied(again) == [], "a second repair finds something to do"
            assert unchanged == result
            if runs and case.after is None:
                exact = all(fix.applicability == "exact" for fix in report.applied)
                _compare(run(model, case.feeds), run(result, case.feeds), 0 if exact else 1e-4, "repaired")

    _check(request, CASES[name], 2, check)


@pytest.mark.parametrize("op", sorted(LOWERINGS))
def test_a_node_means_the_same_in_an_older_opset(op: str, request: pytest.FixtureRequest) -> None:
    moves = strategies.tuples(LOWERED[op], strategies.sampled_from([13, 11, 10, 9, 8]))
    _check(request, moves, 3, lambda move: _follows(*move))


@pytest.mark.parametrize("op", sorted(RAISINGS))
def test_a_node_means_the_same_in_opset_7(op: str, request: pytest.FixtureRequest) -> None:
    _check(request, RAISED[op], 2, lambda case: _follows(case, 7))


def _follows(case: Case, other: int) -> None:
    """The model, with its node wherever it may be, in another opset; what cannot follow is no case."""
    own = case.model.opset_import[0].version
    assume(own > other or own < 7)
    for variant in ("as it is", *case.places) if own > 7 else ("as it is", "hidden"):
        change, more = VARIANTS[variant]
        model = change(case.model)
        result = lower(model, other)
        if isinstance(result, str):
            assume(variant != "as it is")
            raise AssertionError(f"{variant}: {result}")
        assert lower(result, other) == result, "moved once more it changes"
        assert checker_error(result, checker_level(model)) is None, variant
        assert interface(result) == interface(model), variant
        _compare(_outputs(case, variant, case.feeds), run(result, case.feeds | more), case.bound, variant)

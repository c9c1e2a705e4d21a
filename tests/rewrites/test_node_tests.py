"""ONNX's own node tests, moved to older opsets and repaired: what comes out computes what went in, and nothing crashes."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest

from onnxfix.errors import OnnxfixError

from .harness import Arrays, check, lower, repair, run

# Sizes and types that onnx's inference derives from the declared ones: with ceil_mode older versions count a window that
# begins in the padding, OneHot's default depth differs, and sequences in Identity, If and Loop are younger than opset 13.
CHECKER_DIFFERS = ("_ceil_", "onehot_with_negative", "sequence", "_seq", "identity_opt", "optional")

# onnxruntime's kernel writes the lowest float where the body of the operator has -inf, which is what the test data have too.
KERNEL_DIFFERS = ("qk_matmul_bias_3d_mask_causal", "qk_matmul_bias_4d_mask_causal")


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the generators divide by zero and overflow on purpose
        from onnx.backend.test.case.node import collect_testcases

        return [case for case in collect_testcases(None) if case.model is not None]


def feeds(case: Any) -> Arrays:
    return {value.name: np.asarray(array) for value, array in zip(case.model.graph.input, case.data_sets[0][0], strict=False)}


def reference(case: Any) -> Arrays | None:
    """What onnxruntime makes of the case; None where it has no kernel, or the values are sequences."""
    try:
        values = run(case.model, feeds(case))
    except Exception:  # onnxruntime's errors share no base class
        return None
    return values if all(isinstance(value, np.ndarray) for value in values.values()) else None


def equal(case: Any, result: onnx.ModelProto, expected: Arrays) -> bool:
    """Asserts it; False where onnxruntime has no kernel of the older version for the element type."""
    try:
        got = run(result, feeds(case))
    except Exception as error:
        if type(error).__name__ != "NotImplemented":
            raise
        return False
    for name, array in expected.items():
        if array.dtype.kind in "fc":
            half = array.dtype.itemsize == 2
            # what a Fourier transform cancels is as exact as its largest value
            scale = float(np.abs(array).max(initial=1.0)) if "dft" in case.name else 1.0
            np.testing.assert_allclose(
                got[name], array, rtol=2e-3 if half else 1e-5, atol=2e-3 if half else 1e-6 * scale, err_msg=case.name
            )
        else:
            np.testing.assert_array_equal(got[name], array, err_msg=case.name)
    return True


def lowered(cases: list[Any], low: int) -> Iterator[tuple[Any, onnx.ModelProto]]:
    for case in cases:
        opset = next((item.version for item in case.model.opset_import if item.domain == ""), 0)
        if opset <= low:
            continue
        try:
            check(case.model)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            continue  # what the checker refuses beforehand, it may refuse afterwards
        try:
            result = lower(case.model, low)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            assert any(word in case.name for word in CHECKER_DIFFERS), case.name
            continue
        if not isinstance(result, str):
            yield case, result


@pytest.mark.parametrize(("low", "at_least"), [(11, 900), (9, 800)])
def test_a_node_test_moved_down_computes_the_same(
    cases: list[Any], low: int, at_least: int, measured: Callable[[str], None]
) -> None:
    moved = compared = 0
    for case, result in lowered(cases, low):
        moved += 1
        expected = reference(case)
        if expected is not None and not any(word in case.name for word in KERNEL_DIFFERS):
            compared += equal(case, result, expected)
    assert moved >= at_least
    measured(f"node tests moved to opset {low}: {moved} of {len(cases)}, {compared} of them run by onnxruntime, all equal")


def test_repair_for_5_1_crashes_on_none_and_what_it_writes_computes_the_same(
    cases: list[Any], measured: Callable[[str], None]
) -> None:
    written = fine = 0
    for case in cases:
        try:
            report, result = repair(case.model, "trt5.1", samples=2)
        except OnnxfixError:
            continue  # one clear line
        assert report.status != "unproven", (case.name, report.reason)
        fine += report.status == "clean"
        if report.status != "repaired":
            continue
        assert result is not None
        written += 1
        expected = reference(case)
        if expected is not None:
            equal(case, result, expected)
    assert written >= 25
    measured(f"node tests for trt5.1: {fine} fine, {written} repaired of {len(cases)}")

"""Whatever the shape, axes and values: a moved model is valid, stays as it is when moved again, and computes the same."""

from typing import Any

import numpy as np
import onnx
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from .harness import lower, run
from .test_lowering_forms import built

SHAPES = arrays.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5)
VALUES = st.floats(-100, 100, width=32)


def same(model: onnx.ModelProto, low: int, x: np.ndarray) -> None:
    """Moved, or declined with a reason; where it moves, also with a second reader and the value as another output."""
    result = lower(model, low)
    if isinstance(result, str):
        assert "cannot follow to opset" in result
        return
    assert lower(result, low) == result
    for before, after in zip(run(model, {"x": x}).values(), run(result, {"x": x}).values(), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-5, strict=True)
    model.graph.node.append(onnx.helper.make_node("Identity", ["y"], ["z"]))
    model.graph.output.add().CopyFrom(model.graph.output[0])
    model.graph.output[-1].name = "z"
    again = lower(model, low)
    assert not isinstance(again, str)
    np.testing.assert_array_equal(run(again, {"x": x})["z"], run(result, {"x": x})["y"])


@settings(max_examples=40, deadline=None)
@given(st.data(), SHAPES, st.sampled_from([13, 11, 9]))
def test_operators_over_axes(data: st.DataObject, shape: tuple[int, ...], low: int) -> None:
    x = data.draw(arrays.arrays(np.float32, shape, elements=VALUES))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    op = data.draw(st.sampled_from(["Softmax", "LogSoftmax", "ReduceMax", "ReduceMean", "ReduceL2", "ArgMax", "Hardmax"]))
    constants = [np.array([axis])] if op.startswith("Reduce") else []
    given_axis: dict[str, Any] = {} if constants else {"axis": axis}
    same(built(op, x, 18, constants, **given_axis), low, x)


@settings(max_examples=40, deadline=None)
@given(st.data(), SHAPES, st.sampled_from([13, 11, 9]))
def test_parts_and_pads(data: st.DataObject, shape: tuple[int, ...], low: int) -> None:
    x = data.draw(arrays.arrays(np.float32, shape, elements=VALUES))
    axis = data.draw(st.integers(0, len(shape) - 1))
    if data.draw(st.booleans()):
        start, end = (data.draw(st.integers(-7, 7)) for _ in range(2))
        step = data.draw(st.sampled_from([-2, -1, 1, 2, 3]))
        same(built("Slice", x, 18, [np.array([value]) for value in (start, end, axis, step)]), low, x)
        return
    pads = [data.draw(st.integers(0, 3)) for _ in range(2)]
    mode = data.draw(st.sampled_from(["constant", "edge", "wrap"]))
    same(built("Pad", x, 19, [np.array(pads), None, np.array([axis])], mode=mode), low, x)

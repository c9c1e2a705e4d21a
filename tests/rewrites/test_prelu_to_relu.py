"""PRelu as Relu(x) + slope * Min(x, 0): the same bits as onnxruntime's PRelu."""

import numpy as np
import onnx
import pytest

from .harness import ask, noise, one_node, ops, rewrite, run, same_bits

SHAPE = (2, 3, 4, 5)


def prelu(slope: np.ndarray, dtype: int = onnx.TensorProto.FLOAT, opset: int = 9) -> onnx.ModelProto:
    return one_node(
        "PRelu", ["x", "slope"], {"x": SHAPE}, opset=opset, constants={"slope": slope}, dtype=dtype, ir=3 + (opset > 9) * 5
    )


@pytest.mark.parametrize("opset", [9, 11, 13, 16])
@pytest.mark.parametrize("shape", [(1,), (5,), (3, 1, 1), (1, 3, 1, 1), (4, 1), SHAPE])
def test_any_slope_that_broadcasts(shape: tuple[int, ...], opset: int) -> None:
    model = prelu(noise(shape, seed=1), opset=max(opset, 10))
    x = noise(SHAPE)
    x.flat[:6] = [0.0, -0.0, 1e-42, -1e-42, 3e38, -3e38]
    result = rewrite(model, "prelu_to_relu")
    assert ops(result) == ["Relu", "Min", "Mul", "Add"]
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize(("dtype", "kind"), [(onnx.TensorProto.FLOAT16, np.float16), (onnx.TensorProto.DOUBLE, np.float64)])
def test_other_floats_keep_their_type(dtype: int, kind: type) -> None:
    slope = noise((3, 1, 1), kind, seed=1)
    x = noise(SHAPE, kind)
    got = run(rewrite(prelu(slope, dtype, opset=13), "prelu_to_relu"), {"x": x})["y"]
    assert got.dtype == kind
    np.testing.assert_array_equal(got, np.where(x < 0, slope * x, x))


def test_infinite_input_is_right_but_for_a_slope_of_zero() -> None:
    """There 0 * inf is NaN, as the module says; onnxruntime's own kernel does the same."""
    model = prelu(np.array([0.0, 0.25, 1.0, 2.0, -1.0], np.float32), opset=11)
    x = np.full(SHAPE, -np.inf, np.float32)
    same_bits(run(model, {"x": x}), run(rewrite(model, "prelu_to_relu"), {"x": x}))
    same_bits(run(model, {"x": -x}), run(rewrite(model, "prelu_to_relu"), {"x": -x}))


def test_it_declines_with_the_reason() -> None:
    integers = prelu(np.ones(1, np.int32), onnx.TensorProto.INT32, opset=11)
    assert ask(integers, "prelu_to_relu") == "the data is INT32"
    assert ask(prelu(np.ones(1, np.float32), opset=7), "prelu_to_relu") == "Min does not broadcast before opset 8"

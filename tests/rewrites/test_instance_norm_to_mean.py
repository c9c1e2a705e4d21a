"""InstanceNormalization with its own epsilon, against onnxruntime and against float64."""

import numpy as np
import onnx
import pytest

from .harness import ask, error, noise, one_node, ops, parse, rewrite, run
from .properties import holds

# Over the largest output. Measured: 2.1e-7 against onnxruntime, 1.6e-7 against float64.
BOUND = 5e-7


def instance_norm(
    shape: tuple[object, ...], epsilon: float | None = None, dtype: int = onnx.TensorProto.FLOAT, opset: int = 11
) -> onnx.ModelProto:
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    constants = {"scale": noise((3,), kind, seed=1), "bias": noise((3,), kind, seed=2)}
    more = {} if epsilon is None else {"epsilon": epsilon}
    return one_node(
        "InstanceNormalization", ["x", "scale", "bias"], {"x": shape}, opset=opset, constants=constants, dtype=dtype, **more
    )


def in_float64(x: np.ndarray, epsilon: float) -> np.ndarray:
    axes = tuple(range(2, x.ndim))
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axes, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon)
    channels = (-1,) + (1,) * (x.ndim - 2)
    return normal * noise((3,), x.dtype, seed=1).reshape(channels) + noise((3,), x.dtype, seed=2).reshape(channels)


@pytest.mark.parametrize("opset", [9, 11, 13, 17])
@pytest.mark.parametrize("shape", [(2, 3, 9), (2, 3, 4, 5), (1, 3, 3, 4, 2), (1, 3, 32, 32)])
@pytest.mark.parametrize("epsilon", [None, 1e-5, 1e-9, 1e-2])
def test_ranks_and_epsilons(shape: tuple[int, ...], epsilon: float | None, opset: int) -> None:
    model = instance_norm(shape, epsilon, opset=opset)
    result = rewrite(model, "instance_norm_to_mean")
    assert ops(result).count("ReduceMean") == 2
    for scale in (1.0, 1e-3, 30.0):  # variances of 1e-6, where epsilon is all, to 1e3, where it is nothing
        x = noise(shape) * np.float32(scale)
        got = run(result, {"x": x})
        assert error(run(model, {"x": x}), got) <= BOUND
        assert error({"y": in_float64(x, epsilon or 1e-5)}, {"y": got["y"].astype(np.float64)}) <= BOUND


def test_a_large_mean_costs_no_digits_beyond_those_of_the_input() -> None:
    x = noise((1, 3, 8, 8)) + np.float32(1000)
    got = run(rewrite(instance_norm(x.shape), "instance_norm_to_mean"), {"x": x})["y"]
    assert np.abs(got - in_float64(x, 1e-5)).max() <= 2e-4  # mean of 64 numbers near 1000: 1 ulp is 6e-5


def test_a_constant_plane_is_the_bias() -> None:
    x = np.full((1, 3, 4, 4), 7.0, np.float32)
    got = run(rewrite(instance_norm(x.shape), "instance_norm_to_mean"), {"x": x})["y"]
    np.testing.assert_array_equal(got, np.broadcast_to(noise((3,), seed=2).reshape(1, 3, 1, 1), x.shape))


def test_dynamic_batch_height_and_width_stay() -> None:
    model = instance_norm(("n", 3, "h", "w"))
    result = rewrite(model, "instance_norm_to_mean")
    for shape in ((1, 3, 4, 4), (3, 3, 7, 2)):
        x = noise(shape)
        assert error(run(model, {"x": x}), run(result, {"x": x})) <= BOUND


@pytest.mark.parametrize("opset", [11, 17, 18, 21])
def test_half_precision_is_computed_in_float32(opset: int) -> None:
    model = instance_norm((1, 3, 4, 4), dtype=onnx.TensorProto.FLOAT16, opset=opset)
    x = (noise((1, 3, 4, 4)) * 300).astype(np.float16)  # squares are beyond 65504
    got = run(rewrite(model, "instance_norm_to_mean"), {"x": x})
    assert error({"y": in_float64(x, 1e-5)}, {"y": got["y"].astype(np.float64)}) <= 2e-3


def test_scale_and_bias_may_be_computed() -> None:
    model = parse(
        """<ir_version: 8, opset_import: ["" : 11]> g (float[1,2,4,4] x, float[2] s) => (float[1,2,4,4] y) <float[2] b = {0, 1}>
        { [node] y = InstanceNormalization (x, s, b) }"""
    )
    holds(model, "instance_norm_to_mean", {"x": noise((1, 2, 4, 4)), "s": noise((2,))}, bound=BOUND)


def test_it_declines_with_the_reason() -> None:
    unknown = parse(
        """<ir_version: 8, opset_import: ["" : 11]> g (float x, float[2] s) => (float y) <float[2] b = {0, 1}>
        { [node] y = InstanceNormalization (x, s, b) }"""
    )
    assert ask(unknown, "instance_norm_to_mean") == "the rank of the data is unknown"

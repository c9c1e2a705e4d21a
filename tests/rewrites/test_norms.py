"""Normalisations in reductions and arithmetic, against onnxruntime and against float64."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import Arrays, ask, error, noise, one_node, repair, rewrite, run
from .properties import holds, rewritten

BOUND = 2e-6
HALF = onnx.TensorProto.FLOAT16


def constants(shape: tuple[int, ...], dtype: Any = np.float32) -> dict[str, np.ndarray]:
    return {"scale": noise(shape, dtype, seed=1), "bias": noise(shape, dtype, seed=2)}


@pytest.mark.parametrize(("shape", "axis"), [((2, 5), -1), ((2, 3, 4), -1), ((2, 3, 4), 1), ((1, 2, 3, 4), 2), ((3, 4), 0)])
@pytest.mark.parametrize("opset", [17, 18, 21])
@pytest.mark.parametrize("biased", [True, False])
def test_layers(shape: tuple[int, ...], axis: int, opset: int, biased: bool) -> None:
    values = constants(shape[axis:])
    names = ["x", "scale", "bias"] if biased else ["x", "scale"]
    model = one_node("LayerNormalization", names, {"x": shape}, opset=opset, axis=axis, constants=values)
    if not biased:
        del model.graph.initializer[1]
    for factor in (1.0, 1e-3, 100.0):
        holds(model, "layer_norm_to_mean", {"x": noise(shape) * np.float32(factor)}, bound=BOUND)


def test_layers_that_give_mean_and_deviation_too() -> None:
    model = one_node(
        "LayerNormalization", ["x", "scale", "bias"], {"x": (2, 3, 4)}, opset=17, constants=constants((4,)), outputs=("y", "m", "d")
    )
    holds(model, "layer_norm_to_mean", {"x": noise((2, 3, 4))}, bound=BOUND)


def test_layers_of_half_precision_are_computed_in_float32() -> None:
    model = one_node(
        "LayerNormalization", ["x", "scale", "bias"], {"x": (2, 8)}, opset=17, dtype=HALF, constants=constants((8,), np.float16)
    )
    holds(model, "layer_norm_to_mean", {"x": (noise((2, 8)) * 300).astype(np.float16)}, bound=2e-3)


def test_a_large_mean_costs_no_digits() -> None:
    model = one_node("LayerNormalization", ["x", "scale"], {"x": (1, 64)}, opset=17, constants={"scale": np.ones(64, np.float32)})
    x = noise((1, 64)) + np.float32(1000)
    wide = x.astype(np.float64)
    exact = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
    got = run(rewritten(model, "layer_norm_to_mean", "trt5.1"), {"x": x})["y"]
    assert np.abs(got - exact).max() < 2e-4  # a unit in the last place of the mean is 6e-5


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 4), 2), ((2, 6, 3, 4), 3), ((1, 4, 2, 3, 2), 4), ((2, 6, 3, 4), 1)])
@pytest.mark.parametrize("opset", [18, 21])
def test_groups(shape: tuple[int, ...], groups: int, opset: int) -> None:
    values = constants((shape[1] if opset == 21 else groups,))
    model = one_node(
        "GroupNormalization", ["x", "scale", "bias"], {"x": shape}, opset=opset, constants=values, num_groups=groups, epsilon=1e-3
    )
    x = noise(shape)
    holds(model, "group_norm_to_mean", {"x": x}, bound=BOUND, expected=in_groups(x, groups, values, opset))


def in_groups(x: np.ndarray, groups: int, values: Arrays, opset: int) -> Arrays:
    wide = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    normal = (wide - wide.mean(2, keepdims=True)) / np.sqrt(wide.var(2, keepdims=True) + 1e-3)
    each = x.shape[1] // len(values["scale"])
    scale, bias = (np.repeat(values[key], each).reshape(-1, *[1] * (x.ndim - 2)) for key in ("scale", "bias"))
    return {"y": (normal.reshape(x.shape) * scale + bias).astype(np.float32)}


def test_groups_of_dynamic_sizes() -> None:
    values = constants((6,))
    for dims in (("n", 6, "h", 4), ("n", 6, "h", "w")):
        model = one_node(
            "GroupNormalization", ["x", "scale", "bias"], {"x": dims}, opset=21, constants=values, num_groups=2, epsilon=1e-3
        )
        for size in ((2, 6, 3, 4), (1, 6, 5, 4)):
            x = noise(size)
            holds(model, "group_norm_to_mean", {"x": x}, bound=BOUND, expected=in_groups(x, 2, values, 21))


def test_root_mean_squares() -> None:
    for shape, axis in (((2, 5), -1), ((2, 3, 4), 1)):
        model = one_node(
            "RMSNormalization", ["x", "scale"], {"x": shape}, opset=23, axis=axis, constants={"scale": noise(shape[axis:], seed=1)}
        )
        x = noise(shape)
        axes = tuple(range(axis % len(shape), len(shape)))
        mean = (x.astype(np.float64) ** 2).mean(axes, keepdims=True)
        exact = (x / np.sqrt(mean + 1e-5) * noise(shape[axis:], seed=1)).astype(np.float32)
        holds(model, "rms_norm_to_mean", {"x": x}, bound=BOUND, expected={"y": exact})


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("opset", [9, 18])
def test_norms_of_vectors(p: int, axis: int, opset: int) -> None:
    x = noise((2, 3, 4))
    x[0, 1] = 0
    model = one_node("LpNormalization", ["x"], {"x": x.shape}, opset=opset, p=p, axis=axis)
    holds(model, "lp_norm_to_reduce", {"x": x}, bound=BOUND)
    holds(model, "lp_norm_to_reduce", {"x": np.zeros_like(x)})


@pytest.mark.parametrize("axes", [None, [2, 3], [-1], [1, 2, 3]])
@pytest.mark.parametrize("opset", [9, 18])
def test_mean_and_variance(axes: list[int] | None, opset: int) -> None:
    more = {} if axes is None else {"axes": axes}
    model = one_node("MeanVarianceNormalization", ["x"], {"x": (2, 3, 4, 5)}, opset=opset, **more)
    holds(model, "mean_variance_to_mean", {"x": noise((2, 3, 4, 5))}, bound=5e-6)


def batch_norm(shape: tuple[object, ...], *, opset: int, outputs: tuple[str, ...] = ("y",), **attributes: Any) -> onnx.ModelProto:
    values = {**constants((3,)), "mean": noise((3,), seed=3), "var": np.abs(noise((3,), seed=4)) + np.float32(0.1)}
    model = one_node(
        "BatchNormalization", ["x", *values], {"x": shape}, opset=opset, constants=values, outputs=outputs, **attributes
    )
    for value in model.graph.output[1:]:
        del value.type.tensor_type.shape.dim[1:]
    return model


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5), ("n", 3, "h", "w")])
@pytest.mark.parametrize("opset", [7, 9, 15])
def test_batches_by_stored_statistics(shape: tuple[object, ...], opset: int) -> None:
    sizes = tuple(size if isinstance(size, int) else 2 for size in shape)
    holds(batch_norm(shape, opset=opset, epsilon=1e-3), "batch_norm_to_scale", {"x": noise(sizes)}, bound=BOUND)


@pytest.mark.parametrize("outputs", [("y",), ("y", "m", "v")])
def test_batches_by_their_own_statistics(outputs: tuple[str, ...]) -> None:
    model = batch_norm((2, 3, 4, 5), opset=15, outputs=("y", "m", "v"), training_mode=1, momentum=0.7)
    x = noise((2, 3, 4, 5))
    wide = x.astype(np.float64)
    mean, var = wide.mean((0, 2, 3)), wide.var((0, 2, 3))
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    column = (-1, 1, 1)
    exact = {
        "y": (wide - mean.reshape(column)) / np.sqrt(var.reshape(column) + 1e-5) * values["scale"].reshape(column)
        + values["bias"].reshape(column),
        "m": values["mean"] * 0.7 + mean * 0.3,
        "v": values["var"] * 0.7 + var * 0.3,
    }
    if len(outputs) == 1:
        del model.graph.output[1:]
    expected = {key: exact[key].astype(np.float32) for key in outputs}
    holds(model, "batch_norm_to_mean", {"x": x}, bound=BOUND, expected=expected)


def test_they_decline_with_the_reason() -> None:
    read = batch_norm((2, 3, 4), opset=9, outputs=("y", "m", "v"))
    assert ask(read, "batch_norm_to_scale") == "its running statistics are read"
    training = batch_norm((2, 3, 4), opset=15, outputs=("y", "m", "v"), training_mode=1)
    assert ask(training, "batch_norm_to_scale") == "it computes statistics of the batch"
    assert ask(batch_norm((2, 3, 4), opset=15), "batch_norm_to_mean") == "it computes no statistics of the batch"
    unread = batch_norm((2, 3, 4), opset=9, outputs=("y", "m", "v", "sm", "sv"))
    del unread.graph.output[1:]
    assert ask(unread, "batch_norm_to_scale") == "it computes statistics of the batch"
    half = one_node("MeanVarianceNormalization", ["x"], {"x": (1, 1, 2, 2)}, opset=13, dtype=HALF)
    assert ask(half, "mean_variance_to_mean") == "squares overflow half precision, and 1e-9 vanishes in it"


@pytest.mark.parametrize("opset", [9, 11, 13])
def test_more_than_one_output_means_statistics_of_the_batch_before_opset_14(opset: int) -> None:
    statistics = {name: noise((3,), seed=seed) for seed, name in enumerate(("scale", "bias", "mean"))} | {
        "var": np.abs(noise((3,), seed=9))
    }
    model = one_node(
        "BatchNormalization",
        ["x", "scale", "bias", "mean", "var"],
        {"x": (2, 3, 4, 5)},
        opset=opset,
        constants=statistics,
        outputs=("y", "m", "v", "sm", "sv"),
    )
    del model.graph.output[1:]
    assert "statistics of the batch" in str(ask(model, "drop_unread_outputs", target="trt7.1"))
    feeds = {"x": noise((2, 3, 4, 5)) * 3 + 1}
    result = rewrite(model, "batch_norm_to_mean", target="trt7.1")
    assert error(run(model, feeds), run(result, feeds)) < 1e-6
    report, repaired = repair(model, "trt8.6")
    assert report.status == "repaired"
    assert repaired is not None
    assert error(run(model, feeds), run(repaired, feeds)) < 1e-6
    read = onnx.ModelProto()
    read.CopyFrom(model)
    read.graph.output.append(onnx.helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, [3]))
    assert "does not say how" in str(ask(read, "batch_norm_to_mean", target="trt7.1"))

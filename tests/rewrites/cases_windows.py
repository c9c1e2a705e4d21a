"""Pools and convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume

from .cases import BUT_BRANCH, F32, ROUNDING, Case, Draw, array, model_of, pick, serves, whole

MICROSOFT = "com.microsoft"


def windows(draw: Draw, axes: int, kernel: int = 3) -> dict[str, Any]:
    sizes = [whole(draw, 1, kernel) for _ in range(axes)]
    pads = [whole(draw, 0, size - 1) for size in (*sizes, *sizes)]
    return {"kernel_shape": sizes, "strides": [whole(draw, 1, 2) for _ in range(axes)], "pads": pads}


def volume(draw: Draw, axes: int, channels: int = 2) -> np.ndarray:
    return array(draw, (whole(draw, 1, 2), channels, *(whole(draw, 5, 7) for _ in range(axes))))


@serves("average_pool_to_pad")
def average(draw: Draw, name: str) -> Case:
    axes = pick(draw, 2, 2, 1)
    attributes = {**windows(draw, axes), "count_include_pad": pick(draw, 0, 1)}
    if pick(draw, True, False):
        attributes["ceil_mode"] = 1 - attributes["count_include_pad"]
    x = volume(draw, axes)
    return Case(model_of("AveragePool", ["x"], {"x": x}, opset=11, **attributes), {"x": x}, ROUNDING)


@serves("average_pool_to_conv")
def average_spread(draw: Draw, name: str) -> Case:
    attributes = {**windows(draw, 2), "dilations": [whole(draw, 1, 2), 2], "count_include_pad": pick(draw, 0, 1)}
    x = volume(draw, 2)
    return Case(model_of("AveragePool", ["x"], {"x": x}, opset=19, ir=9, **attributes), {"x": x}, ROUNDING)


@serves("max_pool_to_gather")
def largest(draw: Draw, name: str) -> Case:
    axes = pick(draw, 2, 3)
    attributes = windows(draw, axes)
    if axes == 2:
        attributes["dilations"] = [whole(draw, 1, 2), 2]
    x = volume(draw, axes)
    return Case(model_of("MaxPool", ["x"], {"x": x}, opset=pick(draw, 10, 12), **attributes), {"x": x})


@serves("max_pool_indices")
def largest_and_where(draw: Draw, name: str) -> Case:
    attributes = {**windows(draw, 2), "storage_order": pick(draw, 0, 1)}
    x = volume(draw, 2)
    model = model_of("MaxPool", ["x"], {"x": x}, opset=12, outputs=["y", "i"], **attributes)
    return Case(model, {"x": x}, target="trt7.1")


@serves("global_pool_to_reduce")
def over_all(draw: Draw, name: str) -> Case:
    x = volume(draw, pick(draw, 1, 2, 3))
    return Case(model_of(pick(draw, "GlobalAveragePool", "GlobalMaxPool"), ["x"], {"x": x}, opset=9), {"x": x}, ROUNDING)


@serves("lp_pool_to_average_pool")
def powers(draw: Draw, name: str) -> Case:
    axes = pick(draw, 1, 2)
    x = volume(draw, axes)
    if pick(draw, True, False):
        return Case(model_of("GlobalLpPool", ["x"], {"x": x}, opset=11, p=pick(draw, 1, 2, 3)), {"x": x}, 1e-5)
    attributes = {**windows(draw, axes), "p": pick(draw, 1, 2, 3)}
    return Case(model_of("LpPool", ["x"], {"x": x}, opset=11, **attributes), {"x": x}, 1e-5)


@serves("aten_adaptive_pool")
def adaptive(draw: Draw, name: str) -> Case:
    from onnxfix.verify.aten import evaluate_node

    x, kind = volume(draw, 2), pick(draw, "avg", "max")
    size = np.array([whole(draw, 1, 4), whole(draw, 1, 4)])
    model = model_of(
        "ATen",
        ["x", "s"],
        {"x": x},
        opset=9,
        constants={"s": size},
        domain="org.pytorch.aten",
        outputs=["y"] if kind == "avg" else ["y", "i"],
        kinds=[(F32, 4)] * 2,
        operator=f"adaptive_{kind}_pool2d",
    )
    if kind == "max":
        del model.graph.output[1:]
    expected = evaluate_node(model.graph.node[0], [x, size])[0]
    return Case(model, {"x": x}, ROUNDING, reference={"y": expected}, places=BUT_BRANCH)


def _kernel(draw: Draw, axes: int, *, turned: bool = False) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    group, rows, columns = whole(draw, 1, 2), whole(draw, 1, 2), whole(draw, 1, 2)
    x = array(draw, (whole(draw, 1, 2), group * columns, *(whole(draw, 5, 6) for _ in range(axes))))
    size = [whole(draw, 1, 3) for _ in range(axes)]
    filters = (group * columns, rows) if turned else (group * rows, columns)
    attributes = {
        "group": group,
        "kernel_shape": size,
        "strides": [whole(draw, 1, 2) for _ in range(axes)],
        "dilations": [whole(draw, 1, 2) for _ in range(axes)],
        "pads": [whole(draw, 0, 1) for _ in range(2 * axes)],
    }
    return x, array(draw, (*filters, *size)), attributes


def _bias(draw: Draw, length: int) -> dict[str, np.ndarray]:
    return {"b": array(draw, (length,))} if pick(draw, True, False) else {}


@serves("conv_volume_to_plane")
def volumes(draw: Draw, name: str) -> Case:
    turned = pick(draw, True, False)
    x, weights, attributes = _kernel(draw, 3, turned=turned)
    filters = weights.shape[1] * attributes["group"] if turned else weights.shape[0]
    constants = {"w": weights, **_bias(draw, filters)}
    model = model_of(
        "ConvTranspose" if turned else "Conv", ["x", *constants], {"x": x}, opset=11, constants=constants, **attributes
    )
    return Case(model, {"x": x}, ROUNDING)


@serves("conv_weights_to_matmul")
def computed_weights(draw: Draw, name: str) -> Case:
    x, weights, attributes = _kernel(draw, 2)
    assume(attributes["group"] == 1)
    feeds = {"x": x, "w": weights}
    constants = _bias(draw, weights.shape[0])
    return Case(model_of("Conv", [*feeds, *constants], feeds, opset=11, constants=constants, **attributes), feeds, ROUNDING)


@serves("conv_transpose_plain")
def transposed(draw: Draw, name: str) -> Case:
    x, weights, attributes = _kernel(draw, 2, turned=True)
    attributes["strides"] = [2, 2]
    form = pick(draw, "output_padding", "auto", "dilated")
    if form == "output_padding":
        attributes["output_padding"] = [1, whole(draw, 0, 1)]
    elif form == "auto":
        attributes["auto_pad"] = pick(draw, "SAME_UPPER", "SAME_LOWER", "VALID")
        del attributes["pads"]
    constants = {"w": weights, **_bias(draw, weights.shape[1] * attributes["group"])}
    return Case(model_of("ConvTranspose", ["x", *constants], {"x": x}, opset=11, constants=constants, **attributes), {"x": x}, 1e-5)


@serves("conv_transpose_crop", "conv_transpose_bias_to_add")
def transposed_parts(draw: Draw, name: str) -> Case:
    x, weights, attributes = _kernel(draw, 2, turned=True)
    filters = weights.shape[1] * attributes["group"]
    constants = {"w": weights, **(_bias(draw, filters) if name.endswith("crop") else {"b": array(draw, (filters,))})}
    return Case(model_of("ConvTranspose", ["x", *constants], {"x": x}, opset=11, constants=constants, **attributes), {"x": x}, 1e-5)


@serves("conv_integer_to_conv")
def integers(draw: Draw, name: str) -> Case:
    x, weights, attributes = _kernel(draw, 2)
    random = np.random.default_rng(whole(draw, 0, 999))
    x = random.integers(0, 255, x.shape).astype(np.uint8)
    constants = {"w": random.integers(0, 255, weights.shape).astype(np.uint8)}
    if pick(draw, True, False):
        constants |= {"zx": np.array(3, np.uint8), "zw": np.array(7, np.uint8)}
        attributes["pads"] = [0, 0, 0, 0]
    return Case(model_of("ConvInteger", ["x", *constants], {"x": x}, opset=10, constants=constants, **attributes), {"x": x})


@serves("fused_conv_to_conv")
def fused(draw: Draw, name: str) -> Case:
    x, weights, attributes = _kernel(draw, 2)
    activation, numbers = pick(
        draw, ("Relu", []), ("Tanh", []), ("LeakyRelu", [0.2]), ("HardSigmoid", [0.3, 0.4]), ("Clip", [-0.5, 0.5])
    )
    more = {"activation_params": numbers} if numbers else {}
    constants = {"w": weights, **_bias(draw, weights.shape[0])}
    model = model_of(
        "FusedConv",
        ["x", *constants],
        {"x": x},
        opset=12,
        domain=MICROSOFT,
        kinds=[(F32, 4)],
        constants=constants,
        activation=activation,
        **attributes,
        **more,
    )
    return Case(model, {"x": x}, 1e-5)


@serves("col2im_to_conv_transpose")
def columns(draw: Draw, name: str) -> Case:
    block, channels = [whole(draw, 1, 2), whole(draw, 1, 2)], whole(draw, 1, 2)
    strides, dilations = ([whole(draw, 1, 2), whole(draw, 1, 2)] for _ in range(2))
    image = [whole(draw, 4, 6), whole(draw, 4, 6)]
    steps = [(i - d * (k - 1) - 1) // s + 1 for i, d, k, s in zip(image, dilations, block, strides, strict=True)]
    x = array(draw, (2, channels * block[0] * block[1], steps[0] * steps[1]))
    model = model_of(
        "Col2Im",
        ["x", "i", "k"],
        {"x": x},
        opset=18,
        constants={"i": np.array(image), "k": np.array(block)},
        kinds=[(F32, 4)],
        strides=strides,
        dilations=dilations,
    )
    return Case(model, {"x": x}, ROUNDING)


@serves("pool_volume_to_plane")
def pools_of_volumes(draw: Draw, name: str) -> Case:
    op, x = pick(draw, "MaxPool", "AveragePool"), volume(draw, 3)
    attributes = windows(draw, 3)
    if op == "AveragePool":
        attributes["count_include_pad"] = pick(draw, 0, 1)
    assume(any(size > 1 for size in attributes["kernel_shape"]))
    return Case(model_of(op, ["x"], {"x": x}, opset=pick(draw, 11, 12), **attributes), {"x": x}, ROUNDING)

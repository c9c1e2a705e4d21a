"""Convolutions in the forms that older importers take, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from .harness import ask, noise, one_node, ops, rewrite
from .properties import examples, holds

BOUND = 2e-6


@examples(30)
@given(st.data())
def test_transposed_with_every_attribute(data: st.DataObject) -> None:
    axes = data.draw(st.integers(1, 3))
    several = st.lists(st.integers(1, 3), min_size=axes, max_size=axes)
    size, kernel, strides, dilations = (data.draw(several) for _ in range(4))
    group = data.draw(st.sampled_from([1, 2]))
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "kernel_shape": kernel, "group": group}
    spans = [step * (length - 1) + 1 for step, length in zip(dilations, kernel, strict=True)]
    way = data.draw(st.sampled_from(["pads", "more", "shape", "SAME_UPPER", "SAME_LOWER"]))
    full = [(a - 1) * b + c for a, b, c in zip(size, strides, spans, strict=True)]
    if way in ("pads", "more"):
        pads = [data.draw(st.integers(0, max(length - 1, 0))) for length in [*full, *full]]
        assume(all(whole - front - back > 0 for whole, front, back in zip(full, pads, pads[axes:], strict=False)))
        attributes["pads"] = pads
        if way == "more":
            attributes["output_padding"] = [data.draw(st.integers(0, stride - 1)) for stride in strides]
    elif way == "shape":
        attributes["output_shape"] = [data.draw(st.integers(1, length)) for length in full]
    else:
        attributes["auto_pad"] = way
        assume(all(length * stride <= whole for length, stride, whole in zip(size, strides, full, strict=True)))
    plain = way == "pads" or (way == "more" and not any(attributes["output_padding"]))
    assume(not plain or any(step != 1 for step in dilations))
    shape = (2, 4, *size)
    weights = {"w": noise((4, 3, *kernel), seed=1), "b": noise((3 * group,), seed=2)}
    model = one_node("ConvTranspose", ["x", "w", "b"], {"x": shape}, opset=11, constants=weights, **attributes)
    holds(model, "conv_transpose_plain", {"x": noise(shape)}, bound=BOUND)


def test_a_plain_transposed_convolution_stays() -> None:
    model = one_node("ConvTranspose", ["x", "w"], {"x": (1, 1, 3, 3)}, opset=11, constants={"w": noise((1, 1, 2, 2))})
    assert ask(model, "conv_transpose_plain") == "it has none of the attributes"
    computed = one_node("ConvTranspose", ["x", "w"], {"x": (1, 1, 3, 3), "w": (1, 1, 2, 2)}, opset=11, output_padding=[1, 1])
    assert ask(computed, "conv_transpose_plain") == "the weights are computed at run time"


@examples(20)
@given(st.data())
def test_volumes_as_planes(data: st.DataObject) -> None:
    several = st.lists(st.integers(1, 3), min_size=3, max_size=3)
    kernel, strides, dilations = (
        data.draw(several),
        data.draw(several),
        data.draw(st.sampled_from([[1, 1, 1], [2, 1, 1], [1, 2, 2]])),
    )
    spans = [step * (length - 1) + 1 for step, length in zip(dilations, kernel, strict=True)]
    size = [data.draw(st.integers(span, span + 3)) for span in spans]
    group = data.draw(st.sampled_from([1, 2]))
    pads = [data.draw(st.integers(0, 1)) for _ in range(6)]
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "pads": pads, "group": group}
    weights = {"w": noise((4, 2 // group, *kernel), seed=1), "b": noise((4,), seed=2)}
    model = one_node("Conv", ["x", "w", "b"], {"x": ("n", 2, *size)}, opset=11, constants=weights, **attributes)
    holds(model, "conv_volume_to_plane", {"x": noise((2, 2, *size))}, bound=BOUND)


@examples(15)
@given(st.data())
def test_transposed_volumes_as_planes(data: st.DataObject) -> None:
    several = st.lists(st.integers(1, 3), min_size=3, max_size=3)
    kernel, strides, size = data.draw(several), data.draw(several), data.draw(several)
    group = data.draw(st.sampled_from([1, 2]))
    full = [(a - 1) * b + c for a, b, c in zip(size, strides, kernel, strict=True)]
    pads = [data.draw(st.integers(0, 1)) for _ in range(6)]
    more = [data.draw(st.integers(0, stride - 1)) for stride in strides]
    assume(all(whole > front + back for whole, front, back in zip(full, pads, pads[3:], strict=False)))
    weights = {"w": noise((2, 3, *kernel), seed=1), "b": noise((3 * group,), seed=2)}
    attributes: dict[str, Any] = {"strides": strides, "pads": pads, "group": group, "output_padding": more}
    model = one_node("ConvTranspose", ["x", "w", "b"], {"x": (2, 2, *size)}, opset=11, constants=weights, **attributes)
    holds(model, "conv_volume_to_plane", {"x": noise((2, 2, *size))}, bound=BOUND)


@examples(20)
@given(st.data())
def test_weights_of_run_time(data: st.DataObject) -> None:
    pair = st.lists(st.integers(1, 3), min_size=2, max_size=2)
    kernel, strides, dilations = (data.draw(pair) for _ in range(3))
    spans = [step * (length - 1) + 1 for step, length in zip(dilations, kernel, strict=True)]
    size = [data.draw(st.integers(span, span + 4)) for span in spans]
    attributes: dict[str, Any] = {
        "strides": strides,
        "dilations": dilations,
        "pads": [data.draw(st.integers(0, 1)) for _ in range(4)],
    }
    shapes: dict[str, tuple[object, ...]] = {"x": ("n", 2, *size), "w": (3, 2, *kernel), "b": (3,)}
    model = one_node("Conv", list(shapes), shapes, opset=11, **attributes)
    feeds = {"x": noise((2, 2, *size)), "w": noise((3, 2, *kernel), seed=1), "b": noise((3,), seed=2)}
    holds(model, "conv_weights_to_matmul", feeds, bound=BOUND)


def test_weights_of_run_time_with_automatic_padding() -> None:
    shapes: dict[str, tuple[object, ...]] = {"x": (1, 2, 5, 7), "w": (3, 2, 3, 2)}
    model = one_node("Conv", list(shapes), shapes, opset=11, auto_pad="SAME_UPPER", strides=[2, 1])
    holds(model, "conv_weights_to_matmul", {"x": noise((1, 2, 5, 7)), "w": noise((3, 2, 3, 2), seed=1)}, bound=BOUND)
    assert ops(rewrite(model, "conv_weights_to_matmul")) == ["Conv", "Reshape", "Reshape", "MatMul", "Reshape"]
    grouped = one_node("Conv", list(shapes), {"x": (1, 4, 5, 7), "w": (4, 2, 3, 2)}, opset=11, group=2)
    assert ask(grouped, "conv_weights_to_matmul") == "it has 2 groups"


@pytest.mark.parametrize("signed", [False, True])
def test_integers(signed: bool) -> None:
    kind, dtype = (np.int8, onnx.TensorProto.INT8) if signed else (np.uint8, onnx.TensorProto.UINT8)
    rng = np.random.default_rng(0)
    values = {
        "w": rng.integers(-100, 100, (4, 2, 3, 3)).astype(np.int8),
        "p": np.array(3, kind),
        "q": np.array(2, np.int8),
    }
    model = one_node(
        "ConvInteger",
        ["x", *values],
        {"x": (1, 2, 5, 5)},
        opset=11,
        dtype=dtype,
        out_dtype=onnx.TensorProto.INT32,
        constants=values,
    )
    x = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (1, 2, 5, 5), endpoint=True).astype(kind)
    holds(model, "conv_integer_to_conv", {"x": x})


@examples(20)
@given(st.data())
def test_padding_cut_off_afterwards(data: st.DataObject) -> None:
    axes = data.draw(st.integers(1, 3))
    several = st.lists(st.integers(1, 3), min_size=axes, max_size=axes)
    size, kernel, strides = data.draw(several), data.draw(several), data.draw(several)
    full = [(a - 1) * b + c for a, b, c in zip(size, strides, kernel, strict=True)]
    pads = [data.draw(st.integers(0, max(length - 1, 0))) for length in [*full, *full]]
    more = [data.draw(st.integers(0, min(back, stride - 1))) for back, stride in zip(pads[axes:], strides, strict=True)]
    assume(any(pads) and all(whole > front + back for whole, front, back in zip(full, pads, pads[axes:], strict=False)))
    weights = {"w": noise((2, 3, *kernel), seed=1), "b": noise((3,), seed=2)}
    attributes: dict[str, Any] = {"strides": strides, "pads": pads, "output_padding": more}
    dims = (2, 2, *(f"s{axis}" for axis in range(axes)))
    model = one_node("ConvTranspose", ["x", "w", "b"], {"x": dims}, opset=11, constants=weights, **attributes)
    holds(model, "conv_transpose_crop", {"x": noise((2, 2, *size))}, bound=BOUND)
    holds(model, "conv_transpose_bias_to_add", {"x": noise((2, 2, *size))}, bound=BOUND)


def test_a_bias_for_every_filter_of_all_groups() -> None:
    weights = {"w": noise((4, 3, 2, 2), seed=1), "b": noise((6,), seed=2)}
    model = one_node("ConvTranspose", ["x", "w", "b"], {"x": (1, 4, 3, 3)}, opset=9, constants=weights, group=2)
    holds(model, "conv_transpose_bias_to_add", {"x": noise((1, 4, 3, 3))}, bound=BOUND)
    assert ops(rewrite(model, "conv_transpose_bias_to_add")) == ["ConvTranspose", "Add"]

"""Sampling, folding and cutting at constant places, against onnxruntime and the reference of the operator."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import ask, noise, one_node
from .properties import examples, holds


def reference(model: Any, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    from onnx.reference import ReferenceEvaluator

    return {"y": ReferenceEvaluator(model).run(None, feeds)[0]}


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("around", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("size", [(3, 4)])
def test_sampling(mode: str, around: str, aligned: int, size: tuple[int, int]) -> None:
    model = one_node(
        "GridSample",
        ["x", "g"],
        {"x": (2, 3, *size), "g": (2, 4, 3, 2)},
        opset=16,
        mode=mode,
        padding_mode=around,
        align_corners=aligned,
    )
    far = np.random.default_rng(1).uniform(-2.3, 2.3, (2, 4, 3, 2)).astype(np.float32)
    corners = np.clip(np.round(far), -1, 1).astype(np.float32) * np.float32(0.9999)
    for grid in (far, corners):
        holds(model, "grid_sample_to_gather", {"x": noise((2, 3, *size)), "g": grid}, bound=5e-6)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("around", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_sampling_of_volumes(mode: str, around: str, aligned: int) -> None:
    shapes: dict[str, tuple[object, ...]] = {"x": (2, 2, 3, 4, 5), "g": (2, 2, 3, 2, 3)}
    attributes: dict[str, Any] = {"mode": mode, "padding_mode": around, "align_corners": aligned}
    model = one_node("GridSample", ["x", "g"], shapes, opset=20, **attributes)
    grid = np.random.default_rng(1).uniform(-1.8, 1.8, (2, 2, 3, 2, 3)).astype(np.float32)
    holds(model, "grid_sample_to_gather", {"x": noise((2, 2, 3, 4, 5)), "g": grid}, bound=5e-6)


def test_sampling_declines_with_the_reason() -> None:
    cubic = one_node("GridSample", ["x", "g"], {"x": (1, 1, 3, 3), "g": (1, 2, 2, 2)}, opset=20, mode="cubic")
    assert ask(cubic, "grid_sample_to_gather") == "mode cubic is not covered"
    dynamic = one_node("GridSample", ["x", "g"], {"x": ("n", 1, 3, 3), "g": ("n", 2, 2, 2)}, opset=16)
    assert ask(dynamic, "grid_sample_to_gather") == "a shape is dynamic"


@pytest.mark.parametrize("size", [[2, 3, 4, 5], [1, 1, 1, 4], [2, 3, 2, 3, 4]])
@pytest.mark.parametrize("aligned", [0, 1])
def test_grids_of_matrices(size: list[int], aligned: int) -> None:
    axes = len(size) - 2
    shape = (size[0], axes, axes + 1)
    model = one_node(
        "AffineGrid", ["t", "s"], {"t": shape}, opset=20, constants={"s": np.array(size)}, align_corners=aligned, out_rank=axes + 2
    )
    feeds = {"t": noise(shape)}
    if aligned and 1 in size[2:]:
        return  # the specification divides by 0
    holds(model, "affine_grid_to_matmul", feeds, bound=1e-6, expected=reference(model, feeds))


@examples(40)
@given(st.data())
def test_folding(data: st.DataObject) -> None:
    pair = st.lists(st.integers(1, 3), min_size=2, max_size=2)
    kernel, strides, dilations = (data.draw(pair) for _ in range(3))
    pads = [data.draw(st.integers(0, length - 1)) for length in kernel] * 2
    spans = [step * (length - 1) + 1 for step, length in zip(dilations, kernel, strict=True)]
    image = [data.draw(st.integers(max(span - 2 * front, 1), span + 5)) for span, front in zip(spans, pads, strict=False)]
    steps = [(image[axis] + 2 * pads[axis] - spans[axis]) // strides[axis] + 1 for axis in (0, 1)]
    shape = (2, 3 * kernel[0] * kernel[1], steps[0] * steps[1])
    values = {"i": np.array(image), "k": np.array(kernel)}
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "pads": pads}
    model = one_node("Col2Im", ["x", "i", "k"], {"x": shape}, opset=18, constants=values, out_rank=4, **attributes)
    holds(model, "col2im_to_conv_transpose", {"x": noise(shape)}, bound=1e-6)


@pytest.mark.parametrize("shape", [[4, 6, 3], [7, 2, 9], [5, 5, 5], [2, 8, 4]])
@pytest.mark.parametrize("axes", [None, [0, 2], [-1]])
def test_cutting_and_filling_around_the_centre(shape: list[int], axes: list[int] | None) -> None:
    wanted = shape if axes is None else [shape[axis] for axis in axes]
    more = {} if axes is None else {"axes": axes}
    model = one_node("CenterCropPad", ["x", "s"], {"x": (5, 5, 5)}, opset=18, constants={"s": np.array(wanted)}, **more)
    feeds = {"x": noise((5, 5, 5))}
    holds(model, "center_crop_pad_to_slice", feeds, expected=reference(model, feeds))

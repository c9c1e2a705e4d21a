"""Resizes of dynamic height and width: another form of nearest, and linear as a transposed convolution, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import ask, noise, one_node, ops, rewrite, run
from .properties import holds


def resize(dims: tuple[object, ...], scales: tuple[float, ...], **attributes: Any) -> onnx.ModelProto:
    values = {"r": np.zeros(0, np.float32), "s": np.array(scales, np.float32)}
    return one_node("Resize", ["x", "r", "s"], {"x": dims}, opset=11, constants=values, **attributes)


@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2), (1, 1, 3, 1), (1, 1, 4, 3), (1, 1, 1, 5), (1, 1, 8, 2)])
def test_linear_by_whole_numbers(coordinates: str, scales: tuple[int, ...]) -> None:
    model = resize(("n", 2, "h", "w"), scales, mode="linear", coordinate_transformation_mode=coordinates)
    samples = [{"x": noise(shape)} for shape in ((1, 2, 3, 4), (2, 2, 1, 1), (1, 2, 2, 7))]
    holds(model, "resize_to_conv_transpose", samples, bound=1e-6)
    assert ops(rewrite(model, "resize_to_conv_transpose"))[-1] == "ConvTranspose"


def test_linear_along_one_axis_and_three() -> None:
    for shape, scales in (((1, 2, 5), (1, 1, 2)), ((1, 2, 3, 4, 2), (1, 1, 2, 2, 2))):
        model = resize((1, 2, *("abc"[: len(shape) - 2])), scales, mode="linear", coordinate_transformation_mode="half_pixel")
        holds(model, "resize_to_conv_transpose", {"x": noise(shape)}, bound=1e-6)


def test_an_upsample_of_opset_9() -> None:
    values = {"s": np.array([1, 1, 2, 2], np.float32)}
    model = one_node("Upsample", ["x", "s"], {"x": ("n", 3, "h", "w")}, opset=9, constants=values, mode="linear")
    holds(model, "resize_to_conv_transpose", {"x": noise((2, 3, 4, 5))}, bound=1e-6)


def test_linear_declines_with_the_reason() -> None:
    part = resize((1, 2, "h", "w"), (1, 1, 1.5, 2), mode="linear", coordinate_transformation_mode="half_pixel")
    assert ask(part, "resize_to_conv_transpose") == "a scale is no whole number"
    corners = resize((1, 2, "h", "w"), (1, 1, 2, 2), mode="linear", coordinate_transformation_mode="align_corners")
    assert "align_corners" in str(ask(corners, "resize_to_conv_transpose"))


@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"])
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2), (1, 1, 3, 1), (1, 1, 1.5, 2)])
@pytest.mark.parametrize("dims", [(1, 2, 4, 5), ("n", 2, "h", "w")])
def test_nearest_where_it_reads_the_same(
    coordinates: str, rounding: str, scales: tuple[float, ...], dims: tuple[object, ...]
) -> None:
    model = resize(dims, scales, mode="nearest", coordinate_transformation_mode=coordinates, nearest_mode=rounding)
    answer = ask(model, "resize_to_asymmetric")
    if isinstance(answer, str):
        assert "other elements" in answer or "rounded down" in answer
        return
    for shape in ((1, 2, 4, 5), (1, 2, 7, 3)) if dims[0] == "n" else ((1, 2, 4, 5),):
        x = {"x": noise(shape)}
        np.testing.assert_array_equal(run(answer, x)["y"], run(model, x)["y"])


def test_the_usual_forms_are_among_them() -> None:
    for coordinates, rounding in (("half_pixel", "round_prefer_floor"), ("tf_half_pixel_for_nn", "floor")):
        more = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
        model = resize(("n", 2, "h", "w"), (1, 1, 2, 2), mode="nearest", **more)
        holds(model, "resize_to_asymmetric", {"x": noise((1, 2, 4, 5))})

"""Models with one Resize, and where its positions lie in exact arithmetic."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import onnx

from .harness import one_node

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def resize(
    shape: Sequence[object],
    *,
    opset: int = 11,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    dtype: int = onnx.TensorProto.FLOAT,
    **attributes: Any,
) -> onnx.ModelProto:
    """`y = Resize(x)` in the form of the opset, with constant sizes or scales."""
    constants: dict[str, np.ndarray] = {}
    if scales is not None:
        constants["scales"] = np.array(scales, np.float32)
    if opset <= 10:
        inputs = ["x", "scales"]
    else:
        inputs = ["x", "", "" if scales is None else "scales"]
        if opset < 13:  # there both are required: empty tensors say "not given"
            constants["none"] = np.zeros(0, np.float32)
            inputs = [name or "none" for name in inputs]
        if sizes is not None:
            constants["sizes"] = np.array(sizes, np.int64)
            inputs.append("sizes")
    op = "Resize" if opset >= 10 else "Upsample"
    return one_node(op, inputs, {"x": tuple(shape)}, opset=opset, constants=constants, dtype=dtype, **attributes)


def place(index: int, before: int, after: int, scale: float, coordinates: str) -> Fraction:
    """The source position of an output index, by the operator's specification, without any rounding."""
    exact = Fraction(scale)
    if coordinates == "asymmetric":
        return index / exact
    if coordinates == "align_corners":
        return Fraction(index * (before - 1), after - 1) if after > 1 else Fraction(0)
    if coordinates == "tf_half_pixel_for_nn":
        return (index + Fraction(1, 2)) / exact
    if coordinates == "pytorch_half_pixel" and after <= 1:
        return Fraction(0)
    return (index + Fraction(1, 2)) / exact - Fraction(1, 2)


def is_tie(before: int, after: int, scale: float | None, coordinates: str) -> bool:
    """True where some output index reads exactly half-way between two elements (or within float32 rounding of it)."""
    ratio = scale if scale is not None else float(np.float32(after) / np.float32(before))
    positions = (place(index, before, after, ratio, coordinates) for index in range(after))
    return any(abs(position % 1 - Fraction(1, 2)) < Fraction(1, 10**5) for position in positions)

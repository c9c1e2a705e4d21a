"""Mod of floats with the sign of the divisor (fmod=0, from opset 28 on), and of integers below opset 10, which has no Mod."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)
_INTEGERS: dict[int, int] = {
    onnx.TensorProto.INT8: onnx.TensorProto.INT64,
    onnx.TensorProto.UINT8: onnx.TensorProto.INT64,
    onnx.TensorProto.INT16: onnx.TensorProto.INT64,
    onnx.TensorProto.UINT16: onnx.TensorProto.INT64,
    onnx.TensorProto.INT32: onnx.TensorProto.INT64,
    onnx.TensorProto.UINT32: onnx.TensorProto.INT64,
    onnx.TensorProto.INT64: onnx.TensorProto.INT64,
    onnx.TensorProto.UINT64: onnx.TensorProto.UINT64,
}
_HALVES = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    dtype = region.facts.dtype(region.proto.input[0])
    if low < 10 and dtype in _INTEGERS:
        return _by_division(region, dtype, low)
    if region.opset < 28 or dtype not in (*_FLOATS, *_HALVES) or _general.attribute(region, "fmod", 0):
        return _general.lower(region, low)
    region.exact = False  # of the sign of zeros
    a, b = region.node.inputs
    if dtype in _HALVES:
        wide = [_layers.cast(region, role, x, onnx.TensorProto.FLOAT) for role, x in (("wide", a), ("wide_divisor", b))]
        region.replace(_layers.cast(region, "narrow", region.layer("Mod", "rest", wide), dtype))
        return None
    rest = region.layer("Mod", "rest", [a, b], fmod=1)
    sides = region.layer("Mul", "sides", [region.layer("Sign", "sign", [rest]), region.layer("Sign", "divisor_sign", [b])])
    zero = region.constant("zero", np.zeros((), onnx.helper.tensor_dtype_to_np_dtype(dtype)))
    other = region.layer("Less", "other_side", [sides, zero])
    region.replace(region.layer("Where", "mod", [other, region.layer("Add", "moved", [rest, b]), rest]))
    return None


def _by_division(region: Region, dtype: int, low: int) -> Decline | None:
    """What a division that rounds towards zero leaves; with fmod=0 moved to the sign of the divisor."""
    wide = _INTEGERS[dtype]
    a, b = (
        x if dtype == wide else _layers.cast(region, role, x, wide)
        for role, x in zip(("wide", "wide_divisor"), region.node.inputs, strict=True)
    )
    whole = region.layer("Mul", "whole", [region.layer("Div", "quotient", [a, b]), b])
    made = region.layer("Sub", "rest", [a, whole])
    signed = dtype in (onnx.TensorProto.INT8, onnx.TensorProto.INT16, onnx.TensorProto.INT32, onnx.TensorProto.INT64)
    if signed and not _general.attribute(region, "fmod", 0):
        if low < 9:
            return Decline(f"Where came with opset 9, and opset {low} has no Mod")
        zero = region.constant("zero", np.array(0, np.int64))
        sides = (region.layer("Less", "negative", [made, zero]), region.layer("Less", "divisor_negative", [b, zero]))
        unlike = region.layer("Xor", "unlike", sides)
        moved = region.layer("Where", "moved", [unlike, region.layer("Add", "sum", [made, b]), made])
        # nothing is left where the division goes through
        none = region.layer("Equal", "none", [made, zero])
        made = region.layer("Where", "mod", [none, made, moved])
    region.replace(made if dtype == wide else _layers.cast(region, "narrow", made, dtype))
    return None

"""Mod of floats with the sign of the divisor (fmod=0, from opset 28 on), from that with the sign of the dividend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Decline, Region

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)
_HALVES = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    dtype = region.facts.dtype(region.proto.input[0])
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

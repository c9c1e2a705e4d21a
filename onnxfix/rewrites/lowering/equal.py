"""Equal on floats (from opset 11): neither less nor greater, and no NaN.

`a + b` is NaN where either is, or where they are infinities of two signs, which are not equal either. Unsigned integers of 64 bits
are compared as signed ones, other integers in a wider type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    dtype = region.facts.dtype(region.proto.input[0])
    if low >= 11:
        return _general.lower(region, low)
    left, right = region.node.inputs
    if dtype == onnx.TensorProto.UINT64:
        signed = [_layers.cast(region, f"signed{slot}", x, onnx.TensorProto.INT64) for slot, x in enumerate((left, right))]
        region.replace(region.layer("Equal", "same", signed))
        return None
    if dtype in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16):
        wide = [_layers.cast(region, f"wide{slot}", x, onnx.TensorProto.FLOAT) for slot, x in enumerate((left, right))]
        region.replace(region.layer("Equal", "same", wide))
        return None
    if dtype not in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE):
        return _general.lower(region, low)
    if low < 9:
        return Decline(f"Equal does not take {_general.type_word(dtype)} in opset {low}, and IsNaN came with opset 9")
    less = region.layer("Less", "less", [left, right])
    greater = region.layer("Greater", "greater", [left, right])
    unlike = region.layer("Or", "unlike", [less, greater])
    nan = region.layer("IsNaN", "nan", [region.layer("Add", "sum", [left, right])])
    region.replace(region.layer("Not", "same", [region.layer("Or", "other", [unlike, nan])]))
    return None

"""TopK: k as an input (from opset 10) becomes an attribute; the smallest (from opset 11) are the largest of the negated data.

Ties go to the lower index in either form. Integers are negated and compared as doubles, which hold those of 32 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    if region.opset < 10 or low >= 11:
        return _general.lower(region, low)
    largest = _general.attribute(region, "largest", 1)
    if region.opset >= 11 and (not largest or facts.dtype(proto.input[0]) not in _FLOATS):
        return _as_largest(region, largest=bool(largest))
    axis = _general.attribute(region, "axis", -1)
    if axis < 0 and region.opset >= 11:
        rank = facts.rank(proto.input[0])
        if rank is None:
            return Decline("axis is negative and the rank of the data unknown")
        _general.set_attribute(region, "axis", axis % rank)
    _general.drop_attribute(region, "largest")
    _general.drop_attribute(region, "sorted")
    if low >= 10:
        return None
    numbers = facts.numbers(proto.input[1])
    if numbers is None:
        return Decline("k of TopK is computed at run time")
    del region.edited.input[1:]
    _general.set_attribute(region, "k", int(numbers.ravel()[0]))
    return None


def _as_largest(region: Region, *, largest: bool) -> Decline | None:
    dtype = region.facts.dtype(region.proto.input[0])
    if dtype in (onnx.TensorProto.INT64, onnx.TensorProto.UINT64, 0):
        return Decline(f"TopK on {region.facts.dtype_name(region.proto.input[0])} takes all 64 bits")
    data, k = region.node.inputs
    if dtype not in _FLOATS:
        data = _layers.cast(region, "wide", data, onnx.TensorProto.DOUBLE)
    if not largest:
        region.exact = dtype not in _FLOATS  # where NaN comes in the order is left open by ONNX
        data = region.layer("Neg", "negated", [data])
    axis = _general.attribute(region, "axis", -1)
    values, indices = region.layers("TopK", ["top", "indices"], [data, k], axis=axis)
    if not largest:
        values = region.layer("Neg", "values", [values])
    if dtype not in _FLOATS:
        values = _layers.cast(region, "narrow", values, dtype)
    region.replace(values, indices)
    return None

"""QuantizeLinear and DequantizeLinear: before opset 13 there is one scale for the whole tensor, and axis means nothing for one.

What the output is, where no zero point says so, is uint8 before opset 21.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    op = proto.op_type
    scale = facts.static_shape(proto.input[1])
    if scale is None:
        return Decline(f"the shape of the scale of {op} is unknown")
    single = math.prod(scale) == 1
    if not single and low < 13:
        return Decline(f"{op} has one scale for each index of an axis, which came with opset 13")
    if single and low < 13 and scale:
        return Decline(f"the scale of {op} is no scalar, as opset {low} wants it")
    if _general.attribute(region, "block_size", 0) and low < 21:
        return Decline(f"{op} has blocks, which came with opset 21")
    pointless = len(proto.input) < 3 or not proto.input[2]
    wanted = onnx.TensorProto.UINT8 if op == "QuantizeLinear" else onnx.TensorProto.FLOAT
    if low < 21 and pointless and facts.dtype(proto.output[0]) != wanted:
        return Decline(f"{op} gives {facts.dtype_name(proto.output[0])} without a zero point that says so")
    for name, since in (("output_dtype", 21), ("block_size", 21), ("saturate", 19), ("precision", 23)):
        if low < since:
            _general.drop_attribute(region, name)
    if single and low < 13:
        _general.drop_attribute(region, "axis")
    return _general.types(region, low)

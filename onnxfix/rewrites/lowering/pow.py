"""Pow: from opset 12 on the exponent may have another type than the base, and both may be integers.

The exponent is cast to the base's type where that is a float; powers of integers are computed in doubles, exact below 2**53.
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
    base, exponent = (region.facts.dtype(name) for name in region.proto.input)
    if low >= 12 or (base == exponent and base in _FLOATS):
        return _general.lower(region, low)
    if not base or not exponent:
        return Decline("the element types of Pow are unknown")
    region.exact = False
    wide = base if base in _FLOATS else onnx.TensorProto.DOUBLE
    inputs = [
        tensor if dtype == wide else _layers.cast(region, role, tensor, wide)
        for role, tensor, dtype in zip(("base", "exponent"), region.node.inputs, (base, exponent), strict=True)
    ]
    power = region.layer("Pow", "power", inputs)
    region.replace(power if base == wide else _layers.cast(region, "narrow", power, base))
    return None

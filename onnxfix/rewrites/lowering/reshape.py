"""Reshape: with allowzero (from opset 14) a 0 is a dimension without elements, not one of the data's.

Without a 0 in the shape that is the same. With one the result has no elements, so that it is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    if low >= 14 or not _general.attribute(region, "allowzero", 0):
        _general.drop_attribute(region, "allowzero")
        return _general.types(region, low)
    numbers = facts.numbers(proto.input[1])
    if numbers is None:
        return Decline("Reshape has allowzero=1 and a shape that is computed at run time")
    if 0 not in numbers:
        _general.drop_attribute(region, "allowzero")
        return _general.types(region, low)
    shape, dtype = facts.static_shape(proto.output[0]), facts.dtype(proto.output[0])
    if shape is None or not dtype:
        return Decline("Reshape has allowzero=1 and a 0 in its shape")
    empty = region.constant("empty", np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(dtype)))
    region.replace(empty)
    return None

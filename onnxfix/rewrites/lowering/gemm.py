"""Gemm: C may be left out from opset 11 on; below it is -0, which added changes no bit, not even the sign of zero."""

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
    proto = region.proto
    if low < 11 and (len(proto.input) < 3 or not proto.input[2]):
        dtype = region.facts.dtype(proto.input[0])
        if not dtype:
            return Decline("the element type of Gemm without C is unknown")
        declined = _general.types(region, low)
        if declined is not None or region.is_replaced:
            return declined
        zero = np.full(1, -0.0).astype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
        region.set_input(2, "zero", zero)
        _general.drop_attribute(region, "beta")
        return None
    return _general.lower(region, low)

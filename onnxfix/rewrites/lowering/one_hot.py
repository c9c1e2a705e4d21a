"""OneHot: before opset 11 a negative index is out of range instead of counted from the back, so that none may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if region.opset >= 11 > low:
        indices = region.facts.constant(region.proto.input[0])
        if indices is None or (indices < 0).any():
            return Decline("an index may be negative, which OneHot counts from the back from opset 11 on alone")
    return _general.lower(region, low)

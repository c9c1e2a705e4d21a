"""Reshape: the same before opset 14 unless allowzero is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering._general import drop_attribute

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if any(attribute.name == "allowzero" and attribute.i for attribute in region.proto.attribute):
        return Decline("Reshape has allowzero=1")
    drop_attribute(region, "allowzero")
    return None

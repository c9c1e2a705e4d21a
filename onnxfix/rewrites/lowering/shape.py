"""Shape: start and end (from opset 15) become a Slice of the whole shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites import _layers
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Decline, Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    start, end = _general.attribute(region, "start", 0), _general.attribute(region, "end", None)
    if low >= 15 or (not start and end is None):
        return _general.lower(region, low)
    whole = region.layer("Shape", "whole", [region.node.inputs[0]])
    region.replace(_layers.slice_(region, "part", whole, [0], [start], [_layers.TO_THE_END if end is None else end]))
    return None

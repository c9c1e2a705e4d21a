"""RoiAlign: before opset 16 it took the coordinates that are called output_half_pixel from there on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if low >= 16 or region.opset < 16:
        return _general.lower(region, low)
    mode = _general.attribute(region, "coordinate_transformation_mode", "half_pixel")
    if mode != "output_half_pixel":
        return Decline(f"RoiAlign takes {mode} coordinates, which came with opset 16")
    _general.drop_attribute(region, "coordinate_transformation_mode")
    return _general.types(region, low)

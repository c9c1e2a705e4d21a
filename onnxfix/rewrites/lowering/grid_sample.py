"""GridSample: opset 20 gave its modes other names, and more than two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

_OLD_NAMES = {"linear": "bilinear", "cubic": "bicubic"}


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if region.opset >= 20 > low >= 16:
        if region.facts.rank(region.proto.input[0]) != 4:
            return Decline(f"GridSample takes rank 4 alone in opset {low}")
        mode = _general.attribute(region, "mode", "linear")
        _general.set_attribute(region, "mode", _OLD_NAMES.get(mode, mode))
    return _general.lower(region, low)

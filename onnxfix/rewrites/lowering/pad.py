"""Pad: pads and value as inputs (from opset 11) become attributes; they must be constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if region.opset < 11 or low >= 11:
        return _general.lower(region, low)
    proto, facts = region.proto, region.facts
    if any(attribute.name == "pads" for attribute in proto.attribute):
        return None  # torch 1.3 writes the old form at opset 11, where it is invalid; in the old opset it is right
    if facts.dtype_name(proto.input[0]) not in ("FLOAT", "FLOAT16", "DOUBLE"):
        return Decline(f"Pad takes no {facts.dtype_name(proto.input[0])} in opset {low}")
    mode = next((attribute.s.decode() for attribute in proto.attribute if attribute.name == "mode"), "constant")
    pads = facts.numbers(proto.input[1])
    if pads is None or (len(proto.input) > 3 and proto.input[3]):
        return Decline("pads of Pad are computed at run time, or given for some axes only")
    if mode == "wrap":
        return Decline(f"Pad has no mode wrap in opset {low}")
    value = 0.0
    if len(proto.input) > 2 and proto.input[2]:
        given = facts.constant(proto.input[2])
        if given is None:
            return Decline("value of Pad is computed at run time")
        value = float(np.ravel(given)[0])
    del region.edited.input[1:]
    _general.set_attribute(region, "pads", [int(item) for item in pads])
    if value and mode == "constant":
        _general.set_attribute(region, "value", value)
    return None

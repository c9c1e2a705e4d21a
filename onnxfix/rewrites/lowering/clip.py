"""Clip: bounds as inputs (from opset 11) become attributes; they must be constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    if low >= 11 or region.opset < 11:
        return _general.lower(region, low)
    if facts.dtype_name(proto.input[0]) not in ("FLOAT", "FLOAT16", "DOUBLE"):
        return Decline(f"Clip takes no {facts.dtype_name(proto.input[0])} in opset {low}")
    bounds = {}
    for slot, name in ((1, "min"), (2, "max")):
        if slot < len(proto.input) and proto.input[slot]:
            value = facts.constant(proto.input[slot])
            if value is None or value.size != 1:
                return Decline(f"{name} of Clip is computed at run time")
            bounds[name] = float(np.ravel(value)[0])
    if len(bounds) == 2 and bounds["min"] > bounds["max"]:
        return Decline("min of Clip is above max, which opset 6 does not define")
    del region.edited.input[1:]
    for name, bound in bounds.items():
        _general.set_attribute(region, name, bound)
    return None

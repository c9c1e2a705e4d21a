"""Clip: bounds as inputs (from opset 11) become attributes; they must be constants.

An absent bound is the largest number of the element type, but as an attribute that of float32: for halves it is written out (but
for those of opset 11, which onnxruntime clips in float32), and doubles need both bounds, in numbers that are float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

LARGEST_HALF = 65504.0


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
        elif facts.dtype_name(proto.input[0]) == "FLOAT16" and region.opset >= 12:
            bounds[name] = LARGEST_HALF if name == "max" else -LARGEST_HALF
    held = len(bounds) == 2 and all(bound == float(np.float32(bound)) for bound in bounds.values())
    if facts.dtype_name(proto.input[0]) == "DOUBLE" and not held:
        return Decline(f"the bounds of Clip on doubles are no float32 attributes of opset {low}")
    if len(bounds) == 2 and bounds["min"] > bounds["max"]:
        return Decline("min of Clip is above max, which opset 6 does not define")
    del region.edited.input[1:]
    for name, bound in bounds.items():
        _general.set_attribute(region, name, bound)
    return None

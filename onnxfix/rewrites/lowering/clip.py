"""Clip: bounds as inputs (from opset 11) become attributes, where they are constants that float32 holds; else Max and Min.

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
_FLOATS = ("FLOAT", "FLOAT16", "DOUBLE")


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    kind = facts.dtype_name(proto.input[0])
    if region.opset < 11 or low >= 12 or (low == 11 and kind in _FLOATS):
        return _general.lower(region, low)
    if kind not in _FLOATS:
        return _as_extremes(region, f"Clip takes no {kind} in opset {low}")
    bounds = {}
    for slot, name in ((1, "min"), (2, "max")):
        if slot < len(proto.input) and proto.input[slot]:
            value = facts.constant(proto.input[slot])
            if value is None or value.size != 1:
                return _as_extremes(region, f"{name} of Clip is computed at run time")
            bounds[name] = float(np.ravel(value)[0])
        elif kind == "FLOAT16" and region.opset >= 12:
            bounds[name] = LARGEST_HALF if name == "max" else -LARGEST_HALF
    held = len(bounds) == 2 and all(bound == float(np.float32(bound)) for bound in bounds.values())
    if kind == "DOUBLE" and not held:
        return _as_extremes(region, f"the bounds of Clip on doubles are no float32 attributes of opset {low}")
    if len(bounds) == 2 and bounds["min"] > bounds["max"]:
        return _as_extremes(region, "min of Clip is above max, which opset 6 does not define")
    del region.edited.input[1:]
    for name, bound in bounds.items():
        _general.set_attribute(region, name, bound)
    return None


def _as_extremes(region: Region, why: str) -> Decline | None:
    """Min(Max(x, min), max), as opset 13 defines it; `why` where that does not do."""
    if region.opset < 12:
        return Decline(why)
    kind = region.facts.dtype_name(region.proto.input[0])
    if kind in ("?", "BFLOAT16"):
        return Decline(why)
    region.exact = kind not in _FLOATS  # of NaN runtimes make either
    made = region.node.inputs[0]
    for slot, op in ((1, "Max"), (2, "Min")):
        bound = region.node.inputs[slot] if slot < len(region.node.inputs) else None
        if bound is not None and not bound.is_empty():
            made = region.layer(op, op.lower(), [made, bound])
    region.replace(made)
    return None

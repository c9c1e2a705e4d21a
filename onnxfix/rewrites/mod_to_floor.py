"""Mod of floats as a - b * Floor(a / b), with fmod=1 the quotient truncated instead.

Where a / b rounds up to a whole number the result is off by b, and beyond 2**22 the quotient has no fraction: hence approximate.
Guard: finite, no divisor of 0. The same bits over 1 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import float_kind
from onnxfix.rewrites._layers import clip
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    if not region.node.attrs.get("fmod", 0) and region.opset < 28:
        return Decline("before opset 28 Mod of floats needs fmod=1")
    a, b = region.node.inputs
    quotient = region.layer("Div", "quotient", [a, b])
    if region.node.attrs.get("fmod", 0):
        up = region.layer("Ceil", "positive", [clip(region, "positive01", quotient, 0.0, 1.0, kind)])
        down = region.layer("Floor", "negative", [clip(region, "negative01", quotient, -1.0, 0.0, kind)])
        size = region.layer("Floor", "size", [region.layer("Abs", "magnitude", [quotient])])
        whole = region.layer("Mul", "whole", [region.layer("Add", "sign", [up, down]), size])
    else:
        whole = region.layer("Floor", "whole", [quotient])
    region.replace(region.layer("Sub", "rest", [a, region.layer("Mul", "multiple", [b, whole])]))
    return None

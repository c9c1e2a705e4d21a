"""Shrink by floats of 0 and 1: above * (x - bias) + below * (x + bias), where above is Ceil(Clip(x - lambd, 0, 1)).

The difference of two floats is 0 only where they are equal, so the ceiling of what Clip leaves of it says which is larger. Guard:
finite data. The same bits over 11 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import float_kind, number
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
    bound, bias = float(region.node.attrs.get("lambd", 0.5)), float(region.node.attrs.get("bias", 0.0))
    x = region.node.inputs[0]
    limit, shift = number(region, "lambd", bound, kind), number(region, "bias", bias, kind)
    over = region.layer("Sub", "over", [x, limit])
    under = region.layer("Sub", "under", [number(region, "negative", -bound, kind), x])
    above = region.layer("Ceil", "above", [clip(region, "above01", over, 0.0, 1.0, kind)])
    below = region.layer("Ceil", "below", [clip(region, "below01", under, 0.0, 1.0, kind)])
    high = region.layer("Mul", "high", [above, region.layer("Sub", "lowered", [x, shift])])
    low = region.layer("Mul", "low", [below, region.layer("Add", "raised", [x, shift])])
    region.replace(region.layer("Add", "sum", [high, low]))
    return None

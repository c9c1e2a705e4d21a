"""IsInf as x beyond the largest finite number, on the sides that the node asks for.

The same bits for every value. The same bits over 6 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, number
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
    attrs, x = region.node.attrs, region.node.inputs[0]
    largest = float(np.finfo(kind).max)
    sides = []
    if attrs.get("detect_positive", 1):
        sides.append(region.layer("Greater", "positive", [x, number(region, "largest", largest, kind)]))
    if attrs.get("detect_negative", 1):
        sides.append(region.layer("Less", "negative", [x, number(region, "lowest", -largest, kind)]))
    if not sides:
        return Decline("it detects neither infinity")
    region.replace(region.layer("Or", "either", sides) if len(sides) > 1 else sides[0])
    return None

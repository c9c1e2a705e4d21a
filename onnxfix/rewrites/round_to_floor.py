"""Round, half to even, by Floor and floats of 0 and 1 that say which side of the middle a value lies on.

floor + above + tie * odd, where above is Ceil(Clip(fraction - 1/2, 0, 1)), tie is 1 where the fraction is 1/2, and odd is floor
modulo 2. Guard: finite data. The same bits over 3 cases.
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
    x = region.node.inputs[0]
    half, one = number(region, "half", 0.5, kind), number(region, "one", 1.0, kind)
    floor = region.layer("Floor", "floor", [x])
    fraction = region.layer("Sub", "fraction", [x, floor])
    over = clip(region, "over01", region.layer("Sub", "over", [fraction, half]), 0.0, 1.0, kind)
    under = clip(region, "under01", region.layer("Sub", "under", [half, fraction]), 0.0, 1.0, kind)
    above, below = region.layer("Ceil", "above", [over]), region.layer("Ceil", "below", [under])
    tie = region.layer("Sub", "tie", [region.layer("Sub", "not_above", [one, above]), below])
    halved = region.layer("Floor", "pairs", [region.layer("Mul", "halved", [floor, half])])
    even = region.layer("Mul", "even", [halved, number(region, "two", 2.0, kind)])
    odd = region.layer("Sub", "odd", [floor, even])
    more = region.layer("Add", "more", [above, region.layer("Mul", "odd_tie", [tie, odd])])
    region.replace(region.layer("Add", "rounded", [floor, more]))
    return None

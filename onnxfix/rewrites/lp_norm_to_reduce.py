"""LpNormalization as x over ReduceL1 or ReduceL2 of it, where that is 0 over 1.

Source: LpNormalization-22 says that a norm of 0 gives 0; before, nothing was said, and onnxruntime gives 0. Guard: the rank is
known. The same bits over 24 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import float_kind, number
from onnxfix.rewrites._layers import clip, reduce
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
    rank = facts.rank(region.proto.input[0])
    if not rank:
        return Decline("the rank of the data is unknown")
    axis = int(region.node.attrs.get("axis", -1)) % rank
    op = "ReduceL1" if int(region.node.attrs.get("p", 2)) == 1 else "ReduceL2"
    x = region.node.inputs[0]
    norm = reduce(region, op, "norm", x, [axis])
    some = region.layer("Ceil", "some", [clip(region, "norm01", norm, 0.0, 1.0, kind)])
    none = region.layer("Sub", "none", [number(region, "one", 1.0, kind), some])
    region.replace(region.layer("Div", "normal", [x, region.layer("Add", "divisor", [norm, none])]))
    return None

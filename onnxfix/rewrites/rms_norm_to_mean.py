"""RMSNormalization as x / Sqrt(ReduceMean(x*x) + epsilon) * scale; half precision in float32, as stash_type says.

Source: the function body of RMSNormalization-23. Guard: the rank is known. Largest error over 2 cases: 9e-08 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import number
from onnxfix.rewrites._layers import reduce
from onnxfix.rewrites._normal import narrowed, normal_kind, widened
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = normal_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    inputs, attrs = region.proto.input, region.node.attrs
    rank = facts.rank(inputs[0])
    if rank is None:
        return Decline("the rank of the data is unknown")
    axis = int(attrs.get("axis", -1)) % max(rank, 1)
    data = widened(region, facts, region.node.inputs[0], inputs[0])
    mean = reduce(region, "ReduceMean", "mean", region.layer("Mul", "square", [data, data]), range(axis, rank))
    raised = region.layer("Add", "raised", [mean, number(region, "epsilon", float(attrs.get("epsilon", 1e-5)), kind)])
    normal = region.layer("Div", "normal", [data, region.layer("Sqrt", "root", [raised])])
    region.replace(region.layer("Mul", "scaled", [narrowed(region, facts, normal), region.node.inputs[1]]))
    return None

"""SkipLayerNormalization of onnxruntime as Add and a normalisation over the last axis.

Gives the sum too where it is read. Source: onnxruntime, docs/ContribOperators.md. Guard: the rank is known. Largest error over 6
cases: 1e-07 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import is_read
from onnxfix.rewrites._normal import narrowed, normal_kind, normalised, widened
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
    names, inputs = region.proto.input, region.node.inputs
    rank = facts.rank(names[0])
    if not rank:
        return Decline("the rank of the data is unknown")
    if any(is_read(facts, name) for name in region.proto.output[1:3]):
        return Decline("mean or deviation are read")
    total = region.layer("Add", "sum", [inputs[0], inputs[1]])
    if len(names) > 4 and names[4]:
        total = region.layer("Add", "biased", [total, inputs[4]])
    wide = widened(region, facts, total, names[0])
    epsilon = float(region.node.attrs.get("epsilon", 1e-12))
    normal = normalised(region, wide, [rank - 1], epsilon, kind)[0]
    made = region.layer("Mul", "scaled", [narrowed(region, facts, normal), inputs[2]])
    if len(names) > 3 and names[3]:
        made = region.layer("Add", "shifted", [made, inputs[3]])
    outputs = region.proto.output
    region.replace(made, None, None, total if len(outputs) > 3 and is_read(facts, outputs[3]) else None)
    return None

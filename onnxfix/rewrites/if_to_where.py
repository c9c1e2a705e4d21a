"""An If whose condition an input decides: both branches are computed, and Where takes the outputs of the right one.

Guard: both branches give the same types and shapes, draw no random numbers, hold no Loop, Scan or If, and are small; what is left
out costs the same as what is taken. Bit-equal over 12 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.model.opsets import RANDOM
from onnxfix.rewrites._body import Unrolled, refused_body
from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    import onnx

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MAX_NODES = 500
# What may not run where it is not asked for.
BARRED = RANDOM | {"If", "Loop", "Scan"}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Change | Decline:
    """See the module."""
    proto = region.proto
    if facts.is_constant(proto.input[0]):
        return Decline("the condition is a constant", plain=True)
    rank = facts.rank(proto.input[0])
    if rank is None:
        return Decline("the rank of the condition is unknown")
    branches = {attribute.name: attribute.g for attribute in proto.attribute}
    for branch in branches.values():
        declined = refused_body(branch) or _barred(branch)
        if declined is not None:
            return declined
    ranks = []
    scopes = facts.scope.nodes_by_index[region.index].subgraphs.values()
    for position, name in enumerate(proto.output):
        # what the branches give, not what the model declares for the two of them
        shapes = {facts.inner(scope).shape(scope.outputs[position]) for scope in scopes}
        shape = shapes.pop()
        if shapes or not name or shape is None or not facts.dtype(name):
            return Decline("its branches give another shape or type each, or one that is not known")
        ranks.append(len(shape))
    if rank and min(ranks) < rank:
        return Decline("the condition has more axes than an output")
    unrolled = Unrolled(region)
    taken = {name: unrolled.copy(branch, {}, f"{name.partition('_')[0]}/") for name, branch in branches.items()}
    chosen = [
        unrolled.node("Where", f"chosen{position}", [proto.input[0], *pair])
        for position, pair in enumerate(zip(taken["then_branch"], taken["else_branch"], strict=True))
    ]
    return unrolled.change(chosen)


def _barred(branch: onnx.GraphProto) -> Decline | None:
    if len(branch.node) > MAX_NODES:
        return Decline(f"a branch has {len(branch.node)} nodes; {MAX_NODES} are the most that are computed in vain")
    barred = sorted({node.op_type for node in branch.node} & BARRED)
    return Decline(f"a branch holds {barred[0]}") if barred else None

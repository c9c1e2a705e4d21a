"""A tensor without elements that a Concat joins: the Concat goes on without it.

Guard: every reader is a Concat that has another operand, and its axis is the empty one. The same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    name = region.proto.output[0]
    shape = facts.shape(name)
    if shape is None or 0 not in shape:
        return Decline("its result has elements", plain=True)
    if name in facts.scope.outputs:
        return Decline("its result is an output of the graph")
    changes = {}
    for node, slot in facts.scope.consumers.get(name, ()):
        if node.scope is not facts.scope or slot < 0 or node.op_type != "Concat" or node.domain:
            return Decline("other nodes than Concat read its result")
        axis = int(node.attr("axis", 1)) % len(shape)
        if shape[axis] != 0 or all(item == name for item in node.inputs):
            return Decline("the Concat joins nothing else, or along another axis")
        here = region.beside(node.proto, node.index)
        kept = [item for item in node.inputs if item != name]
        del here.edited.input[:]
        here.edited.input.extend(kept)
        changes[node.index] = here.change()
    return list(changes.values()) or Decline("nothing reads its result")

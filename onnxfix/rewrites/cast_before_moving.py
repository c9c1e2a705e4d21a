"""A Cast of what was only moved goes before the moves: to the Cast or the constant that the data comes from.

A release that casts nothing can then do without: a constant is stored in the other type, and of two Casts one is left where the
type between them holds all that the data has. Asked of the first of the two it moves those behind it. Guard: between the two there
are only Transpose, Reshape and their kind, with constant parameters, or a Gather from a constant. The same bits over 9 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import MOVES
from onnxfix.rewrites._layers import cast
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites.cast_chain import HOLDS

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    answer = _move(region, facts)
    if answer is None:
        return [region.change()]
    changes = []
    for node in _later(facts, region.proto.output[0]):
        behind = region.beside(node.proto, node.index)
        if _move(behind, facts) is None:
            changes.append(behind.change())
    return changes or answer


def _later(facts: ScopeFacts, name: str) -> list[Node]:
    """The Casts that read the value after it was moved."""
    found: dict[int, Node] = {}
    waiting = [name]
    while waiting:
        for node, slot in facts.scope.consumers.get(waiting.pop(), ()):
            if node.scope is not facts.scope or node.domain or slot != 0:
                continue
            if node.op_type == "Cast":
                found[node.index] = node
            elif node.op_type in MOVES:
                waiting.append(node.outputs[0])
    return list(found.values())


def _move(region: Region, facts: ScopeFacts) -> Decline | None:
    moves = []
    name = region.proto.input[0]
    while True:
        maker = facts.scope.producers.get(name)
        if maker is None or maker.domain or maker.op_type not in MOVES:
            break
        moves.append(maker)
        if maker.op_type == "Gather" and facts.is_constant(maker.input(0)):
            name = maker.input(0)
            break
        if not all(facts.is_constant(item) for item in maker.inputs[1:] if item):
            return Decline(f"the parameters of {maker.op_type} before it are computed at run time")
        name = maker.input(0)
    if not moves:
        return Decline("nothing was moved before it", plain=True)
    if not facts.is_constant(name) and (maker is None or maker.op_type != "Cast"):
        return Decline("the data comes from no Cast", plain=True)
    if maker is not None and maker.op_type == "Cast" and facts.dtype(name) in HOLDS.get(facts.dtype(maker.input(0)), ()):
        name = maker.input(0)
    made: gs.Tensor = cast(region, "before", region.outer(name), region.node.attrs["to"])
    for number, node in enumerate(reversed(moves)):
        others = [region.outer(item) if item else region.absent for item in node.inputs[1:]]
        attrs = region.beside(node.proto, node.index).node.attrs
        made = region.layer(node.op_type, f"moved_{number}", [made, *others], **attrs)
    region.replace(made)
    return None

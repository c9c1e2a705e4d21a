"""What moves, cuts, joins or reduces the batch axis, with another axis of size 1 before it.

A release with an implicit batch has no axis 0. Where all sizes are fixed and the batch is 1, the node and those around it whose
data does not begin with an axis of 1 work on data with one more axis in front: `[6, 1, 16]` becomes `[1, 6, 1, 16]`, which a
Reshape makes of a plain value that begins with 1, and back. Guard: every size is static, every node of the region has such a form
(`_lifted`), and nothing enters or leaves the region but constants and values whose axis 0 is 1.

The same elements go through the same operators; only Gemm becomes MatMul and Add. Largest error over 61 cases: 2e-07 of the largest
value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import VARIADIC_BROADCASTS
from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._lifted import FORMS, SHAPES, Lifted, works_on_batch
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._region import Change, Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    if region.opset < VARIADIC_BROADCASTS:
        return Decline(f"operators do not broadcast before opset {VARIADIC_BROADCASTS}")
    if all(facts.is_constant(name) for name in region.proto.input if name):
        return Decline("it works on constants", plain=True)
    start = facts.scope.nodes_by_index[region.index]
    if start.op_type in FORMS and not works_on_batch(facts, region.proto):
        return Decline("it leaves the batch axis alone", plain=True)
    members = members_of(facts, start)
    return members if isinstance(members, Decline) else lift(region, facts, members)


def lift(region: Region, facts: ScopeFacts, members: dict[int, Node], through: Iterable[str] = ()) -> list[Change] | Decline:
    """The changes that lift some nodes; `through` are inputs and outputs of the graph that have the axis themselves."""
    made: dict[str, str] = {name: name for name in through}
    changes = []
    for node in facts.scope.nodes:
        if node.index not in members:
            continue
        beside = region.beside(node.proto, node.index)
        lifted = Lifted(beside, facts, made)
        alone = node.outputs[0] not in made and not _is_read(facts, node.outputs[0], members, inside=True)
        if node.op_type in SHAPES and alone:
            beside.replace(reshape(beside, "plain", lifted.source(0), facts.static_shape(node.outputs[0]) or ()))
            changes.append(beside.change())
            continue
        outputs = FORMS[node.op_type](lifted)
        if isinstance(outputs, Decline):
            return outputs
        plain = [
            tensor
            if name in made
            else reshape(beside, f"plain_{number}" if number else "plain", tensor, facts.static_shape(name) or ())
            if name and _is_read(facts, name, members, inside=False)
            else None
            for number, (name, tensor) in enumerate(zip(node.outputs, outputs, strict=True))
        ]
        for name, tensor in zip(node.outputs, outputs, strict=True):
            if name:
                made.setdefault(name, tensor.name)
        if any(tensor is not None for tensor in plain):
            beside.replace(*plain)
        else:
            beside.drop(*outputs)
        changes.append(beside.change())
    return changes


def members_of(facts: ScopeFacts, start: Node, through: dict[str, None] | None = None) -> dict[int, Node] | Decline:
    """The nodes that have to be lifted together, by their places.

    Inputs and outputs of the graph that do not begin with 1 go into `through`, where it is given; else they are in the way.
    """
    members: dict[int, Node] = {}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node.index in members:
            continue
        members[node.index] = node
        if node.domain or node.op_type not in FORMS:
            return Decline(f"{node.op_type} beside it has no form with an axis of 1 before the batch")
        # what the model declares for its outputs is no proof of what is computed
        if node.op_type in SHAPES and node.input(1) and facts.numbers(node.input(1)) is None:
            return Decline(
                f"the {'shape' if node.op_type == 'Reshape' else 'list of axes'} of {node.op_type} is computed at run time"
            )
        for name in dict.fromkeys(filter(None, (*node.inputs, *node.outputs))):
            made_here = name in node.outputs
            if not made_here and facts.is_constant(name):
                continue
            shape = facts.static_shape(name)
            if shape is None:
                return Decline(f"the shape of {name} is dynamic")
            if shape and shape[0] == 1:
                continue
            given = not made_here and name not in facts.scope.producers
            if given or (made_here and name in facts.scope.outputs):
                if through is None or not shape:
                    what = name if given else f"output {name} of the graph"
                    return Decline(f"{what} does not begin with {'a' if given else 'the'} batch of 1")
                through[name] = None
            readers = [consumer for consumer, _ in facts.scope.consumers.get(name, ())]
            others = readers if made_here or given else [facts.scope.producers[name]]
            if any(other.scope is not facts.scope for other in others):
                return Decline("a subgraph reads what is computed here")
            waiting.extend(others)
    return members


def _is_read(facts: ScopeFacts, name: str, members: dict[int, Node], *, inside: bool) -> bool:
    """Whether a node that is lifted reads the value (`inside`), or something else does."""
    readers = [node for node, _ in facts.scope.consumers.get(name, ())]
    theirs = [node.scope is facts.scope and node.index in members for node in readers]
    return any(theirs) if inside else name in facts.scope.outputs or not all(theirs)

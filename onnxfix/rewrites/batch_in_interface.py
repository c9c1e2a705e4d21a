"""A batch of 1 before the first axis of inputs and outputs, and of all that works on that axis between.

A release with an implicit batch takes axis 0 of every input for the batch and keeps it, so that a sequence whose first axis is
time, or an output that begins with another axis, has no form. The elements lie in memory as before: `[T, 1, C]` is given as
`[1, T, 1, C]`. A change of the interface, so only with consent. Guard: that of batch_of_one, whose forms the nodes between have;
the inputs and outputs that get the axis have static shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._edit import apply_changes, forget_declared
from onnxfix.rewrites._lifted import FORMS, lifted_shape
from onnxfix.rewrites._region import Decline, Region
from onnxfix.rewrites.batch_of_one import lift, members_of

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._passes import Edit, Request
    from onnxfix.rewrites._region import Change, Names


def check(request: Request) -> Decline | None:
    """Why the pass does not serve; None where it does."""
    found = _reached(request)
    return found if isinstance(found, Decline) else None


def run(model: onnx.ModelProto, request: Request, edit: Edit) -> Decline | None:
    """Change the model."""
    found = _reached(request)
    if isinstance(found, Decline):
        return found
    members, through = found
    main = request.facts.view.main
    facts = request.facts.of(main)
    changes = _lifted(facts, members, through, edit.names)
    if isinstance(changes, Decline):
        return changes
    apply_changes(model, [(change, edit.code) for change in changes], edit.log)
    for value in (*model.graph.input, *model.graph.output):
        if value.name in through:
            shape = lifted_shape([int(dim) for dim in facts.static_shape(value.name) or ()])
            kind, words = value.type.tensor_type.elem_type, value.doc_string
            value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, kind, shape, doc_string=words))
    forget_declared(model.graph, through)
    return None


def _reached(request: Request) -> tuple[dict[int, Node], dict[str, None]] | Decline:
    """The nodes to lift, and the inputs and outputs that they reach."""
    if not any(target.implicit_batch for target in request.targets):
        return Decline("the release has a batch axis", plain=True)
    main = request.facts.view.main
    facts = request.facts.of(main)
    members: dict[int, Node] = {}
    through: dict[str, None] = {}
    for node in main.nodes:
        if node.op_type not in FORMS or not set(node.outputs) & set(request.values) or node.index in members:
            continue
        found = members_of(facts, node, through)
        if isinstance(found, Decline):
            return found
        members.update(found)
    if not through:
        return Decline("no input or output is in the way", plain=True)
    for name in through:
        if name in main.inputs and name in main.outputs:
            return Decline(f"{name} is an input and an output")
    return members, through


def _lifted(facts: ScopeFacts, members: dict[int, Node], through: dict[str, None], names: Names) -> list[Change] | Decline:
    first = next(iter(members.values()))
    region = Region(first.proto, first.scope.path, first.index, facts, first.scope.opsets, names)
    return lift(region, facts, members, through)

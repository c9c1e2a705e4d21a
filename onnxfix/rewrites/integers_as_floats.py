"""Integers that are only moved between inputs and outputs of the model, as floats, where the release cannot move integers.

A change of the interface, so only with consent: a caller gives and gets floats in place of integers. What is moved together gets
one type together, by Concat, Split and what moves a single value, from the model's inputs and constants to its outputs or to Casts
to FLOAT. Guard: nothing else makes or reads the values; constants are below 2^24, as a float holds whole numbers up to there. The
proof gives both models the same numbers, each in its type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._edit import forget_declared
from onnxfix.rewrites._forms import EXACT_FLOATS, INTEGERS, MOVES
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node, Scope
    from onnxfix.rewrites._passes import Edit, Request

_T = onnx.TensorProto


@dataclass(slots=True)
class _Moved:
    """Values that have one element type together, and who moves them."""

    values: dict[str, None] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)


def check(request: Request) -> Decline | None:
    """Why the pass does not serve; None where it does."""
    main = request.facts.view.main
    found = _together(main, request.facts.of(main), request.values)
    if isinstance(found, Decline):
        return found
    for name in found.values:
        wanted = [target.output_types if name in main.outputs else target.input_types for target in request.targets]
        if any("FLOAT" not in types for types in wanted):
            return Decline("the release has no floats there")
    return None


def run(model: onnx.ModelProto, request: Request, edit: Edit) -> Decline | None:
    """Change the model."""
    main = edit.view.main
    facts = request.facts.of(request.facts.view.main)
    found = _together(main, facts, request.values)
    if isinstance(found, Decline):
        return found
    renamed: dict[str, str] = {}
    for value in (*model.graph.input, *model.graph.output):
        if value.name in found.values:
            value.type.tensor_type.elem_type = _T.FLOAT
            renamed[value.name] = value.name
    for name in found.values:
        tensor = main.initializers.get(name)
        if tensor is not None:
            array = onnx.numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, name))
        elif name not in renamed:
            renamed[name] = edit.names.free(f"{name}/float", set())
    for node in found.nodes.values():
        edit.touch(main, node.proto)
        for names in (node.proto.input, node.proto.output):
            for position, name in enumerate(names):
                names[position] = renamed.get(name, name)
        if node.op_type == "Constant":
            floats = np.asarray(facts.constant(node.outputs[0]), np.float32)
            del node.proto.attribute[:]
            node.proto.attribute.append(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(floats)))
    forget_declared(model.graph, found.values)
    return None


def _together(main: Scope, facts: ScopeFacts, names: tuple[str, ...]) -> _Moved | Decline:
    """All that has to become floats with the named values, those that no node moves left out."""
    found = _Moved()
    waiting = [name for name in names if facts.dtype(name) in INTEGERS and (name in main.producers or main.consumers.get(name))]
    waiting = [name for name in waiting if any(_moves(node, slot) for node, slot in main.consumers.get(name, ()))] or waiting[:1]
    while waiting:
        name = waiting.pop()
        if name in found.values:
            continue
        found.values[name] = None
        maker = main.producers.get(name)
        readers = main.consumers.get(name, ())
        stored = name in main.initializers or (maker is not None and maker.op_type == "Constant")
        if stored and _too_large(facts, name):
            return Decline(f"{name} is beyond 2^24")
        if maker is None and not stored and name not in main.inputs:
            return Decline(f"nothing makes {name}")
        if maker is not None:
            if not stored and (maker.op_type == "Cast" or not _moves(maker, 0)):
                return Decline(f"{maker.op_type} makes {name}, and integers of it")
            found.nodes[maker.index] = maker
            waiting.extend(item for slot, item in enumerate(maker.inputs) if item and _moves(maker, slot))
            waiting.extend(maker.outputs)
        for node, slot in readers:
            if node.scope is not main or not _moves(node, slot):
                return Decline(f"{node.op_type} reads {name}, and wants integers")
            found.nodes[node.index] = node
            if node.op_type != "Cast":
                waiting.extend(item for place, item in enumerate(node.inputs) if item and _moves(node, place))
                waiting.extend(node.outputs)
    return found


def _moves(node: Node, slot: int) -> bool:
    """Whether the node only moves what it reads there, or makes floats of it anyway."""
    if node.domain:
        return False
    if node.op_type == "Cast":
        return bool(node.attr("to") == _T.FLOAT)
    return node.op_type == "Concat" or (slot == 0 and (node.op_type in MOVES or node.op_type == "Split"))


def _too_large(facts: ScopeFacts, name: str) -> bool:
    array = facts.constant(name)
    return array is None or bool(np.abs(array).max(initial=0) >= EXACT_FLOATS)

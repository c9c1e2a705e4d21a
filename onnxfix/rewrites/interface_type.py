"""Declare an input or output of the model in an element type that the release has.

A change of the interface, so only with consent: a caller has to give floats in place of doubles or bytes, or gets them. Inside, a
Cast brings the old type back. An input of bytes, integers or booleans that is only moved on its way to Casts to FLOAT becomes FLOAT
itself, and one that is moved to where indices go becomes INT32; no Cast is needed then. On a release with an implicit batch, which
casts no integers, one that Casts to BOOL read becomes FLOAT too: a whole number is 0 where its float is. An output that a Cast
makes is cast to the new type at once, unless it is a boolean: what the old type would have wrapped stays as it is. The proof gives
both models the same numbers, each in its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._edit import forget_declared
from onnxfix.rewrites._forms import MOVES
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.model.view import Node, Scope
    from onnxfix.rewrites._passes import Edit, Request
    from onnxfix.targets import Target

_T = onnx.TensorProto
# What may stand for a type, in order of preference: the first holds all or most of its numbers.
STANDS_FOR = {
    "DOUBLE": ("FLOAT",),
    "BFLOAT16": ("FLOAT",),
    "FLOAT16": ("FLOAT",),
    "INT64": ("INT32", "FLOAT"),
    "UINT64": ("INT64", "INT32"),
    "UINT32": ("INT64", "INT32"),
    "INT16": ("INT32", "FLOAT"),
    "UINT16": ("INT32", "FLOAT"),
    "INT8": ("INT32", "FLOAT"),
    "UINT8": ("INT32", "FLOAT"),
    "BOOL": ("INT32", "FLOAT"),
}
INTEGERS = {"INT64", "INT16", "UINT16", "INT8", "UINT8", "BOOL"}
# Where indices of either integer type go.
INDICES = {("Gather", 1), ("GatherElements", 1), ("ScatterElements", 1), ("OneHot", 0)}


def check(request: Request) -> Decline | None:
    """Why the pass does not serve; None where it does."""
    main = request.facts.of(request.facts.view.main)
    view = request.facts.view.main
    for name in request.values:
        if name in view.outputs and name not in view.producers and name not in view.inputs:
            return Decline(f"output {name} is a constant, which no node makes")
        if not _candidates(main.dtype_name(name), name in request.facts.view.main.outputs, request.targets):
            return Decline(f"no element type that the release has stands for {main.dtype_name(name)}")
    return None


def run(model: onnx.ModelProto, request: Request, edit: Edit) -> Decline | None:
    """Change the model."""
    main, facts = edit.view.main, request.facts.of(request.facts.view.main)
    inputs = {value.name: value for value in model.graph.input}
    outputs = {value.name: value for value in model.graph.output}
    taken: set[str] = set()
    for name in request.values:
        old = facts.dtype_name(name)
        kinds = _candidates(old, name in outputs, request.targets)
        if name in outputs and name not in inputs:
            # releases without boolean outputs have no booleans at all: there truth is 0 and 1 in floats
            kind = "FLOAT" if old == "BOOL" and "FLOAT" in kinds else kinds[0]
            _retype_output(main, outputs[name], old, kind, edit, taken)
            continue
        moved, ends = _moved(main, name)
        if old in INTEGERS and "FLOAT" in kinds and all(_casts_to_float(node, request.targets) for node, _ in ends):
            kind = "FLOAT"
        elif "INT32" in kinds and all(node.op_type == "Cast" or (node.op_type, slot) in INDICES for node, slot in ends):
            kind = "INT32"
        else:
            kind, moved = kinds[0], []
        if name in outputs:
            return Decline(f"{name} is an input and an output")
        value = inputs[name]
        value.type.tensor_type.elem_type = _T.DataType.Value(kind)
        if not moved:
            _insert_cast(main, name, old, edit, taken)
            continue
        renamed = {each: edit.names.free(f"{each}/{kind.lower()}", taken) for each in moved if each != name}
        for node in [*(main.producers[each] for each in renamed), *(node for node, _ in ends)]:
            edit.touch(main, node.proto)
            for position, each in enumerate(node.proto.input):
                node.proto.input[position] = renamed.get(each, each)
            for position, each in enumerate(node.proto.output):
                node.proto.output[position] = renamed.get(each, each)
        forget_declared(model.graph, renamed)
    edit.sort()
    return None


def _candidates(old: str, output: bool, targets: Sequence[Target]) -> list[str]:
    allowed = [target.output_types if output else target.input_types for target in targets]
    return [kind for kind in STANDS_FOR.get(old, ()) if all(kind in types for types in allowed)]


def _moved(scope: Scope, name: str) -> tuple[list[str], list[tuple[Node, int]]]:
    """The values that are `name`'s elements moved, and who reads them otherwise."""
    moved, ends, waiting = [], [], [name]
    while waiting:
        value = waiting.pop()
        moved.append(value)
        for node, slot in scope.consumers.get(value, ()):
            passes = node.op_type in MOVES and slot == 0 and not node.domain and node.scope is scope
            if passes and not any(output in scope.outputs for output in node.outputs):
                waiting.extend(output for output in node.outputs if output not in waiting)
            else:
                ends.append((node, slot))
    return moved, ends


def _casts_to_float(node: Node, targets: Sequence[Target]) -> bool:
    wanted = (_T.FLOAT, _T.BOOL) if any(target.implicit_batch for target in targets) else (_T.FLOAT,)
    return node.op_type == "Cast" and node.attr("to") in wanted


def _insert_cast(main: Scope, name: str, old: str, edit: Edit, taken: set[str]) -> None:
    """Let everything that read the input read a Cast of it to the old type."""
    assert main.graph is not None
    inner = edit.names.free(f"{name}/{old.lower()}", taken)
    for node, _ in main.consumers.get(name, ()):
        scope = node.scope
        edit.touch(scope, node.proto)
        rename_input(node.proto, name, inner)
    main.graph.node.append(onnx.helper.make_node("Cast", [name], [inner], name=inner, to=_T.DataType.Value(old)))


def rename_input(node: onnx.NodeProto, old: str, new: str) -> None:
    """Let the node, and the subgraphs that capture the value, read another."""
    for position, name in enumerate(node.input):
        if name == old:
            node.input[position] = new
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            for inner in graph.node:
                rename_input(inner, old, new)
            for value in graph.output:
                if value.name == old:
                    value.name = new


def _retype_output(main: Scope, value: onnx.ValueInfoProto, old: str, kind: str, edit: Edit, taken: set[str]) -> None:
    """Cast what makes the output, behind it."""
    assert main.graph is not None
    name = value.name
    inner = edit.names.free(f"{name}/{old.lower()}", taken)
    maker = main.producers[name]
    edit.touch(main, maker.proto)
    if maker.op_type == "Cast" and old != "BOOL" and not main.consumers.get(name):
        next(attribute for attribute in maker.proto.attribute if attribute.name == "to").i = _T.DataType.Value(kind)
        value.type.tensor_type.elem_type = _T.DataType.Value(kind)
        return
    for position, each in enumerate(maker.proto.output):
        if each == name:
            maker.proto.output[position] = inner
    for node, _ in main.consumers.get(name, ()):
        edit.touch(node.scope, node.proto)
        rename_input(node.proto, name, inner)
    value.type.tensor_type.elem_type = _T.DataType.Value(kind)
    node_name = edit.names.free(f"{name}/{kind.lower()}", taken)
    main.graph.node.append(onnx.helper.make_node("Cast", [inner], [name], name=node_name, to=_T.DataType.Value(kind)))

"""Last of all: the nodes that ONNX's schema gives an operator as its function body, in the model's own opset."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import onnx
import onnx.inliner

from onnxfix.rewrites._region import Change, Decline, Region
from onnxfix.rewrites.lowering._general import schema_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@cache
def has_body(op: str, opset: int) -> bool:
    """True where the schema of the operator at `opset` has a body, for some types of the inputs."""
    schema = schema_at(op, opset)
    if schema is None:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)  # type: ignore[attr-defined]  # not in the stubs


def expand(region: Region, low: int) -> Change | Decline:
    """The node's body in its place; the reason is empty where the operator has none."""
    proto, facts = region.proto, region.facts
    if not has_body(proto.op_type, region.opset):
        return Decline("")
    inputs = []
    for name in dict.fromkeys(proto.input):
        if not name:
            continue
        dtype, shape = facts.dtype(name), facts.shape(name)
        if not dtype:
            return Decline("the function body depends on element types that are not known")
        dims = None if shape is None else [int(dim) if isinstance(dim, int) else None for dim in shape]
        inputs.append(onnx.helper.make_tensor_value_info(name, dtype, dims))
    outputs = [onnx.helper.make_tensor_value_info(name, facts.dtype(name) or 1, None) for name in proto.output if name]
    call = onnx.NodeProto()
    call.CopyFrom(proto)
    schema = schema_at(proto.op_type, region.opset)
    assert schema is not None
    given = {attribute.name for attribute in proto.attribute}
    # the inliner drops what refers to an attribute that the node leaves out
    call.attribute.extend(known.default_value for name, known in schema.attributes.items() if name not in given and _set(known))
    graph = onnx.helper.make_graph([call], "body", inputs, outputs)
    imports = [onnx.helper.make_opsetid("", region.opset)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=10)
    try:
        flat = onnx.inliner.inline_selected_functions(model, [("", proto.op_type)], exclude=False, inline_schema_functions=True)
    except Exception as error:  # the inliner raises its own errors from C++
        return Decline(f"the function body cannot be inlined: {(str(error).splitlines() or [''])[0]}")
    nodes = list(flat.graph.node)
    if any(node.op_type == proto.op_type and not node.domain for node in nodes):
        return Decline("")
    if any(item.version != region.opset for item in flat.opset_import if not item.domain):
        return Decline("the function body is of another opset")
    kept = {*proto.input, *proto.output}
    renamed: dict[str, str] = {}
    for name in _made(nodes):
        if name not in kept:
            renamed[name] = region.free_name(name.rpartition("__")[0] or name)
    last = None
    for node in nodes:
        _rename(node, renamed)
        node.name = region.free_name(node.op_type)
        if set(node.output) & set(proto.output):
            last = node
    if last is not None:
        last.name = proto.name
    return Change(region.scope, region.index, nodes)


def _set(known: onnx.defs.OpSchema.Attribute) -> bool:
    return bool(known.default_value.name)


def _made(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """The names of all values that the nodes and their branches make."""
    for node in nodes:
        yield from (name for name in node.output if name)
        for graph in _graphs(node):
            yield from (value.name for value in graph.input)
            yield from _made(graph.node)


def _graphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _rename(node: onnx.NodeProto, renamed: dict[str, str]) -> None:
    """New names for what the body makes, in its branches too."""
    node.input[:] = [renamed.get(name, name) for name in node.input]
    node.output[:] = [renamed.get(name, name) for name in node.output]
    for graph in _graphs(node):
        for inner in graph.node:
            _rename(inner, renamed)
        for value in (*graph.input, *graph.output):
            value.name = renamed.get(value.name, value.name)

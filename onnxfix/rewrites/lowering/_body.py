"""Last of all: the nodes that ONNX's schema gives an operator as its function body, in the model's own opset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
import onnx.inliner

from onnxfix.model.opsets import has_body, schema_at
from onnxfix.rewrites._region import Change, Decline, Region
from onnxfix.rewrites.lowering._general import means_the_same

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The body becomes a model-local function for a moment; onnx.inliner's own way to schemas wants a type for inputs that are left out.
_DOMAIN = "onnxfix.body"


def expand(region: Region) -> Change | Decline:
    """The node's body in its place; the reason is empty where the operator has none."""
    proto, facts = region.proto, region.facts
    if not has_body(proto.op_type, region.opset):
        return Decline("")
    function = _function(region)
    if isinstance(function, Decline):
        return function
    names = [name for name in dict.fromkeys((*proto.input, *proto.output)) if name]
    values = {name: onnx.helper.make_tensor_value_info(name, facts.dtype(name) or 1, None) for name in names}
    inputs = [values[name] for name in dict.fromkeys(proto.input) if name]
    call = onnx.NodeProto()
    call.CopyFrom(proto)
    call.domain = function.domain = _DOMAIN
    schema = schema_at(proto.op_type, region.opset)
    assert schema is not None
    given = {attribute.name for attribute in proto.attribute}
    # the inliner drops what refers to an attribute that the node leaves out
    call.attribute.extend(known.default_value for name, known in schema.attributes.items() if name not in given and _set(known))
    graph = onnx.helper.make_graph([call], "body", inputs, [values[name] for name in proto.output if name])
    imports = [*function.opset_import, onnx.helper.make_opsetid(_DOMAIN, 1)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=10, functions=[function])
    try:
        flat = onnx.inliner.inline_local_functions(model)
    except Exception as error:  # the inliner raises its own errors from C++
        return Decline(f"the function body cannot be inlined: {(str(error).splitlines() or [''])[0]}")
    nodes = list(flat.graph.node)
    if any(node.op_type == proto.op_type and not node.domain for node in nodes):
        return Decline("")
    return placed(region, nodes)


def placed(region: Region, nodes: list[onnx.NodeProto]) -> Change:
    """Inlined nodes in the place of the region's: names that nothing in the model has, the old name for the last of them."""
    proto = region.proto
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


def _function(region: Region) -> onnx.FunctionProto | Decline:
    """The body for the element types of the node's inputs, of an opset in which its operators are those of the model's own."""
    proto, facts = region.proto, region.facts
    schema: Any = schema_at(proto.op_type, region.opset)
    function = onnx.FunctionProto()
    # a body is written once for each opset in which its operators have another form; onnx gives the newest by default
    version = max((item for item in schema.all_function_opset_versions if item <= region.opset), default=0)
    if not version:
        return Decline(f"there is no function body in opset {region.opset}")
    if schema.has_function:
        function.ParseFromString(schema.get_function_with_opset_version(version))
    else:
        types = []
        for name in proto.input:
            kind = onnx.TypeProto()
            if name:
                shape = facts.shape(name)
                if not facts.dtype(name):
                    return Decline("the function body depends on element types that are not known")
                dims = None if shape is None else [int(dim) if isinstance(dim, int) else None for dim in shape]
                kind = onnx.helper.make_tensor_type_proto(facts.dtype(name), dims)
            types.append(kind.SerializeToString())
        try:
            function.ParseFromString(
                schema.get_context_dependent_function_with_opset_version(version, proto.SerializeToString(), types)
            )
        except Exception as error:  # from C++
            return Decline(f"there is no function body for it: {(str(error).splitlines() or [''])[0]}")
    if not function.node:
        return Decline("")
    version = next((item.version for item in function.opset_import if not item.domain), region.opset)
    for node in function.node:
        if not node.domain and not means_the_same(node, version, region.opset):
            return Decline(f"{node.op_type} in the function body is of opset {version}")
    return function


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

"""What a file must hold for anything to be said about it; the rest of the code relies on it.

Less than onnx's own checker asks: operators that nobody knows, surplus inputs and attributes, and values that no node makes pass,
as parsers take them or have words of their own for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import onnx

from onnxfix.model.opsets import domain_of, opsets_of, schema_at
from onnxfix.model.paths import function_path, node_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TYPES = frozenset(onnx.TensorProto.DataType.values())
_KIND = onnx.AttributeProto.AttributeType.Name


class StructureError(Exception):
    """Where the model is broken, and how."""


def check_structure(model: onnx.ModelProto) -> None:
    """Look at text, names, element types, and what the schema of each node's operator demands.

    Raises:
        StructureError: something is not as ONNX has it.
    """
    _check_text(model, model.DESCRIPTOR.name)
    opsets = opsets_of(model.opset_import)
    _check_graph(model.graph, opsets, "graph", set(), in_function=False)
    for function in model.functions:
        path = function_path(function.domain, function.name, function.overload)
        own = {**opsets, **opsets_of(function.opset_import)}
        _check_nodes(function.node, own, path, set(function.input), function.output, in_function=True)


def _check_text(message: Any, where: str) -> None:
    """Every string must be UTF-8; protobuf gives the bytes, or raises, where one is not."""
    for name, repeated, inner in _text_fields(message.DESCRIPTOR):
        if not (repeated or message.HasField(name)):
            continue
        try:
            values = getattr(message, name) if repeated else (getattr(message, name),)
        except UnicodeDecodeError as error:
            values = (error.object,)
        for value in values:
            if inner:
                _check_text(value, value.DESCRIPTOR.name)
            elif not isinstance(value, str):
                raise StructureError(f"{name} {bytes(value[:40])!r} in {where} is no UTF-8 text")


@cache
def _text_fields(descriptor: Any) -> tuple[tuple[str, bool, bool], ...]:
    """(name, repeated, holds messages) of the fields that are text or hold some."""
    return tuple(
        (field.name, not field.has_presence, field.message_type is not None)
        for field in descriptor.fields
        if field.message_type is not None or field.type == field.TYPE_STRING
    )


def _check_graph(graph: onnx.GraphProto, opsets: Mapping[str, int], path: str, outer: set[str], *, in_function: bool) -> None:
    names = set(outer)
    stored: set[str] = set()
    for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        if tensor.name in stored:
            raise StructureError(f"{path}: two initializers are called {tensor.name!r}")
        stored.add(tensor.name)
        _check_tensor(tensor, f"{path}: initializer {tensor.name!r}")
    names |= stored
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type not in _TYPES:
            raise StructureError(f"{path}: {value.name!r} has unknown element type {value.type.tensor_type.elem_type}")
    names.update(value.name for value in graph.input)
    _check_nodes(graph.node, opsets, path, names, (value.name for value in graph.output), in_function=in_function)


def _check_tensor(tensor: onnx.TensorProto, what: str) -> None:
    if tensor.data_type not in _TYPES:
        raise StructureError(f"{what} has unknown element type {tensor.data_type}")
    if any(dim < 0 for dim in tensor.dims):
        raise StructureError(f"{what} has a negative dimension")


def _check_nodes(
    nodes: Iterable[onnx.NodeProto],
    opsets: Mapping[str, int],
    path: str,
    names: set[str],
    outputs: Iterable[str],
    *,
    in_function: bool,
) -> None:
    names.update(name for node in nodes for name in node.output)
    for index, node in enumerate(nodes):
        where = f"{node_path(path, index)} ({node.op_type})"
        version = opsets.get("") if not domain_of(node.domain) else None
        demands = _demands_on(node, version) if version is not None else None
        if demands is not None:
            _check_signature(node, demands, where)
        for attribute in node.attribute:
            _check_attribute(attribute, demands, where, in_function=in_function)
            for graph in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                inner = f"{node_path(path, index)}/{attribute.name}"
                _check_graph(graph, opsets, inner, names, in_function=in_function)
    for name in outputs:
        if name not in names:
            raise StructureError(f"{path}: nothing makes output {name!r}")


@dataclass(frozen=True, slots=True)
class _Demands:
    inputs: int
    outputs: int
    attributes: Mapping[str, int]
    required: tuple[str, ...]
    first: bool


def _demands_on(node: onnx.NodeProto, version: int) -> _Demands | None:
    """What is demanded of a node; one in an older form, as torch 1.3 wrote Pad (OFX702), has to be whole in that."""
    newest = _demands(node.op_type, version)
    names = {attribute.name for attribute in node.attribute}
    if newest is None or names <= newest.attributes.keys():
        return newest
    older = (_demands(node.op_type, number) for number in range(version - 1, 0, -1))
    return next((form for form in older if form is not None and names <= form.attributes.keys()), newest)


@cache
def _demands(op: str, version: int) -> _Demands | None:
    """What the schema of an operator demands; None where there is none."""
    schema = schema_at(op, version)
    if schema is None:
        return None
    kinds = {name: int(known.type) for name, known in schema.attributes.items()}  # type: ignore[call-overload]
    required = tuple(name for name, known in schema.attributes.items() if known.required)
    first = bool(schema.inputs) and schema.inputs[0].option != onnx.defs.OpSchema.FormalParameterOption.Optional
    return _Demands(schema.min_input, schema.min_output, kinds, required, first)


def _check_signature(node: onnx.NodeProto, demands: _Demands, where: str) -> None:
    if len(node.input) < demands.inputs or (demands.first and demands.inputs and not node.input[0]):
        raise StructureError(f"{where} has {len(list(filter(None, node.input)))} inputs and needs {demands.inputs}")
    if len(node.output) < demands.outputs:
        raise StructureError(f"{where} has {len(node.output)} outputs and needs {demands.outputs}")
    if missing := set(demands.required).difference(attribute.name for attribute in node.attribute):
        raise StructureError(f"{where} lacks attribute {min(missing)}")


def _check_attribute(attribute: onnx.AttributeProto, demands: _Demands | None, where: str, *, in_function: bool) -> None:
    if attribute.ref_attr_name and not in_function:
        raise StructureError(f"{where}: attribute {attribute.name} refers to one of a function, and is in none")
    kind = demands.attributes.get(attribute.name, attribute.type) if demands is not None else attribute.type
    if attribute.type != kind or not kind:
        raise StructureError(f"{where}: attribute {attribute.name} is {_KIND(attribute.type)}, not {_KIND(kind)}")
    if demands is not None:
        try:
            attribute.s.decode()
        except UnicodeDecodeError:
            raise StructureError(f"{where}: attribute {attribute.name} is no UTF-8 text") from None
    if attribute.HasField("t"):
        _check_tensor(attribute.t, f"{where}: attribute {attribute.name}")

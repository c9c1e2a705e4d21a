"""The model's own functions: one for each call, with its attributes, and those that nothing calls any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.model.opsets import domain_of, opsets_of, schema_at
from onnxfix.model.paths import function_path
from onnxfix.model.view import bound, graphs_of
from onnxfix.rewrites._edit import drop_unused_import, touch
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from onnxfix.rewrites._edit import EditLog

# Before the number of a body of one call.
NUMBER = "#"
# Nodes that a call may become.
MAX_NODES = 20_000

_Key = tuple[str, str, str]


def with_own_body(
    call: onnx.NodeProto, functions: Sequence[onnx.FunctionProto], bodies: list[onnx.FunctionProto]
) -> Decline | None:
    """Have a node, and all that its function calls, call functions that are made for the one call; `bodies` gets those.

    onnx.inliner (1.23) binds what a call gives, and leaves out the defaults that a function declares for the rest; here every body
    has its attributes before it is inlined.
    """
    return _bind(call, {_key(item): item for item in reversed(functions)}, bodies, ())


def _bind(
    node: onnx.NodeProto,
    functions: Mapping[_Key, onnx.FunctionProto],
    bodies: list[onnx.FunctionProto],
    callers: tuple[_Key, ...],
) -> Decline | None:
    for attribute in node.attribute:
        for _, graph in graphs_of(attribute):
            for inner in graph.node:
                declined = _bind(inner, functions, bodies, callers)
                if declined is not None:
                    return declined
    key = (domain_of(node.domain), node.op_type, node.overload)
    if key not in functions:
        return None
    if key in callers:
        return Decline(f"function {node.op_type} calls itself")
    if sum(len(each.node) for each in bodies) > MAX_NODES:
        return Decline(f"the call would become more than {MAX_NODES} nodes")
    body = onnx.FunctionProto()
    body.CopyFrom(bound(functions[key], node))
    body.name = f"{node.op_type}{NUMBER}{len(bodies)}"
    body.ClearField("overload")
    body.ClearField("attribute")
    body.ClearField("attribute_proto")
    bodies.append(body)
    node.op_type = body.name
    node.ClearField("overload")
    node.ClearField("attribute")
    for inner in body.node:
        declined = _bind(inner, functions, bodies, (*callers, key))
        if declined is not None:
            return declined
    return None


def _key(function: onnx.FunctionProto) -> _Key:
    return domain_of(function.domain), function.name, function.overload


def called_functions(model: onnx.ModelProto) -> list[onnx.FunctionProto]:
    """The functions that a way from the main graph leads to."""
    functions = {_key(item): item for item in reversed(model.functions)}
    reached: dict[_Key, onnx.FunctionProto] = {}
    waiting = list(all_nodes(model.graph.node))
    while waiting:
        node = waiting.pop()
        called = (domain_of(node.domain), node.op_type, node.overload)
        if called in functions and called not in reached:
            reached[called] = functions[called]
            waiting += all_nodes(functions[called].node)
    return list(reached.values())


def drop_uncalled(model: onnx.ModelProto, opset: int, code: str, log: EditLog) -> None:
    """Remove the functions that no way from the main graph leads to, and that a model of ONNX's opset `opset` may not have.

    The checker wants every operator of a function to be of one version in the function's own opset and in the model's.
    """
    reached = {_key(item) for item in called_functions(model)}
    uncalled = {_key(item): item for item in model.functions if _key(item) not in reached}
    gone = {key: item for key, item in uncalled.items() if _has_others(item, opset)}
    while True:  # those that call one of them go with it
        more = {key: item for key, item in uncalled.items() if key not in gone and gone.keys() & _called(item)}
        if not more:
            break
        gone |= more
    for function in gone.values():
        path = function_path(function.domain, function.name, function.overload)
        log.functions_dropped.add(path)
        for node in function.node:
            touch(log, path, node, code)
        model.functions.remove(function)
    for domain in dict.fromkeys(function.domain for function in gone.values()):
        drop_unused_import(model, domain)


def _called(function: onnx.FunctionProto) -> set[_Key]:
    """What the function calls, if it is a function."""
    return {(domain_of(node.domain), node.op_type, node.overload) for node in all_nodes(function.node)}


def _has_others(function: onnx.FunctionProto, opset: int) -> bool:
    """Whether an operator of the function has another version in `opset`, or none."""
    own = opsets_of(function.opset_import).get("", opset)
    for op in {node.op_type for node in all_nodes(function.node) if not domain_of(node.domain)}:
        here, there = schema_at(op, own), schema_at(op, opset)
        if here is not None and (there is None or there.since_version != here.since_version):
            return True
    return False


def all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes and those of their subgraphs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for _, graph in graphs_of(attribute):
                yield from all_nodes(graph.node)

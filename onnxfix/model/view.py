"""A read-only view of a model: scopes (main graph, subgraphs, functions), nodes, and who reads which value."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import onnx

from onnxfix.errors import ModelError
from onnxfix.model.opsets import domain_of, opsets_of
from onnxfix.model.paths import function_path, node_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_DEPTH = 64

# Nodes of functions that are followed from call to call; what is beyond stays unknown.
MAX_CALLED = 20_000


class Node:
    """One node where it stands; reads the proto, never changes it."""

    __slots__ = ("_attributes", "domain", "index", "inputs", "op_type", "outputs", "proto", "scope")

    def __init__(self, proto: onnx.NodeProto, scope: Scope, index: int) -> None:
        self.proto = proto
        self.scope = scope
        self.index = index
        self.op_type: str = proto.op_type
        self.domain = domain_of(proto.domain)
        self.inputs: tuple[str, ...] = tuple(proto.input)
        self.outputs: tuple[str, ...] = tuple(proto.output)
        self._attributes: dict[str, onnx.AttributeProto] | None = None

    @property
    def path(self) -> str:
        """`graph/node[3]`; `index` is the position in the scope's node list."""
        return node_path(self.scope.path, self.index)

    @property
    def name(self) -> str:
        """The node's name, else its first output's, else its path."""
        return self.proto.name or next((name for name in self.outputs if name), "") or self.path

    @property
    def subgraphs(self) -> dict[str, Scope]:
        """The node's subgraphs by attribute name."""
        return self.scope.subgraphs.get(self.index, {})

    @property
    def called(self) -> Scope | None:
        """The body of the function that this node calls, with the call's attributes; None where none is followed."""
        return self.scope.calls.get(self.index)

    @property
    def opset(self) -> int | None:
        """The version of the node's domain that the model (or function) imports; None where it imports none."""
        return self.scope.opsets.get(self.domain)

    @property
    def attributes(self) -> dict[str, onnx.AttributeProto]:
        """The node's attributes by name."""
        if self._attributes is None:
            self._attributes = {attribute.name: attribute for attribute in self.proto.attribute}
        return self._attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute's value (strings decoded, lists as tuples), or `default` where it is absent."""
        attribute = self.attributes.get(name)
        # what a function's node takes from its call is known there only
        return default if attribute is None or attribute.ref_attr_name else attribute_value(attribute)

    def input(self, slot: int) -> str:
        """The name of input `slot`, empty where it is absent."""
        return self.inputs[slot] if slot < len(self.inputs) else ""

    def __repr__(self) -> str:
        return f"<{self.op_type} {self.path}>"


def attribute_value(attribute: onnx.AttributeProto) -> Any:
    """A plain Python value: str for strings, tuples for lists, protos for tensors, graphs and types."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if attribute.type == onnx.AttributeProto.STRINGS:
        return tuple(item.decode("utf-8", "replace") for item in value)
    if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
        return tuple(value)
    return value


@dataclass(eq=False)
class Scope:
    """A node list with the names it defines: the main graph, a subgraph, or a function's body."""

    path: str
    opsets: dict[str, int]
    parent: Scope | None = None
    position: int = -1  # of the node in `parent` that holds this subgraph
    graph: onnx.GraphProto | None = None
    function: onnx.FunctionProto | None = None
    nodes: list[Node] = field(default_factory=list)
    producers: dict[str, Node] = field(default_factory=dict)
    consumers: dict[str, list[tuple[Node, int]]] = field(default_factory=lambda: defaultdict(list))
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)
    sparse_initializers: dict[str, onnx.SparseTensorProto] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    subgraphs: dict[int, dict[str, Scope]] = field(default_factory=dict)
    calls: dict[int, Scope] = field(default_factory=dict)

    @cached_property
    def nodes_by_index(self) -> dict[int, Node]:
        """The nodes by their position in the proto's node list."""
        return {node.index: node for node in self.nodes}

    @property
    def root(self) -> Scope:
        """The main graph or the function that the scope lies in; itself where it is one."""
        return self if self.parent is None else self.parent.root

    @cached_property
    def unmade(self) -> dict[int, str]:
        """By a node's position, its first input that neither this scope nor one around it gives."""
        found = ((node.index, next((name for name in node.inputs if name and self.owner(name) is None), "")) for node in self.nodes)
        return {index: name for index, name in found if name}

    @cached_property
    def dead(self) -> frozenset[int]:
        """The positions of the nodes from which no way leads to an output of this scope."""
        outputs, found = {*self.outputs}, set[int]()
        for node in reversed(self.nodes):
            if outputs.isdisjoint(node.outputs) and self.readers(node) <= found:
                found.add(node.index)
        return frozenset(found)

    def readers(self, node: Node) -> set[int]:
        """The positions of this scope's nodes that read an output of its `node`, themselves or within their subgraphs."""
        found = set[int]()
        for name in filter(None, node.outputs):
            for reader, _ in self.consumers.get(name, ()):
                inner, index = reader.scope, reader.index
                while inner is not self and inner.parent is not None:
                    inner, index = inner.parent, inner.position
                found.add(index)
        return found

    def stores(self, name: str) -> bool:
        """True where `name` is an initializer of this very scope, sparse or not."""
        return name in self.initializers or name in self.sparse_initializers

    def defines(self, name: str) -> bool:
        """True where `name` is made, given or stored in this very scope."""
        return name in self.producers or self.stores(name) or name in self.inputs

    def owner(self, name: str) -> Scope | None:
        """The nearest enclosing scope that defines `name`."""
        scope: Scope | None = self
        while scope is not None and not scope.defines(name):
            scope = scope.parent
        return scope


class ModelView:
    """The whole model; `nodes()` walks every scope, the main graph first.

    `scopes` has each function once, as it is written. `calls` of a scope has a function's body for each call, with the attributes
    that this call gives, under the path of the function.

    Raises:
        ModelError: a value is made twice or from itself, or graphs are nested deeper than MAX_DEPTH.
    """

    def __init__(self, proto: onnx.ModelProto) -> None:
        self.proto = proto
        self.opsets = opsets_of(proto.opset_import)
        self.scopes: list[Scope] = []
        self.main = self._graph_scope(proto.graph, "graph", None, self.opsets, 0)
        for function in proto.functions:
            self._function_scope(function)
        self._functions = {(domain_of(each.domain), each.name, each.overload): each for each in reversed(proto.functions)}
        self._called = 0
        if self._functions:
            for scope in list(self.scopes):
                if scope.function is None and (scope.parent is None or scope.path.startswith(self.main.path)):
                    self._follow_calls(scope, ())

    def nodes(self) -> Iterator[Node]:
        """All nodes of all scopes."""
        for scope in self.scopes:
            yield from scope.nodes

    def _graph_scope(self, graph: onnx.GraphProto, path: str, parent: Scope | None, opsets: dict[str, int], depth: int) -> Scope:
        if depth > MAX_DEPTH:
            raise ModelError(f"{path}: graphs are nested deeper than {MAX_DEPTH} levels")
        scope = Scope(path=path, opsets=opsets, parent=parent, graph=graph)
        scope.inputs = tuple(value.name for value in graph.input)
        scope.outputs = tuple(value.name for value in graph.output)
        scope.initializers = {tensor.name: tensor for tensor in graph.initializer}
        scope.sparse_initializers = {sparse.values.name: sparse for sparse in graph.sparse_initializer}
        self._fill(scope, graph.node, depth)
        return scope

    def _function_scope(self, function: onnx.FunctionProto) -> Scope:
        path = function_path(function.domain, function.name, function.overload)
        scope = Scope(path=path, opsets={**self.opsets, **opsets_of(function.opset_import)}, function=function)
        scope.inputs, scope.outputs = tuple(function.input), tuple(function.output)
        self._fill(scope, function.node, 0)
        return scope

    def _follow_calls(self, scope: Scope, callers: tuple[str, ...]) -> None:
        for node in scope.nodes:
            function = self._functions.get((node.domain, node.op_type, node.proto.overload))
            if function is None or (not node.domain and onnx.defs.has(node.op_type)):
                continue
            path = function_path(function.domain, function.name, function.overload)
            self._called += len(function.node)
            if path in callers or len(callers) >= MAX_DEPTH or self._called > MAX_CALLED:
                continue
            # the scopes of a call are not among those of the model
            kept, self.scopes = self.scopes, []
            called = self._function_scope(bound(function, node.proto))
            inside, self.scopes = self.scopes, kept
            scope.calls[node.index] = called
            for each in inside:
                self._follow_calls(each, (*callers, path))

    def _fill(self, scope: Scope, protos: Sequence[onnx.NodeProto], depth: int) -> None:
        self.scopes.append(scope)
        nodes = [Node(proto, scope, index) for index, proto in enumerate(protos)]
        given = {*scope.inputs, *scope.initializers, *scope.sparse_initializers}
        for node in nodes:
            for name in node.outputs:
                if name:
                    if name in scope.producers or name in given:
                        raise ModelError(f"{node.path}: value {name!r} is made twice; node output names must be unique")
                    scope.producers[name] = node
        scope.nodes = [nodes[index] for index in topological_order(protos, scope.path)]
        for node in scope.nodes:
            for slot, name in enumerate(node.inputs):
                if name:
                    (scope.owner(name) or scope).consumers[name].append((node, slot))
            for attribute in node.proto.attribute:
                for key, graph in graphs_of(attribute):
                    inner = self._graph_scope(graph, f"{node.path}/{key}", scope, scope.opsets, depth + 1)
                    inner.position = node.index
                    scope.subgraphs.setdefault(node.index, {})[key] = inner
                    for name in inner.outputs:
                        owner = inner.owner(name)
                        if owner is not None and owner is not inner:
                            owner.consumers[name].append((node, -1))


def bound(function: onnx.FunctionProto, call: onnx.NodeProto) -> onnx.FunctionProto:
    """The function with the attributes that a call gives, or their defaults; itself where its nodes refer to none."""
    if not any(_refers(node) for node in function.node):
        return function
    given = {attribute.name: attribute for attribute in (*function.attribute_proto, *call.attribute)}
    copy = onnx.FunctionProto()
    copy.CopyFrom(function)
    for node in copy.node:
        _bind(node, given)
    return copy


def _refers(node: onnx.NodeProto) -> bool:
    return any(
        attribute.ref_attr_name or any(_refers(inner) for _, graph in graphs_of(attribute) for inner in graph.node)
        for attribute in node.attribute
    )


def _bind(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> None:
    attributes = list(node.attribute)
    del node.attribute[:]
    for attribute in attributes:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                node.attribute.add().CopyFrom(given[attribute.ref_attr_name])
                node.attribute[-1].name = attribute.name
            continue
        for _, graph in graphs_of(attribute):
            for inner in graph.node:
                _bind(inner, given)
        node.attribute.add().CopyFrom(attribute)


def graphs_of(attribute: onnx.AttributeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The graphs that an attribute holds, each with the name that paths have for it."""
    if attribute.type == onnx.AttributeProto.GRAPH:
        yield attribute.name, attribute.g
    for index, graph in enumerate(attribute.graphs):
        yield f"{attribute.name}[{index}]", graph


def captured_names(node: onnx.NodeProto) -> Iterator[str]:
    """Names that the node's subgraphs may read from outside (a superset: names that inner graphs define are dropped)."""
    for attribute in node.attribute:
        for _, graph in graphs_of(attribute):
            inner = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            inner.update(sparse.values.name for sparse in graph.sparse_initializer)
            inner.update(name for proto in graph.node for name in proto.output)
            for proto in graph.node:
                yield from (name for name in proto.input if name not in inner)
                yield from (name for name in captured_names(proto) if name not in inner)
            yield from (value.name for value in graph.output if value.name not in inner)


def topological_order(protos: Sequence[onnx.NodeProto], where: str = "graph") -> list[int]:
    """Indices of `protos` with makers before readers, otherwise in the given order.

    Raises:
        ModelError: the nodes form a cycle; the message names one that lies on it.
    """
    maker = {name: index for index, proto in enumerate(protos) for name in proto.output if name}
    reads: list[Sequence[str]] = []
    in_order = True
    for index, proto in enumerate(protos):
        nested = any(attribute.type in _GRAPH_KINDS for attribute in proto.attribute)
        names = [*proto.input, *captured_names(proto)] if nested else proto.input
        reads.append(names)
        in_order = in_order and all(maker.get(name, -1) < index for name in names)
    if in_order:
        return list(range(len(protos)))
    needs: list[set[int]] = []
    readers: dict[int, list[int]] = defaultdict(list)
    for index, names in enumerate(reads):
        before = {maker[name] for name in names if name in maker}
        needs.append(before)
        for other in before:
            readers[other].append(index)
    ready = [index for index, before in enumerate(needs) if not before]
    heapq.heapify(ready)
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers[index]:
            needs[reader].discard(index)
            if not needs[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(protos):
        stuck = min(set(range(len(protos))) - set(order))
        raise ModelError(
            f"{node_path(where, stuck)} ({protos[stuck].op_type}): the graph is cyclic; the node waits for its own output"
        )
    return order


_GRAPH_KINDS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)

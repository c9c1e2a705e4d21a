"""The nodes of a subgraph as nodes of the graph around it: what inlining an If and unrolling a Loop or a Scan share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from onnxfix.model.view import captured_names, graphs_of, topological_order
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites._values import value_among

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnxfix.rewrites._region import Region

# Copies of a body above this many are no repair.
MAX_TRIPS = 512
# Nodes above this many neither.
MAX_NODES = 20_000


@dataclass(slots=True)
class Unrolled:
    """Nodes and constants that take a node's place, in the scope of that node."""

    region: Region
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    tensors: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, role: str, array: np.ndarray) -> str:
        """A new initializer; returns its name."""
        name = self.region.free_name(role)
        self.tensors.append(onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, role: str, inputs: Sequence[str], **attributes: Any) -> str:
        """A new node with one output; returns that."""
        name = self.region.free_name(role)
        self.nodes.append(onnx.helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def unsqueeze(self, role: str, value: str, axis: int) -> str:
        """`value` with a new axis, in the form of the model's opset."""
        if self.region.opset >= 13:
            return self.node("Unsqueeze", role, [value, self.constant(f"{role}_axes", np.array([axis], np.int64))])
        return self.node("Unsqueeze", role, [value], axes=[axis])

    def copy(self, graph: onnx.GraphProto, bound: Mapping[str, str], role: str = "") -> list[str]:
        """Put a copy of the nodes that the graph's outputs need here, its inputs `bound` to values here.

        Returns the names of its outputs here.
        """
        names = dict(bound)
        for tensor in graph.initializer:
            copied = onnx.TensorProto()
            copied.CopyFrom(tensor)
            copied.name = names[tensor.name] = self.region.free_name(f"{role}{tensor.name}")
            self.tensors.append(copied)
        for index in _needed(graph):
            node = onnx.NodeProto()
            node.CopyFrom(graph.node[index])
            for position, name in enumerate(node.input):
                node.input[position] = names.get(name, name)
            _rename_captured(node, names)
            for position, name in enumerate(node.output):
                if name:
                    names[name] = node.output[position] = self.region.free_name(f"{role}{name}")
            if node.name:
                node.name = self.region.free_name(f"{role}{node.name}")
            self.nodes.append(node)
        return [names.get(value.name, value.name) for value in graph.output]

    def value(self, name: str) -> np.ndarray | None:
        """The array of a value here or around here that no input changes, else None."""
        makers = {output: node for node in self.nodes for output in node.output if output}
        stored = {tensor.name: tensor for tensor in self.tensors}
        return value_among(self.region.facts, name, makers, stored)

    def change(self, results: Sequence[str]) -> Change:
        """The node gives way to what is here, which makes its outputs from `results`."""
        proto = self.region.proto
        # an If that ends in an If, say, is not to look as if nothing had been done to it
        made = {name for node in self.nodes if node.op_type != proto.op_type for name in node.output}
        renamed: dict[str, str] = {}
        for output, result in zip(proto.output, results, strict=True):
            if not output:
                continue
            if result in made and result not in renamed:
                renamed[result] = output
            else:
                name = self.region.free_name(f"{output}_same")
                self.nodes.append(onnx.helper.make_node("Identity", [renamed.get(result, result)], [output], name=name))
        for node in self.nodes:
            for position, name in enumerate(node.input):
                node.input[position] = renamed.get(name, name)
            _rename_captured(node, renamed)
            for position, name in enumerate(node.output):
                node.output[position] = renamed.get(name, name)
            if proto.name and proto.output[0] in node.output:
                node.name = proto.name
        return Change(self.region.scope, self.region.index, self.nodes, self.tensors)


def _needed(graph: onnx.GraphProto) -> list[int]:
    """The positions of the nodes that an output of the graph needs, in an order to run them."""
    wanted, found = {value.name for value in graph.output}, []
    for index in reversed(topological_order(graph.node)):
        node = graph.node[index]
        if not wanted.isdisjoint(node.output):
            wanted.update((*node.input, *captured_names(node)))
            wanted.discard("")
            found.append(index)
    return found[::-1]


def _rename_captured(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Let the node's subgraphs read values under their new names, save where they define the name themselves."""
    for attribute in node.attribute:
        for _, graph in graphs_of(attribute):
            own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            own.update(name for inner in graph.node for name in inner.output)
            outer = {old: new for old, new in names.items() if old not in own}
            for inner in graph.node:
                for position, name in enumerate(inner.input):
                    inner.input[position] = outer.get(name, name)
                _rename_captured(inner, outer)
            for value in graph.output:
                value.name = outer.get(value.name, value.name)


def names_read(graph: onnx.GraphProto) -> set[str]:
    """The names that the graph's nodes, their subgraphs and its outputs read; a Loop's first output is not counted."""
    names = {value.name for value in graph.output[1:]}
    for node in graph.node:
        names.update((*node.input, *captured_names(node)))
    return names


def refused_body(graph: onnx.GraphProto) -> Decline | None:
    """What keeps a graph from being copied; None where nothing does."""
    if graph.sparse_initializer:
        return Decline("the subgraph has sparse initializers")
    return None

"""The few questions about a graph that running it needs: nodes at all depths, what a node reads, its real inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs that `node` holds as attributes (If, Loop, Scan)."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            yield from attribute.graphs


def all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """`nodes` and those of every graph inside them."""
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from all_nodes(graph.node)


def reads(node: onnx.NodeProto) -> set[str]:
    """The values that `node` reads from its own scope: its inputs, and what its subgraphs capture."""
    names = {name for name in node.input if name}
    for graph in subgraphs(node):
        own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        own |= {sparse.values.name for sparse in graph.sparse_initializer}
        wanted = {value.name for value in graph.output}
        for inner in graph.node:
            wanted |= reads(inner)
            own.update(inner.output)
        names |= wanted - own
    return names


def initializer_names(graph: onnx.GraphProto) -> set[str]:
    """The names of the graph's initializers, sparse ones too."""
    return {tensor.name for tensor in graph.initializer} | {sparse.values.name for sparse in graph.sparse_initializer}


def real_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """The graph inputs that a caller must feed: IR 3 lists initializers among the inputs too, and those are left out."""
    constant = initializer_names(graph)
    return [value for value in graph.input if value.name not in constant]

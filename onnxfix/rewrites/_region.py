"""A region: the node that a rewrite works on, as a small graphsurgeon graph, and the change that comes out of it.

This is the only door to graphsurgeon. Whole models never pass through it: it drops metadata, doc strings and quantization
annotations, copies shared weights into branches, and its list edits are quadratic. Here it sees one node with its inputs, and
what the rewrite leaves is exported and spliced into the proto; every other byte of the model stays.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from onnxfix.model.opsets import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts


@dataclass(frozen=True, slots=True)
class Decline:
    """A rewrite does not apply, and why: a clause that the report prints.

    `plain` says that the node is none of those that the rewrite is for: the report tells it only where there is nothing else
    to tell.
    """

    reason: str
    plain: bool = False


class Names:
    """The names that a model uses, so that regions can choose others; made anew for every pass."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._used: set[str] = set()
        self._nodes: Counter[str] = Counter()
        self._collect(model.graph)

    def _collect(self, graph: onnx.GraphProto) -> None:
        self._used.update(value.name for value in (*graph.input, *graph.output, *graph.value_info))
        self._used.update(tensor.name for tensor in graph.initializer)
        self._used.update(sparse.values.name for sparse in graph.sparse_initializer)
        for node in graph.node:
            self._nodes[node.name] += 1
            self._used.update(node.input)
            self._used.update(node.output)
            for attribute in node.attribute:
                for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                    self._collect(inner)

    def base(self, node: onnx.NodeProto) -> str:
        """What a node's helpers are named after: its name where no other node or value has it, else its first output."""
        if node.name and self._nodes[node.name] == 1 and (node.name not in self._used or node.name in node.output):
            return node.name
        return next((name for name in node.output if name), "node")

    def free(self, wanted: str, also: set[str]) -> str:
        """`wanted`, with a number behind it where the model or `also` has it; adds it to `also`."""
        name, number = wanted, 1
        while name in self._used or name in self._nodes or name in also:
            number += 1
            name = f"{wanted}_{number}"
        also.add(name)
        return name


@dataclass(slots=True)
class Change:
    """What a rewrite wants done in one scope: node `index` gives way to `nodes`, and `initializers` are added."""

    scope: str
    index: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)


class Region:
    """One node for a rewrite to replace.

    A rewrite either edits the node's proto (`set_input`), or makes layers in graphsurgeon's idiom (`layer`, `constant`,
    `replace`). Names of new nodes and values are `<old node>/<role>`; the node that makes the old output gets the old name.
    """

    def __init__(
        self, proto: onnx.NodeProto, scope: str, index: int, facts: ScopeFacts, opsets: dict[str, int], names: Names
    ) -> None:
        self.proto = proto
        self.scope = scope
        self.index = index
        self.facts = facts
        self.opsets = opsets
        self._names = names
        self._edited: onnx.NodeProto | None = None
        self._replaced = False
        self.exact = True  # set to False by what may round otherwise than the node did
        self._tensors: list[onnx.TensorProto] = []
        self._own: set[str] = set()
        self._shared: dict[str, gs.Constant] = {}
        self._outer: dict[str, gs.Variable] = {}

    @property
    def opset(self) -> int:
        """The version of ONNX's own domain in the region's scope."""
        return self.opsets.get("", 0)

    def beside(self, proto: onnx.NodeProto, index: int) -> Region:
        """A region for another node of the same scope."""
        return Region(proto, self.scope, index, self.facts, self.opsets, self._names)

    # edits of the proto ------------------------------------------------------------------------------------------------

    @property
    def edited(self) -> onnx.NodeProto:
        """A copy of the node to edit in place; it replaces the node as it is left."""
        if self._edited is None:
            self._edited = onnx.NodeProto()
            self._edited.CopyFrom(self.proto)
        return self._edited

    @property
    def is_edited(self) -> bool:
        """True where `edited` was asked for."""
        return self._edited is not None

    def forget_edits(self) -> None:
        """Leave the proto as it was."""
        self._edited = None

    @property
    def is_replaced(self) -> bool:
        """True where `replace` was called."""
        return self._replaced

    def tensor(self, role: str, array: np.ndarray) -> str:
        """Add an initializer of that content and return its name."""
        name = self.free_name(role)
        self._tensors.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(np.shape(array)), name))
        return name

    def set_input(self, slot: int, role: str, array: np.ndarray) -> None:
        """Let input `slot` of the node be a new constant."""
        while len(self.edited.input) <= slot:
            self.edited.input.append("")
        self.edited.input[slot] = self.tensor(role, array)

    def free_name(self, role: str) -> str:
        """A name that nothing in the model has, `<old node>/<role>`."""
        return self._names.free(f"{self._names.base(self.proto)}/{role}", self._own)

    def stored(self, arrays: Mapping[str, np.ndarray]) -> Change:
        """The node gives way to its values, initializers of the same names; Constants where they are outputs of the graph."""
        change = Change(self.scope, self.index)
        for name, array in arrays.items():
            tensor = onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            if name not in self.facts.scope.outputs:
                change.initializers.append(tensor)
                continue
            label = "" if change.nodes else self.proto.name
            change.nodes.append(onnx.helper.make_node("Constant", [], [name], name=label, value=tensor))
        return change

    # graphsurgeon -------------------------------------------------------------------------------------------------------

    @cached_property
    def graph(self) -> gs.Graph:
        """The region as a graphsurgeon graph that holds just the node."""
        import onnx_graphsurgeon as gs
        from onnx_graphsurgeon.logger import G_LOGGER

        # its warnings are of types that it keeps by number, such as BFLOAT16
        G_LOGGER.severity = G_LOGGER.ERROR
        inputs, outputs = (
            [onnx.helper.make_tensor_value_info(name, self.facts.dtype(name) or 1, None) for name in dict.fromkeys(names) if name]
            for names in (self.proto.input, self.proto.output)
        )
        graph = onnx.helper.make_graph([self.proto], "region", inputs, outputs)
        imports = [onnx.helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        return gs.import_onnx(onnx.helper.make_model(graph, opset_imports=imports))

    @cached_property
    def node(self) -> gs.Node:
        """The node to replace."""
        return self.graph.nodes[0]

    def constant(self, role: str, array: np.ndarray) -> gs.Constant:
        """A new constant; its element type is the array's."""
        import onnx_graphsurgeon as gs

        return gs.Constant(self.free_name(role), np.ascontiguousarray(array).reshape(np.shape(array)))

    def shared(self, role: str, array: np.ndarray) -> gs.Constant:
        """The constant of that role: made when first asked for, the same one afterwards."""
        if role not in self._shared:
            self._shared[role] = self.constant(role, array)
        return self._shared[role]

    @property
    def absent(self) -> gs.Variable:
        """An optional input that is left out."""
        import onnx_graphsurgeon as gs

        return gs.Variable.empty()

    def outer(self, name: str) -> gs.Tensor:
        """A value of the graph around the region, by its name."""
        import onnx_graphsurgeon as gs

        found = next((tensor for tensor in self.node.inputs if tensor.name == name), None)
        if found is None:
            found = self._outer.setdefault(
                name, gs.Variable(name, onnx.helper.tensor_dtype_to_np_dtype(self.facts.dtype(name) or 1))
            )
        return found

    def layer(self, op: str, role: str, inputs: Sequence[gs.Tensor], **attrs: Any) -> gs.Variable:
        """A new node of operator `op`; returns its only output."""
        name = self.free_name(role)
        import onnx_graphsurgeon as gs

        # as a Variable: a plain string would get a number behind it
        (output,) = self.graph.layer(op=op, name=name, inputs=list(inputs), outputs=[gs.Variable(name)], attrs=attrs)
        return output

    def layers(self, op: str, roles: Sequence[str], inputs: Sequence[gs.Tensor], **attrs: Any) -> list[gs.Variable]:
        """A new node of operator `op` with an output for each role; the node is named after the first."""
        import onnx_graphsurgeon as gs

        names = [self.free_name(role) for role in roles]
        outputs = [gs.Variable(name) for name in names]
        self.graph.layer(op=op, name=names[0], inputs=list(inputs), outputs=outputs, attrs=attrs)
        return outputs

    def replace(self, *made: gs.Tensor | None) -> None:
        """Let `made[i]` be the node's output i from now on, and the node go; None where nothing reads that output.

        The maker of the first takes over the node's name. What is an input, a constant, or given twice gets an Identity.
        """
        self._replaced = True
        old = list(self.node.outputs)
        self.node.outputs.clear()
        self.graph.nodes.remove(self.node)
        used: set[int] = set()
        named = False
        for output, new in zip(old, made, strict=False):
            if new is None or output.is_empty():
                continue
            if not new.inputs or id(new) in used:
                new = self.layer("Identity", "same", [new])
            used.add(id(new))
            for node in (*new.inputs, *new.outputs):
                for tensors in (node.inputs, node.outputs):
                    for position, tensor in enumerate(list(tensors)):
                        if tensor is new:
                            tensors[position] = output
            if not named:
                output.inputs[0].name = self.proto.name
                named = True

    def drop(self, *kept: gs.Tensor) -> None:
        """Let the node go, its output too; `kept` are new values that other nodes read."""
        self._replaced = True
        self.node.outputs.clear()
        self.graph.nodes.remove(self.node)
        self.graph.outputs = list(kept)

    # result ---------------------------------------------------------------------------------------------------------------

    def change(self) -> Change:
        """What the rewrite has left."""
        if self._edited is not None:
            return Change(self.scope, self.index, [self._edited], self._tensors)
        import onnx_graphsurgeon as gs

        self.graph.toposort()
        exported = gs.export_onnx(self.graph, do_type_check=False)
        nodes = list(exported.graph.node)
        for node in nodes:
            _type_attributes(node, self.opsets)
        return Change(self.scope, self.index, nodes, [*self._tensors, *exported.graph.initializer])


def _type_attributes(node: onnx.NodeProto, opsets: dict[str, int]) -> None:
    """Give attributes the types that the operator's schema has: the exporter writes `alpha=1` as an integer."""
    schema = schema_of(node.op_type, opsets.get(node.domain, 1), node.domain)
    if schema is None:
        return
    for attribute in node.attribute:
        wanted = schema.attributes.get(attribute.name)
        if wanted is None:
            continue
        kind = int(wanted.type)  # type: ignore[call-overload]
        if kind == onnx.AttributeProto.FLOAT and attribute.type == onnx.AttributeProto.INT:
            attribute.CopyFrom(onnx.helper.make_attribute(attribute.name, float(attribute.i)))
        elif kind == onnx.AttributeProto.FLOATS and attribute.type == onnx.AttributeProto.INTS:
            attribute.CopyFrom(onnx.helper.make_attribute(attribute.name, [float(item) for item in attribute.ints]))

"""Applies changes to a model's proto: splice, drop what became orphaned, keep every other node's bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx

from onnxfix.model.view import ModelView, captured_names, graphs_of, topological_order

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from onnxfix.model.view import Scope
    from onnxfix.rewrites._region import Change

RULE_KEY = "onnxfix.rule"


@dataclass(slots=True)
class EditLog:
    """What was done to original nodes: keys of those replaced, of those around them and of those orphaned, with the rule's code.

    `functions_dropped` has the paths of functions that are gone.
    """

    touched: dict[tuple[str, str], str] = field(default_factory=dict)
    initializers_dropped: set[str] = field(default_factory=set)
    functions_dropped: set[str] = field(default_factory=set)

    def copy(self) -> EditLog:
        """One to go on with that leaves this as it is."""
        return EditLog(dict(self.touched), set(self.initializers_dropped), set(self.functions_dropped))


def node_key(scope: str, node: onnx.NodeProto) -> tuple[str, str]:
    """How a node is known across edits: its scope's key and its first output, which no rewrite renames."""
    return scope, next((name for name in node.output if name), node.name)


def scope_key(scope: Scope) -> str:
    """How a scope is known across edits: its path by the first outputs of the nodes around it, since positions change."""
    around = node_around(scope)
    if around is None or scope.parent is None:
        return scope.path
    attribute = scope.path.rpartition("/")[2]
    return "/".join((*node_key(scope_key(scope.parent), around), attribute))


def node_around(scope: Scope) -> onnx.NodeProto | None:
    """The node that holds a subgraph; None for the main graph and for functions."""
    if scope.parent is None:
        return None
    return scope.parent.nodes_by_index[scope.position].proto


def copy_model(model: onnx.ModelProto) -> onnx.ModelProto:
    """A deep copy."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def graph_of(model: onnx.ModelProto, scope: Scope) -> onnx.GraphProto:
    """The graph in `model` that stands where `scope` stands in the model of its view."""
    if scope.parent is None:
        if scope.graph is None:
            raise KeyError(scope.path)
        return model.graph
    outer = graph_of(model, scope.parent)
    index, key = next(
        (index, key) for index, graphs in scope.parent.subgraphs.items() for key, inner in graphs.items() if inner is scope
    )
    return next(graph for attribute in outer.node[index].attribute for name, graph in graphs_of(attribute) if name == key)


def apply_changes(
    model: onnx.ModelProto, changes: Iterable[tuple[Change, str]], log: EditLog, view: ModelView | None = None
) -> None:
    """Apply (change, rule code) pairs, all in terms of the model as it is; their nodes are disjoint.

    `view` may be of another model with the same nodes, of which this is a copy.
    """
    view = view or ModelView(model)
    by_scope: dict[str, list[tuple[Change, str]]] = {}
    for change, code in changes:
        by_scope.setdefault(change.scope, []).append((change, code))
    freed: dict[str, set[str]] = {}
    while by_scope:
        # inner graphs first: replacing the node list of an outer graph copies the inner ones
        path = max(by_scope, key=lambda text: text.count("/"))
        here = by_scope.pop(path)
        scope = next(scope for scope in view.scopes if scope.path == path)
        unread = _splice(model, graph_of(model, scope), path, scope_key(scope), here, freed.pop(path, set()), log)
        around = node_around(scope)
        if around is not None and scope.parent is not None:
            outer = scope.parent
            code = here[0][1] if here else "orphaned"
            log.touched.setdefault(node_key(scope_key(outer), around), code)
            # what only the branch read is an orphan of the outer graph
            freed.setdefault(outer.path, set()).update(unread)
            by_scope.setdefault(outer.path, [])


def _splice(
    model: onnx.ModelProto,
    graph: onnx.GraphProto,
    path: str,
    key: str,
    changes: list[tuple[Change, str]],
    freed: set[str],
    log: EditLog,
) -> set[str]:
    """Put the changes into one graph; `freed` names may have lost readers. Returns those that an outer graph makes."""
    old = list(graph.node)
    new: dict[int, list[onnx.NodeProto]] = {}
    for change, code in changes:
        replaced = old[change.index]
        touch(log, key, replaced, code)
        _carry_over(replaced, change.nodes, code)
        new[change.index] = change.nodes
        freed.update(name for name in (*replaced.input, *captured_names(replaced)) if name)
        for tensor in change.initializers:
            add_initializer(model, graph, tensor)
    own = {name for node in old for name in node.output} | {tensor.name for tensor in graph.initializer}
    own |= {value.name for value in graph.input}
    nodes = [node for index, item in enumerate(old) for node in new.get(index, [item])]
    nodes = without_orphans(graph, key, nodes, freed, log)
    order = topological_order(nodes, path)
    kept = [nodes[index] for index in order]
    del graph.node[:]
    graph.node.extend(kept)
    forget_declared(graph, {name for node in old for name in node.output} - {name for node in kept for name in node.output})
    return freed - own


def forget_declared(graph: onnx.GraphProto, names: Container[str]) -> None:
    """Drop what the graph declares of inner values that are gone, or have another type or shape now."""
    stay = [value for value in graph.value_info if value.name not in names]
    if len(stay) < len(graph.value_info):
        del graph.value_info[:]
        graph.value_info.extend(stay)


def touch(log: EditLog, key: str, node: onnx.NodeProto, code: str) -> None:
    """Note that the node goes or gets another first output, and that those of its subgraphs go or get another key with it."""
    here = node_key(key, node)
    log.touched.setdefault(here, code)
    for attribute in node.attribute:
        for name, graph in graphs_of(attribute):
            for inner in graph.node:
                touch(log, "/".join((*here, name)), inner, code)


def _carry_over(old: onnx.NodeProto, nodes: list[onnx.NodeProto], code: str) -> None:
    """New nodes get the rule's code; the one that makes the old output keeps the old node's metadata and doc string."""
    for node in nodes:
        if set(node.output) & set(old.output):
            present = {entry.key for entry in node.metadata_props}
            node.metadata_props.extend(entry for entry in old.metadata_props if entry.key not in present)
            node.doc_string = node.doc_string or old.doc_string
        mark(node, code)


def mark(node: onnx.NodeProto, code: str) -> None:
    """Note on the node which rule's fix made or edited it."""
    for entry in node.metadata_props:
        if entry.key == RULE_KEY:
            if code not in entry.value.split(","):
                entry.value = f"{entry.value},{code}"
            return
    node.metadata_props.add(key=RULE_KEY, value=code)


def add_initializer(model: onnx.ModelProto, graph: onnx.GraphProto, tensor: onnx.TensorProto) -> None:
    """Store a tensor; below IR version 4 it is listed among the graph's inputs too, as the format demands."""
    graph.initializer.append(tensor)
    if model.ir_version < 4:
        graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))


def without_orphans(
    graph: onnx.GraphProto, key: str, nodes: list[onnx.NodeProto], freed: set[str], log: EditLog
) -> list[onnx.NodeProto]:
    """Drop nodes and initializers that only fed what was replaced; what was unused before stays."""
    readers: dict[str, int] = {}
    for node in nodes:
        for name in (*node.input, *captured_names(node)):
            readers[name] = readers.get(name, 0) + 1
    outputs = {value.name for value in graph.output}
    maker = {name: node for node in nodes for name in node.output if name}
    dropped: set[int] = set()
    waiting = sorted(freed)
    while waiting:
        name = waiting.pop()
        if readers.get(name, 0) > 0 or name in outputs:
            continue
        made = maker.get(name)
        if made is None:
            _drop_initializer(graph, name, log)
            continue
        if id(made) in dropped or any(readers.get(other, 0) > 0 or other in outputs for other in made.output if other):
            continue
        dropped.add(id(made))
        touch(log, key, made, "orphaned")
        for source in (*made.input, *captured_names(made)):
            readers[source] -= 1
            if source:
                waiting.append(source)
    return [node for node in nodes if id(node) not in dropped]


def _drop_initializer(graph: onnx.GraphProto, name: str, log: EditLog) -> None:
    for index, tensor in enumerate(graph.initializer):
        if tensor.name == name:
            del graph.initializer[index]
            log.initializers_dropped.add(name)
            break
    else:
        return
    for index, value in enumerate(graph.input):
        if value.name == name:
            del graph.input[index]
            break


def drop_unused_import(model: onnx.ModelProto, domain: str) -> None:
    """Remove the import of a domain whose last node a rewrite has replaced."""
    view = ModelView(model)
    if any(node.domain == domain for node in view.nodes()) or any(function.domain == domain for function in model.functions):
        return
    for index, item in enumerate(model.opset_import):
        if item.domain == domain:
            del model.opset_import[index]
            return

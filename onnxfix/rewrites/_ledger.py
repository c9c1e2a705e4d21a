"""The fidelity ledger: whatever no fix touched is the same bytes in the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.model.load import is_large
from onnxfix.model.paths import function_path
from onnxfix.model.view import ModelView
from onnxfix.results import Fidelity
from onnxfix.rewrites._edit import node_key, scope_key

if TYPE_CHECKING:
    from onnxfix.rewrites._driver import State


def ledger(before: onnx.ModelProto, state: State, interface_changes: tuple[str, ...] = ()) -> Fidelity:
    """Every original node is identical, or some rule's fix touched it; a mismatch is an error of ours.

    Raises:
        RuntimeError: a node or an initializer changed that no fix has touched, or something that none ever touches.
    """

    def nodes(model: onnx.ModelProto) -> dict[tuple[str, str], bytes]:
        return {
            node_key(key, node.proto): node.proto.SerializeToString(deterministic=True)
            for key, scope in ((scope_key(scope), scope) for scope in ModelView(model).scopes)
            for node in scope.nodes
        }

    old, new = nodes(before), nodes(state.model)
    identical = edited = removed = 0
    for key, content in old.items():
        if new.get(key) == content:
            identical += 1
        elif key not in state.log.touched:
            raise RuntimeError(f"fidelity: node {key[1]!r} changed, but no fix touched it")
        elif key in new:
            edited += 1
        else:
            removed += 1
    stored = {tensor.name: tensor for tensor in state.model.graph.initializer}
    unchanged = 0
    for tensor in before.graph.initializer:
        if tensor.name in stored and _same(tensor, stored[tensor.name]):
            unchanged += 1
        elif tensor.name not in state.log.initializers_dropped:
            raise RuntimeError(f"fidelity: initializer {tensor.name!r} changed, but no fix touched it")
    dropped = state.log.functions_dropped
    for (what, first), (_, second) in zip(_untouchable(before, dropped), _untouchable(state.model, dropped), strict=True):
        if first != second:
            raise RuntimeError(f"fidelity: {what} changed")
    return Fidelity(
        nodes_before=len(old),
        nodes_after=len(new),
        identical=identical,
        edited=edited,
        removed=removed,
        added=len(new.keys() - old.keys()),
        initializers_unchanged=unchanged,
        interface_changes=interface_changes,
    )


def _same(first: onnx.TensorProto, second: onnx.TensorProto) -> bool:
    """True where two tensors are the same bytes; large ones are usually told by their fields, without writing them."""
    if is_large(first) and first.ListFields() == second.ListFields():
        return True
    return bool(first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True))


def _untouchable(model: onnx.ModelProto, dropped: set[str]) -> list[tuple[str, list[bytes]]]:
    """What no fix ever changes, as (name, bytes); of functions those whose path is not among the `dropped`."""
    graph = model.graph
    head = onnx.ModelProto(
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.model_version,
        doc_string=model.doc_string,
        metadata_props=model.metadata_props,
    )
    rest = onnx.GraphProto(name=graph.name, doc_string=graph.doc_string, metadata_props=graph.metadata_props)
    parts = {
        "the model's metadata": [head],
        "the graph's metadata": [rest],
        "a function": [each for each in model.functions if function_path(each.domain, each.name, each.overload) not in dropped],
        "a quantization annotation": graph.quantization_annotation,
        "a sparse initializer": graph.sparse_initializer,
        "the training information": model.training_info,
    }
    return [(what, [item.SerializeToString(deterministic=True) for item in items]) for what, items in parts.items()]

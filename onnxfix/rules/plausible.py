"""Which of a rule's rewrites can start from a node at all: what cannot is neither offered nor tried.

Weaker than the guards of the rewrites themselves, which look closer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.model.opsets import has_body

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node


def _is_function(node: Node, facts: ScopeFacts, functions: frozenset[tuple[str, str]]) -> bool:
    return (node.domain, node.op_type) in functions


def _is_double(node: Node, facts: ScopeFacts, functions: frozenset[tuple[str, str]]) -> bool:
    return any(facts.dtype(name) == onnx.TensorProto.DOUBLE for name in (*node.inputs, *node.outputs) if name)


def _is_constant(node: Node, facts: ScopeFacts, functions: frozenset[tuple[str, str]]) -> bool:
    return any(facts.is_constant(name) for name in node.outputs if name)


def _has_arithmetic(node: Node, facts: ScopeFacts, functions: frozenset[tuple[str, str]]) -> bool:
    names = [name for name in (*node.inputs[1:], *node.outputs) if name and not node.scope.stores(name)]
    return any(facts.is_constant(name) or facts.array(name) is not None for name in names)


def _is_empty(node: Node, facts: ScopeFacts, functions: frozenset[tuple[str, str]]) -> bool:
    return any(0 in (facts.shape(name) or ()) for name in node.outputs if name)


def _is_dead(node: Node, facts: ScopeFacts, functions: frozenset[tuple[str, str]]) -> bool:
    return node.index in node.scope.dead


def _has_body(node: Node, facts: ScopeFacts, functions: frozenset[tuple[str, str]]) -> bool:
    return has_body(node.op_type, node.opset or 0, node.domain)


_STARTS: dict[str, Callable[[Node, ScopeFacts, frozenset[tuple[str, str]]], bool]] = {
    "double_to_float": _is_double,
    "drop_dead_nodes": _is_dead,
    "drop_empty_operand": _is_empty,
    "fold_constant": _is_constant,
    "fold_parameter": _has_arithmetic,
    "inline_function": _is_function,
    "schema_body": _has_body,
}


def plausible(names: tuple[str, ...], node: Node, facts: ScopeFacts, functions: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    """Those of the rewrites `names` that can start from the node; `functions` are the model's own, as (domain, name)."""
    return tuple(name for name in names if name not in _STARTS or _STARTS[name](node, facts, functions))

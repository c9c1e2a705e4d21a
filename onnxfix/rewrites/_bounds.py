"""Whole numbers that a run-time value cannot leave: positions from ArgMax and TopK, and what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import MOVES

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node

_T = onnx.TensorProto
WHOLE: frozenset[int] = frozenset((_T.INT32, _T.INT64, _T.INT8, _T.UINT8, _T.INT16, _T.UINT16, _T.UINT32, _T.UINT64))
# Operators that give nothing but elements of their first input.
CHOOSE = MOVES | {"GatherElements", "GatherND", "ReduceMax", "ReduceMin", "Split"}
MAX_DEPTH = 40


def bound(facts: ScopeFacts, name: str, depth: int = 0) -> int | None:
    """A number that is above every element of a value of whole numbers, none of which is below 0; None where none is known."""
    if facts.dtype(name) not in WHOLE or depth > MAX_DEPTH:
        return None
    limit = _limit(facts, name, depth)
    largest = np.iinfo(onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(name))).max
    return limit if limit is not None and limit - 1 <= largest else None  # what wraps has no range


def _limit(facts: ScopeFacts, name: str, depth: int) -> int | None:
    if facts.is_constant(name):
        array = facts.constant(name)
        return int(array.max()) + 1 if array is not None and array.size and array.min() >= 0 else None
    node = facts.scope.producers.get(name)
    if node is None or node.domain:
        return None
    if node.op_type in ("ArgMax", "ArgMin") or (node.op_type == "TopK" and name == node.outputs[1]):
        return _extent(facts, node)
    if node.op_type == "OneHot":
        return bound(facts, node.input(2), depth + 1)
    if node.op_type in CHOOSE:
        return bound(facts, node.input(0), depth + 1)
    if node.op_type == "Cast":
        return 2 if facts.dtype(node.input(0)) == _T.BOOL else bound(facts, node.input(0), depth + 1)
    if node.op_type in ("Concat", "Max", "Min", "Where"):
        limits = [bound(facts, item, depth + 1) for item in node.inputs[node.op_type == "Where" :]]
        known = [limit for limit in limits if limit is not None]
        return max(known) if len(known) == len(limits) else None
    return _arithmetic(facts, node, depth)


def _arithmetic(facts: ScopeFacts, node: Node, depth: int) -> int | None:
    if node.op_type not in ("Add", "Div", "Mod", "Mul"):
        return None
    first, second = (bound(facts, item, depth + 1) for item in node.inputs)
    if first is None or second is None:
        return None
    if node.op_type == "Add":
        return first + second - 1
    if node.op_type == "Mul":
        return (first - 1) * (second - 1) + 1
    divisor = facts.constant(node.input(1))
    if divisor is None or not (divisor > 0).all():
        return None
    return min(first, second - 1) if node.op_type == "Mod" else (first - 1) // int(divisor.min()) + 1


def _extent(facts: ScopeFacts, node: Node) -> int | None:
    shape = facts.shape(node.input(0))
    axis = node.attr("axis", -1 if node.op_type == "TopK" else 0)
    if not shape:
        return None
    size = shape[axis]
    return int(size) if isinstance(size, int | np.integer) else None

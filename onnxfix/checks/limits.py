"""Evaluates one limit of an operator's record on one node."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from onnxfix.checks._registry import Context, Problem, find_check
from onnxfix.checks.parser_values import Kind
from onnxfix.errors import UsageError
from onnxfix.model.opsets import schema_of

if TYPE_CHECKING:
    from onnxfix.model.view import Node
    from onnxfix.targets import Limit


def broken(limit: Limit, context: Context) -> Problem | None:
    """What is wrong where the node does not meet `limit`; None where it does or where that cannot be told.

    What cannot be told passes: a verdict is never made of missing facts. The parser's own refusal of the value that carries
    them comes earlier in the graph.
    """
    node = context.node
    for name, values in limit.when.items():
        if attribute_or_default(node, name) not in values:
            return None
    if limit.opset:
        return _opset(limit, node)
    if limit.attribute:
        return _attribute(limit, node)
    if limit.check:
        return find_check(limit.check)(context)
    assert limit.input is not None
    return _input(limit, limit.input, context)


def input_label(node: Node, slot: int) -> str:
    """The input's name in the operator's schema, e.g. `scales`."""
    names = _schema_inputs(node.op_type, node.domain, node.opset or 0)
    return names[slot] if slot < len(names) else (names[-1] if names else f"input {slot}")


@cache
def _schema_inputs(op: str, domain: str, opset: int) -> tuple[str, ...]:
    schema = schema_of(op, opset, domain)
    return () if schema is None else tuple(entry.name for entry in schema.inputs)


def attribute_or_default(node: Node, name: str) -> Any:
    """The attribute's value, else the schema's default, else None."""
    value = node.attr(name)
    return _schema_default(node.op_type, node.domain, node.opset or 0, name) if value is None else value


@cache
def _schema_default(op: str, domain: str, opset: int, name: str) -> Any:
    from onnxfix.model.view import attribute_value

    schema = schema_of(op, opset, domain)
    attribute = None if schema is None else schema.attributes.get(name)
    if attribute is None or not attribute.default_value.name:
        return None
    return attribute_value(attribute.default_value)


def _span(text: str, where: str) -> tuple[int, int]:
    low, separator, high = text.partition("..")
    try:
        return (int(low) if low else 0), (int(high) if high else 10**9) if separator else int(low)
    except ValueError:
        raise UsageError(f"{where}: {text!r} is no span; write 3, 3..4, ..9 or 9..") from None


def _opset(limit: Limit, node: Node) -> Problem | None:
    low, high = _span(limit.opset, "opset")
    opset = node.opset
    if opset is None or low <= opset <= high:
        return None
    return Problem(f"in opset {opset} is not taken, only {f'up to opset {high}' if opset > high else f'from opset {low} on'}")


def _attribute(limit: Limit, node: Node) -> Problem | None:
    value = attribute_or_default(node, limit.attribute)
    if value is None:
        return None
    entries = value if isinstance(value, tuple) else (value,)
    if all(entry in limit.allowed for entry in entries):
        return None
    shown = _show(value)
    return Problem(f"with {limit.attribute}={shown} is not taken, only {' or '.join(_show(item) for item in limit.allowed)}")


def _show(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ",".join(_show(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _input(limit: Limit, slot: int, context: Context) -> Problem | None:
    name = context.node.input(slot)
    if limit.present is not None:
        if bool(name) == limit.present:
            return None
        return Problem(
            f"needs its input {input_label(context.node, slot)}"
            if limit.present
            else f"reads no input {input_label(context.node, slot)}",
            (slot,),
        )
    if not name:
        return None
    label = input_label(context.node, slot)
    kind = context.values.kind(name)
    if limit.constant or limit.folded:
        if kind in (Kind.WEIGHTS, Kind.LOST) or (limit.folded and context.facts.is_constant(name)):
            return None
        how = "computed from constants" if context.facts.is_constant(name) else "computed at run time"
        return Problem(f"needs {label} as an initializer; here it is {how}", (slot,))
    if limit.tensor:
        return Problem(f"takes no constant as {label}", (slot,)) if kind is Kind.WEIGHTS else None
    if limit.types:
        dtype = context.facts.dtype_name(name)
        if dtype == "?" or dtype in limit.types:
            return None
        return Problem(f"does not take {dtype} as {label}, only {', '.join(sorted(limit.types))}", (slot,))
    if limit.refused:
        # bytes that are weights are made integers when they are read
        dtype = context.facts.dtype_name(name)
        held = "INT32" if dtype == "UINT8" and kind is Kind.WEIGHTS else dtype
        return Problem(f"does not take {dtype} as {label}", (slot,)) if held in limit.refused else None
    rank = context.facts.rank(name) if not context.target.implicit_batch else context.values.rank(name)
    low, high = _span(limit.rank, "rank")
    if rank is None or low <= rank <= high:
        return None
    batch = 1 if context.target.implicit_batch else 0
    wanted = f"{low + batch}" if low == high else f"{low + batch} to {high + batch}"
    return Problem(f"takes {label} of rank {wanted} only; here it is {rank + batch}", (slot,))

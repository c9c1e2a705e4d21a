"""Attribute values that are numbers rather than names."""

from __future__ import annotations

from functools import cache

import numpy as np

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.limits import attribute_or_default
from onnxfix.model.opsets import schema_of


@check("attributes.at_least")
def at_least(context: Context) -> Problem | None:
    """A smaller value than `minimum` is raised to it without a word."""
    # ONNX holds attributes as float32, in which 0.0001 is a little less
    name, minimum = str(context.args["attribute"]), float(np.float32(context.args["minimum"]))
    value = attribute_or_default(context.node, name)
    if value is None or float(value) >= minimum:
        return None
    return Problem(f"with {name}={float(value):g} is computed with {minimum:g}")


@check("attributes.present")
def present(context: Context) -> Problem | None:
    """The attribute must be there in this very spelling, from opset `since` on and up to opset `up_to` where these are given."""
    if not int(context.args.get("since", 0)) <= (context.node.opset or 0) <= int(context.args.get("up_to", 10**6)):
        return None
    name = str(context.args["attribute"])
    return None if name in context.node.attributes else Problem(f"needs its attribute {name}")


@check("attributes.absent")
def absent(context: Context) -> Problem | None:
    """None of the attributes `names` may be there."""
    found = [name for name in context.args["names"] if name in context.node.attributes]
    return Problem(f"with attribute {found[0]} is not taken") if found else None


@check("attributes.older_form")
def older_form(context: Context) -> Problem | None:
    """The node has attributes that only an older version of the operator has."""
    node = context.node
    newest = node.opset or 0
    known = _attributes_at(node.op_type, newest)
    extra = [name for name in node.attributes if known is not None and name not in known]
    if not extra:
        return None
    for opset in range(newest - 1, 0, -1):
        older = _attributes_at(node.op_type, opset)
        if older is not None and all(name in older for name in extra):
            return Problem(f"has attribute {', '.join(extra)} of opset {opset}; in the model's opset {newest} it is an input")
    return None


@cache
def _attributes_at(op: str, opset: int) -> frozenset[str] | None:
    schema = schema_of(op, opset)
    return None if schema is None else frozenset(schema.attributes)

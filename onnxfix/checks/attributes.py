"""Attribute values that are numbers rather than names."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.limits import attribute_or_default


@check("attributes.at_least")
def at_least(context: Context) -> Problem | None:
    """A smaller value than `minimum` is raised to it without a word."""
    name, minimum = str(context.args["attribute"]), float(context.args["minimum"])
    value = attribute_or_default(context.node, name)
    if value is None or float(value) >= minimum:
        return None
    return Problem(f"with {name}={float(value):g} is computed with {minimum:g}")


@check("attributes.present")
def present(context: Context) -> Problem | None:
    """The attribute must be there in this very spelling; with `newest`, up to that opset (newer forms are refused as such)."""
    if (context.node.opset or 0) > int(context.args.get("newest", 10**6)):
        return None
    name = str(context.args["attribute"])
    return None if name in context.node.attributes else Problem(f"needs its attribute {name}")

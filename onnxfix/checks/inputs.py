"""Which inputs a node has."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


@check("inputs.at_most")
def at_most(context: Context) -> Problem | None:
    """The importer reads `count` inputs; what newer versions of the operator moved to an input it refuses."""
    given = len(context.node.inputs)
    return Problem(f"has {given} inputs; only {context.args['count']} is read") if given > int(context.args["count"]) else None

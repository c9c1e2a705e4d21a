"""Outputs that an importer does not give."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


@check("outputs.only_first_from")
def only_first_from(context: Context) -> Problem | None:
    """From opset `opset` on naming a second output is refused."""
    if (context.node.opset or 0) < int(context.args["opset"]) or len(context.node.outputs) < 2:
        return None
    return Problem("has more than one output")


@check("outputs.only_first")
def only_first(context: Context) -> Problem | None:
    """Outputs after the first are not made; naming one is enough for some releases (`named`), others fail where it is read."""
    node = context.node
    extra = [name for name in node.outputs[1:] if name]
    if context.args.get("named"):
        return Problem("has more than one output") if len(node.outputs) > 1 else None
    used = [name for name in extra if node.scope.consumers.get(name) or name in node.scope.outputs]
    return Problem(f"does not give output {used[0]!r}, which is used") if used else None


@check("outputs.trains")
def trains(context: Context) -> Problem | None:
    """Before opset 14 BatchNormalization with more than one output takes the statistics of the batch."""
    if (context.node.opset or 0) >= 14 or len([name for name in context.node.outputs if name]) < 2:
        return None
    return Problem("has more than one output, which before opset 14 means statistics of the batch")


@check("outputs.graph_output")
def graph_output(context: Context) -> Problem | None:
    """Output 0 of element type `dtype` must be an output of the graph and feed no other node."""
    node = context.node
    name = node.outputs[0]
    if context.facts.dtype_name(name) != context.args["dtype"]:
        return None
    if name in node.scope.outputs and not node.scope.consumers.get(name):
        return None
    return Problem(f"gives {context.args['dtype']}, which only outputs of the graph can be")


@check("outputs.padded_rows")
def padded_rows(context: Context) -> Problem | None:
    """The result has a fixed number of rows, the last of which is repeated."""
    return Problem("gives a fixed number of rows: behind the last selected one it is repeated")

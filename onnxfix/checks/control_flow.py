"""If, Loop and Scan."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


@check("control_flow.scan_output")
def scan_output(context: Context) -> Problem | None:
    """A Loop needs a scan output: the importer reads one more output of the body than there are, and throws.

    Source: onnx-tensorrt at 84b5be1 (7.0 as released), builtin_op_importers.cpp, Loop.
    """
    node = context.node
    body = node.subgraphs.get("body")
    states = len(node.inputs) - 2
    if body is None or len(body.outputs) > 1 + states:
        return None
    return Problem("gives nothing but its state; without a scan output the importer fails")


@check("control_flow.while_loop")
def while_loop(context: Context) -> Problem | None:
    """A Loop without a trip count, whose condition the body computes."""
    node = context.node
    body = node.subgraphs.get("body")
    if body is None or not body.outputs or (node.input(0) and not _endless(context, node.input(0))):
        return None
    condition = body.outputs[0]
    while condition in body.producers and body.producers[condition].op_type == "Identity":
        condition = body.producers[condition].input(0)
    if condition in body.inputs or condition not in body.producers or body.producers[condition].op_type == "Constant":
        return None
    return Problem("ends when its body says so")


def _endless(context: Context, name: str) -> bool:
    count = context.facts.numbers(name)
    return count is not None and int(count.ravel()[0]) >= 2**31 - 1

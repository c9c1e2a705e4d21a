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
    """A Loop whose condition the body computes; with `counted` in the limit those with a trip count do not count.

    Source: onnx-tensorrt 7.0 to 7.2.1, Loop (kWHILE on the initial condition); onnx/onnx-tensorrt#891 for 8.5.
    """
    node = context.node
    body = node.subgraphs.get("body")
    if body is None or not body.outputs or not node.input(1):
        return None
    if context.args.get("counted") and node.input(0) and not _endless(context, node.input(0)):
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

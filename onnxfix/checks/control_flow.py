"""If, Loop and Scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.parser_values import Kind
from onnxfix.model.dims import Poly

if TYPE_CHECKING:
    from onnxfix.model.dims import Number


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


@check("control_flow.same_shapes")
def same_shapes(context: Context) -> Problem | None:
    """Branches of a condition that is no initializer give outputs of one shape.

    Source: NVIDIA/TensorRT#4603 (`IIfConditionalOutputLayer inputs must have the same shape`).
    """
    node = context.node
    branches = [node.subgraphs.get(name) for name in ("then_branch", "else_branch")]
    if context.values.kind(node.input(0)) is Kind.WEIGHTS or branches[0] is None or branches[1] is None:
        return None
    for one, other in zip(branches[0].outputs, branches[1].outputs, strict=False):
        first, second = context.facts.inner(branches[0]).shape(one), context.facts.inner(branches[1]).shape(other)
        if first is None or second is None:
            continue
        if len(first) != len(second) or any(_differ(a, b) for a, b in zip(first, second, strict=True)):
            return Problem(f"has branches that give shapes {list(first)} and {list(second)}")
    return None


def _differ(one: Number, other: Number) -> bool:
    return not isinstance(one, Poly) and not isinstance(other, Poly) and one != other

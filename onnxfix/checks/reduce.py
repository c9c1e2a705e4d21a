"""Reductions."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


@check("reduce.axes_input")
def axes_input(context: Context) -> Problem | None:
    """Where axes are an input (from opset `since` on), the importer reads the attribute alone and reduces all axes.

    Source: onnx-tensorrt 5.1 to 9.3, builtin_op_importers.cpp, ReduceMax and the others (ReduceSum: to release/7.2.1).
    """
    node = context.node
    if (node.opset or 0) < int(context.args["since"]) or node.attr("axes") is not None:
        return None
    name = node.input(1)
    axes = context.facts.numbers(name) if name else None
    none_given = not name or (axes is not None and axes.size == 0)
    if none_given:
        return (
            Problem("with noop_with_empty_axes reduces all axes instead of none") if node.attr("noop_with_empty_axes", 0) else None
        )
    rank = context.facts.rank(node.input(0))
    if axes is not None and rank is not None and len({int(axis) % max(rank, 1) for axis in axes.ravel()}) == rank:
        return None
    return Problem("reduces all axes, whatever its input axes says", (1,))

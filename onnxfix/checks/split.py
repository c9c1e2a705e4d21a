"""Split."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.model.dims import Poly


@check("split.uneven")
def uneven(context: Context) -> Problem | None:
    """Without sizes every part gets the quotient rounded down, so that the rest is lost.

    Source: onnx-tensorrt 6.0-full-dims to 9.3, builtin_op_importers.cpp, Split (floorDiv).
    """
    node = context.node
    shape = context.facts.shape(node.input(0))
    axis = node.attr("axis", 0)
    if node.input(1) or node.attr("split") is not None or shape is None or not -len(shape) <= axis < len(shape):
        return None
    size, parts = shape[axis], len(node.outputs)
    if isinstance(size, Poly) or not parts or size % parts == 0:
        return None
    return Problem(f"into {parts} parts of {size} gives {size // parts} to each and drops the rest", (0,))


@check("split.sizes_input")
def sizes_input(context: Context) -> Problem | None:
    """Sizes as an input (opset 13) are not read: every part gets the same.

    Source: onnx-tensorrt 6.0-full-dims to tag release/7.2.1, builtin_op_importers.cpp, Split.
    """
    node = context.node
    name = node.input(1)
    if not name or node.attr("split") is not None:
        return None
    sizes = context.facts.numbers(name)
    if sizes is not None and len({int(size) for size in sizes.ravel()}) <= 1:
        return None
    return Problem("gets equal parts, whatever its input split says", (1,))

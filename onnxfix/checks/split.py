"""Split."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


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

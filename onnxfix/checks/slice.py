"""Slice."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


@check("slice.steps_given")
def steps_given(context: Context) -> Problem | None:
    """With INT32 starts, steps that are left out count one for every axis of the data, which must be as many as the starts.

    Source: what TensorRT-RTX 1.7 says of ONNX's node tests.
    """
    node = context.node
    rank = context.facts.rank(node.input(0))
    starts = context.facts.shape(node.input(1)) if node.input(1) else None
    if context.facts.dtype_name(node.input(1)) != "INT32" or node.input(4) or rank is None or not starts or starts[0] == rank:
        return None
    return Problem(
        f"leaves its steps out, has INT32 starts and cuts {starts[0]} of {rank} axes",
        (1,),
        f"Assertion failed: length == nbValues: Slice steps length {rank} does not equal starts length {starts[0]}.",
    )


@check("slice.lengths")
def lengths(context: Context) -> Problem | None:
    """Starts, ends, axes and steps must be of one length.

    Source: onnx-tensorrt tags release/7.0 to 10.1-GA, importSlice. The lengths are those that the importer computes.
    """
    node = context.node
    shapes = {slot: context.facts.shape(node.input(slot)) for slot in (1, 2, 3) if node.input(slot)}
    sizes = {slot: shape[0] for slot, shape in shapes.items() if shape is not None and len(shape) == 1}
    wanted = sizes.get(3)
    for slot, word in ((1, "starts"), (2, "ends")):
        if wanted is not None and slot in sizes and sizes[slot] != wanted:
            return Problem(
                f"has {sizes[slot]} {word} for {wanted} axes",
                (slot, 3),
                f"Assertion failed: {word}.size() == axes.size()",
            )
    return None

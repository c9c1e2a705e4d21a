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

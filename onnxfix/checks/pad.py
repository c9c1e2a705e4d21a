"""Padding."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


@check("pad.innermost")
def innermost(context: Context) -> Problem | None:
    """Only the two innermost axes are padded; with `rank` in the limit the data has so many axes.

    Source: onnx-tensorrt 6.0-full-dims to 8.0-GA, builtin_op_importers.cpp, Pad, and convertOnnxPadding.
    """
    pads = _pads(context)
    if pads is None:
        return None
    rank = len(pads) // 2
    if rank != int(context.args.get("rank", rank)):
        return Problem(f"pads data of rank {rank}; only rank {context.args['rank']} is taken")
    outer = max(rank - 2, 0)
    if any(pads[:outer]) or any(pads[rank : rank + outer]):
        return Problem("pads another axis than the two innermost")
    return None


@check("pad.two_axes")
def two_axes(context: Context) -> Problem | None:
    """At most two axes are padded, whichever.

    Source: onnx-tensorrt tag release/8.0, onnx2trt_utils.cpp, convertOnnxPadding.
    """
    pads = _pads(context)
    if pads is None:
        return None
    rank = len(pads) // 2
    padded = [axis for axis in range(rank) if pads[axis] or pads[axis + rank]]
    return Problem(f"pads {len(padded)} axes; only two are taken") if len(padded) > 2 else None


@check("pad.zero")
def zero(context: Context) -> Problem | None:
    """Padding is with zeros; with `no_op` in the limit a node that pads nothing may name another value.

    Source: onnx-tensorrt 6.0-full-dims to tag release/8.0, builtin_op_importers.cpp, Pad (`mode == "constant" && value == 0`).
    """
    node = context.node
    pads = _pads(context)
    if context.args.get("no_op") and pads is not None and not any(pads):
        return None
    given: object = node.attr("value", 0.0)
    if "pads" not in node.attributes and node.input(2):
        numbers = context.facts.constant(node.input(2))
        given = numbers.ravel()[0] if numbers is not None and numbers.size == 1 else 0.0
    value = float(given)  # type: ignore[arg-type]
    return Problem(f"pads with {value:g}, only zeros are taken") if value else None


def _pads(context: Context) -> list[int] | None:
    """The padding in front of every axis, then behind, from the attribute or a constant input."""
    node = context.node
    given = node.attr("pads")
    if given is None and node.input(1) and node.input(3) == "":
        numbers = context.facts.numbers(node.input(1))
        given = None if numbers is None else numbers.ravel()
    return None if given is None else [int(item) for item in given]

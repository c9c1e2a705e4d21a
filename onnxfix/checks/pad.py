"""Which axes an importer pads.

Source of all of these: onnx-tensorrt, Pad in builtin_op_importers.cpp and convertOnnxPadding in onnx2trt_utils.cpp, at the commit
that `rules/targets.toml` names for the release.
"""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


def _pads(context: Context) -> list[int] | None:
    """Begin of every axis, then end of every axis; None where they are not known."""
    node = context.node
    if (node.opset or 0) < 11:
        given = node.attr("pads")
        return None if given is None else list(given)
    numbers = context.facts.numbers(node.input(1)) if node.input(1) and not node.input(3) else None
    return None if numbers is None else [int(item) for item in numbers.ravel()]


@check("pad.spatial_of_images")
def spatial_of_images(context: Context) -> Problem | None:
    """Data of rank 4, of which height and width are padded (6.0 with an explicit batch, 7.0)."""
    pads = _pads(context)
    if pads is None or (len(pads) == 8 and not any(pads[axis] for axis in (0, 1, 4, 5))):
        return None
    return Problem(f"with pads={pads} is not taken, only height and width of data of rank 4 are padded")


@check("pad.last_two_axes")
def last_two_axes(context: Context) -> Problem | None:
    """Only the two innermost axes are padded (7.1, 7.2)."""
    pads = _pads(context)
    if pads is None:
        return None
    half = len(pads) // 2
    if not any(pads[: half - 2]) and not any(pads[half:-2]) and half > 1:
        return None
    return Problem(f"with pads={pads} is not taken, only the last two axes are padded")


@check("pad.two_axes")
def two_axes(context: Context) -> Problem | None:
    """At most two axes are padded, whichever (8.0)."""
    pads = _pads(context)
    if pads is None:
        return None
    half = len(pads) // 2
    padded = [axis for axis in range(half) if pads[axis] or pads[axis + half]]
    return Problem(f"pads {len(padded)} axes, two at most are taken") if len(padded) > 2 else None


@check("pad.zero")
def zero(context: Context) -> Problem | None:
    """Padding is with zeros; with `no_op` a node that pads nothing may say what it likes."""
    node = context.node
    pads = _pads(context)
    if context.args.get("no_op") and pads is not None and not any(pads):
        return None
    if (node.opset or 0) < 11:
        value = float(node.attr("value", 0.0))
    else:
        numbers = context.facts.constant(node.input(2)) if node.input(2) else None
        value = float(numbers.ravel()[0]) if numbers is not None and numbers.size == 1 else 0.0
    return Problem(f"pads with {value:g}, only zeros are taken") if value else None

"""Slice."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.model.dims import Poly


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


@check("slice.foreign_axis")
def foreign_axis(context: Context) -> Problem | None:
    """The bounds of entry i are held against axis i of the data, not against the axis that the entry names.

    Source: onnx-tensorrt branch 6.0, builtin_op_importers.cpp, Slice (`dims.d[i]`).
    """
    node = context.node
    dims = context.values.dims(node.input(0))
    starts, ends, axes, steps = (_entries(context, slot, name) for slot, name in enumerate(("starts", "ends", "axes", "steps"), 1))
    if dims is None or starts is None or ends is None or axes is None or any(isinstance(dim, Poly) for dim in dims):
        return None
    sizes = [int(dim) for dim in dims]  # type: ignore[arg-type]
    for entry, (start, end, axis) in enumerate(zip(starts, ends, axes, strict=False)):
        place = axis + len(sizes) if axis < 0 else axis - 1
        step = steps[entry] if steps is not None and entry < len(steps) else 1
        if not 0 <= place < len(sizes) or entry >= len(sizes) or not step:
            continue
        if _read(start, end, step, sizes[entry], sizes[place]) != _read(start, end, step, sizes[place], sizes[place]):
            return Problem(
                f"cuts axis {axis} of {sizes[place]} by bounds that are held against the {sizes[entry]} of axis {entry + 1}",
                (0,),
            )
    return None


@check("slice.batch_axis")
def batch_axis(context: Context) -> Problem | None:
    """Axis 0 passes only in an entry that does nothing: from 0 by 1, and to the end of axis i of the data where it is entry i.

    Source: onnx-tensorrt branch 6.0, builtin_op_importers.cpp, Slice, and onnx2trt_utils.hpp, convert_axis.
    """
    node = context.node
    dims = context.values.dims(node.input(0))
    starts, ends, axes, steps = (_entries(context, slot, name) for slot, name in enumerate(("starts", "ends", "axes", "steps"), 1))
    if dims is None or starts is None or ends is None:
        return None
    for entry, (start, end, axis) in enumerate(zip(starts, ends, axes if axes is not None else range(len(starts)), strict=False)):
        step = steps[entry] if steps is not None and entry < len(steps) else 1
        held_against = dims[entry] if entry < len(dims) else 0
        if start == 0 and step == 1 and (isinstance(held_against, Poly) or end >= held_against):
            continue
        if axis == 0 or not -len(dims) <= axis <= len(dims):
            what = "the batch axis, which this importer takes for the batch" if axis == 0 else f"axis {axis}, which is not there"
            return Problem(f"cuts {what}", (0,), "Assertion failed: axis >= 0 && axis < nbDims")
    return None


@check("slice.all_inputs")
def all_inputs(context: Context) -> Problem | None:
    """From opset 10 on axes and steps are looked up like starts and ends, whether or not the node has them.

    Source: onnx-tensorrt branch 6.0, builtin_op_importers.cpp, Slice.
    """
    node = context.node
    if (node.opset or 0) < 10 or (node.input(3) and node.input(4)):
        return None
    have = 4 if node.input(3) else 3
    message = f"std::out_of_range: vector::_M_range_check: __n (which is {have}) >= this->size() (which is {have})"
    return Problem("leaves its axes or its steps out; the importer looks both up", (), message)


def _read(start: int, end: int, step: int, held_against: int, size: int) -> tuple[int, int]:
    """First element and their number, as the importer computes them."""
    if start == 0 and end >= held_against and step == 1:
        return 0, size
    first = max(held_against + start, 0) if start < 0 else min(start, held_against - 1)
    behind = max(held_against + end, -1) if end < 0 else min(end, held_against)
    return first, max(-((first - behind) // step), 0)


def _entries(context: Context, slot: int, name: str) -> list[int] | None:
    node = context.node
    given = node.attr(name)
    if given is None and node.input(slot):
        numbers = context.facts.numbers(node.input(slot))
        given = None if numbers is None else numbers.ravel()
    return None if given is None else [int(item) for item in given]


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

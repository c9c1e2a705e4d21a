"""Interpolation forms."""

from __future__ import annotations

import numpy as np

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.limits import attribute_or_default
from onnxfix.model.dims import Poly


@check("resize.scales_spatial")
def scales_spatial(context: Context) -> Problem | None:
    """Upsample's scales: four numbers, the first two 1."""
    scales = context.facts.numbers(context.node.input(1)) if len(context.node.inputs) > 1 else None
    if scales is None:
        given = context.node.attr("scales")
        if given is None:
            return None
        scales = given
    values = [float(item) for item in np.ravel(scales)]
    if len(values) != 4:
        return Problem(f"takes four scales only; here are {len(values)}", (1,), "Assertion failed: scales_weights.count() == 4")
    if values[:2] != [1.0, 1.0]:
        return Problem("scales batch or channels", (1,), "Assertion failed: scales_ptr[0] == 1 && scales_ptr[1] == 1")
    return None


@check("resize.linear_innermost")
def linear_innermost(context: Context) -> Problem | None:
    """Linear interpolation over at most the three innermost axes (canUseLinearResize)."""
    node = context.node
    if attribute_or_default(node, "mode") == "nearest":
        return None
    before, after = context.facts.shape(node.input(0)), context.facts.shape(node.outputs[0])
    if before is None or after is None or len(before) <= 3 or len(before) != len(after):
        return None
    if any(a != b for a, b in zip(before[:-3], after[:-3], strict=False) if not isinstance(b, Poly)):
        return Problem("interpolates more than the three innermost axes")
    return None


@check("resize.nearest_floor")
def nearest_floor(context: Context) -> Problem | None:
    """Nearest interpolation from opset 11 rounds down only."""
    node = context.node
    if (node.opset or 0) < 11 or attribute_or_default(node, "mode") != "nearest":
        return None
    how = attribute_or_default(node, "nearest_mode")
    if how == "floor":
        return None
    return Problem(f'with nearest_mode="{how}" is not taken, only "floor"')


@check("resize.constant_scales")
def constant_scales(context: Context) -> Problem | None:
    """Without sizes the scales must be weights for the parser."""
    node = context.node
    slot = 2 if (node.opset or 0) >= 11 else 1
    if len(node.inputs) >= 4 and node.input(3):
        return None
    name = node.input(slot)
    if not name or context.values.kind(name) in ("weights", "lost"):
        return None
    how = "computed from constants" if context.facts.is_constant(name) else "computed at run time"
    return Problem(f"needs scales as an initializer; here they are {how}", (slot,))


@check("resize.sizes_cut_batch")
def sizes_cut_batch(context: Context) -> Problem | None:
    """Constant sizes that begin 1,1 for data with another batch or other channels: torch 1.3 writes them for every resize.

    Source: torch 1.3 symbolic_opset11.py, which puts ones before the spatial sizes.
    """
    node = context.node
    sizes = context.facts.numbers(node.input(3))
    data = context.facts.shape(node.input(0))
    if sizes is None or data is None or len(sizes) != len(data) or len(data) < 3 or node.attr("axes") is not None:
        return None
    if [int(size) for size in sizes[:2]] != [1, 1] or all(dim == 1 or isinstance(dim, Poly) for dim in data[:2]):
        return None
    return Problem(f"resizes batch and channels from {data[0]},{data[1]} to 1,1; torch 1.3 writes sizes so by mistake", (0, 3))


@check("resize.one_scale_an_axis")
def one_scale_an_axis(context: Context) -> Problem | None:
    """Constant scales or sizes need an entry for every axis of the data; with `axes` in the limit the attribute may choose some."""
    node = context.node
    rank = context.facts.rank(node.input(0))
    if node.attr("axes") is not None and context.args.get("axes"):
        return None
    slot = 3 if node.input(3) else 2
    given = context.facts.numbers(node.input(slot)) if node.input(slot) else None
    if rank is None or given is None or len(given) in ((rank,) if slot == 2 else (0, rank)):
        return None
    return Problem(f"has {len(given)} {'sizes' if slot == 3 else 'scales'} for data of rank {rank}", (slot,))


# (mode, whether sizes are given) -> coordinate transformations that are taken
_COORDINATES = {
    ("nearest", True): ("asymmetric", "align_corners"),
    ("nearest", False): ("asymmetric",),
    ("linear", True): ("half_pixel", "pytorch_half_pixel", "align_corners"),
    ("linear", False): ("asymmetric", "pytorch_half_pixel", "half_pixel"),
}


@check("resize.coordinates")
def coordinates(context: Context) -> Problem | None:
    """Which transformations are taken depends on the mode and on how the size is given.

    Source: onnx-tensorrt tag release/7.2.1, builtin_op_importers.cpp, Resize.
    """
    node = context.node
    if (node.opset or 0) < 11:
        return None
    mode, how = attribute_or_default(node, "mode"), attribute_or_default(node, "coordinate_transformation_mode")
    taken = _COORDINATES.get((mode, len(node.inputs) == 4))
    given = "sizes" if len(node.inputs) == 4 else "scales"
    if taken is None or how in taken:
        return None
    return Problem(
        f'of mode "{mode}" and by {given} takes coordinate_transformation_mode {" or ".join(taken)} only, not {how}',
        (),
        f'Assertion failed: "TensorRT only supports {", ".join(taken)} when {given} are provided!"',
    )


@check("resize.asymmetric_linear")
def asymmetric_linear(context: Context) -> Problem | None:
    """Linear interpolation from asymmetric coordinates, the only ones before opset 11."""
    node = context.node
    if attribute_or_default(node, "mode") != "linear":
        return None
    if (node.opset or 0) >= 11 and attribute_or_default(node, "coordinate_transformation_mode") != "asymmetric":
        return None
    return Problem("interpolates linearly from asymmetric coordinates", (0,))

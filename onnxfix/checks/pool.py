"""Pooling windows."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check


@check("pool.average_pads")
def average_pads(context: Context) -> Problem | None:
    """Padding at the end equals that at the front, or is one more.

    Source: onnx-tensorrt branches 5.1 to 7.1, AveragePool and poolingHelper.
    """
    pads = context.node.attr("pads")
    if not pads or context.node.attr("auto_pad", "NOTSET") != "NOTSET":
        return None
    rank = len(pads) // 2
    if all(pads[axis + rank] - pads[axis] in (0, 1) for axis in range(min(rank, 2))):
        return None
    return Problem(f"with pads={list(pads)} is not taken; padding at the end must equal that at the front or be one more")


@check("pool.count_include_pad")
def count_include_pad(context: Context) -> Problem | None:
    """The importer never reads count_include_pad; it matters where there is padding."""
    if context.node.attr("count_include_pad", 0) and any(context.node.attr("pads", ())):
        return Problem("with count_include_pad=1 is averaged as if the padding were not counted")
    return None


@check("pool.spatial_axes")
def spatial_axes(context: Context) -> Problem | None:
    """Two or three spatial axes, or one that the importer widens itself (rank 3)."""
    kernel = context.node.attr("kernel_shape", ())
    rank = context.facts.rank(context.node.input(0))
    if len(kernel) in (2, 3) or (len(kernel) == 1 and rank == 3):
        return None
    return Problem(f"pools over {len(kernel)} spatial axes; only two or three are taken")

"""Convolutions."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check

_VOLUME = 3


@check("conv.volume_pads")
def volume_pads(context: Context) -> Problem | None:
    """A transposed convolution over a volume has the same padding at both ends, once `output_padding` is taken off the end.

    Source: onnx-tensorrt tags release/7.1 to release/8.2-GA, builtin_op_importers.cpp, ConvTranspose.
    """
    node = context.node
    shape = context.facts.shape(node.input(1))
    axes = len(node.attr("kernel_shape", ())) or (len(shape) - 2 if shape is not None else 0)
    if axes != _VOLUME or node.attr("auto_pad", "NOTSET") != "NOTSET" or node.attr("output_shape") is not None:
        return None
    pads = node.attr("pads", (0,) * 2 * axes)
    extra = node.attr("output_padding", (0,) * axes)
    if len(pads) != 2 * axes or len(extra) != axes:
        return None
    ends = tuple(max(end - more, 0) for end, more in zip(pads[axes:], extra, strict=True))
    if ends == tuple(pads[:axes]):
        return None
    return Problem(f"over a volume has padding {list(pads[:axes])} in front and {list(ends)} behind, less its output_padding")


@check("conv.end_padding_lost")
def end_padding_lost(context: Context) -> Problem | None:
    """Where output_padding is given, the padding at the end is set to 0; it should be less by output_padding.

    Source: onnx-tensorrt branch 6.0, builtin_op_importers.cpp, ConvTranspose (`end_padding.d[i] -= end_padding.d[i]`).
    """
    node = context.node
    extra = node.attr("output_padding")
    if extra is None or node.attr("output_shape") is not None or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return None
    ends = node.attr("pads", (0,) * 2 * len(extra))[len(extra) :]
    if tuple(ends) == tuple(extra):
        return None
    return Problem(f"with output_padding={list(extra)} is computed without its padding at the end, {list(ends)}")

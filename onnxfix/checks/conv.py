"""Convolutions and their transposed form.

Source of all of these: onnx-tensorrt, builtin_op_importers.cpp, Conv and ConvTranspose, at the commit that `rules/targets.toml`
names for the release.
"""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.parser_values import Kind
from onnxfix.model.dims import Poly


@check("conv.channels")
def channels(context: Context) -> Problem | None:
    """The data, as the parser sees it, has the channels that the weights are made for."""
    data = context.values.dims(context.node.input(0))
    weights = context.facts.shape(context.node.input(1))
    axis = 0 if context.target.implicit_batch else 1
    if data is None or weights is None or len(weights) < 3 or len(data) <= axis:
        return None
    wanted, found = weights[1] * context.node.attr("group", 1), data[axis]
    if isinstance(found, Poly) or isinstance(wanted, Poly) or found == wanted:
        return None
    return Problem(f"has weights for {wanted} channels; the parser gives the data {found}", (0, 1))


@check("conv.transposed_bias")
def transposed_bias(context: Context) -> Problem | None:
    """The bias of a ConvTranspose is held against axis 1 of the weights, which with groups is shorter than it."""
    bias, weights = (context.facts.shape(context.node.input(slot)) if context.node.input(slot) else None for slot in (2, 1))
    if not bias or weights is None or len(weights) < 2 or bias[0] == weights[1]:
        return None
    return Problem(f"with group={context.node.attr('group', 1)} has a bias of {bias[0]}; the importer wants {weights[1]}", (2,))


@check("conv.depth_output_padding")
def depth_output_padding(context: Context) -> Problem | None:
    """Over three spatial axes, the first of them gets no output padding."""
    padding = context.node.attr("output_padding", ())
    if len(padding) != 3 or padding[0] == 0:
        return None
    return Problem(f"pads the output's depth by {padding[0]}, which is taken for height and width only")


@check("conv.symmetric_depth")
def symmetric_depth(context: Context) -> Problem | None:
    """Over three spatial axes, padding that is left once the output padding is taken from its end must be the same at both ends."""
    node = context.node
    pads = node.attr("pads", (0,) * 6)
    if len(pads) != 6 or node.attr("auto_pad", "NOTSET") != "NOTSET" or node.attr("output_shape") is not None:
        return None
    after = [max(end - extra, 0) for end, extra in zip(pads[3:], node.attr("output_padding", (0, 0, 0)), strict=False)]
    rank = context.facts.rank(node.input(0))
    if rank != 5 or list(pads[:3]) == after:
        return None
    return Problem(f"pads {list(pads[:3])} in front and {after} behind, beside the output padding; over depth both must be equal")


@check("conv.end_padding_lost")
def end_padding_lost(context: Context) -> Problem | None:
    """Where output_padding is given, branch 6.0 sets the padding at the end to 0 (`end_padding.d[i] -= end_padding.d[i]`)."""
    node = context.node
    extra = node.attr("output_padding")
    if extra is None or node.attr("output_shape") is not None or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return None
    ends = node.attr("pads", (0,) * 2 * len(extra))[len(extra) :]
    if tuple(ends) == tuple(extra):
        return None
    return Problem(f"with output_padding={list(extra)} is computed without its padding at the end, {list(ends)}")


@check("conv.one_dimension_weights")
def one_dimension_weights(context: Context) -> Problem | None:
    """Data of rank 3 is widened to rank 4, run-time weights are not.

    Source: onnx-tensorrt tags release/7.0 to 10.1-GA, convMultiInput.
    """
    if context.facts.rank(context.node.input(0)) != 3 or context.values.kind(context.node.input(1)) in (Kind.WEIGHTS, Kind.LOST):
        return None
    return Problem(
        "of rank 3 needs W as an initializer; here it is computed",
        (1,),
        "Assertion failed: checkSpatialDims(kernel_tensor_ptr->getDimensions())",
    )

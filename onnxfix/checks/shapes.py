"""Static and dynamic dimensions."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.limits import attribute_or_default
from onnxfix.checks.parser_values import Kind
from onnxfix.model.dims import Poly


@check("shapes.static")
def static(context: Context) -> Problem | None:
    """Input 0 must have no dynamic dimension."""
    shape = context.facts.shape(context.node.input(0))
    if shape is None or not any(isinstance(dim, Poly) for dim in shape):
        return None
    return Problem("does not take dynamic dimensions", (0,))


@check("shapes.matmul_constant_rank")
def matmul_constant_rank(context: Context) -> Problem | None:
    """With an implicit batch a constant must have one axis less than the ONNX tensor beside it.

    Otherwise the layer is made and has no valid dimensions (header of release 5.1, IMatrixMultiplyLayer).
    """
    ranks = [(context.values.kind(name), context.values.rank(name)) for name in context.node.inputs]
    tensors = [rank for kind, rank in ranks if kind is Kind.TENSOR and rank is not None]
    if not tensors:
        return None
    for slot, (kind, rank) in enumerate(ranks):
        if kind is Kind.WEIGHTS and rank is not None and rank != tensors[0]:
            return Problem(
                f"multiplies by a constant of rank {rank} where {tensors[0]} is needed beside an implicit batch", (slot,)
            )
    return None


@check("shapes.softmax_flattens")
def softmax_flattens(context: Context) -> Problem | None:
    """Before opset 13 softmax normalises over all axes from `axis` on; the importer normalises over that axis alone.

    Source: onnx-tensorrt branch 5.1, importSoftmax: with axis 1 (its 0) nothing is flattened.
    """
    node = context.node
    shape = context.facts.shape(node.input(0))
    axis = node.attr("axis", 1)
    if shape is None or (node.opset or 0) >= 13 or axis in (-1, len(shape) - 1) or axis != 1:
        return None
    if all(dim == 1 for dim in shape[2:]):
        return None
    return Problem("with axis=1 normalises over channels alone, ONNX over all axes from 1 on", (0,))


@check("shapes.no_constant_operand")
def no_constant_operand(context: Context) -> Problem | None:
    """Every input must be a run-time tensor."""
    for slot, name in enumerate(context.node.inputs):
        if name and context.values.kind(name) is Kind.WEIGHTS:
            return Problem("takes no constant among its inputs", (slot,))
    return None


@check("shapes.reduce_to_scalar")
def reduce_to_scalar(context: Context) -> Problem | None:
    """Without kept dimensions at least one axis must stay; only the attribute `axes` is read.

    Source: onnx-tensorrt branch 6.0-full-dims, onnx2trt_utils.hpp, reduceTensor.
    """
    node = context.node
    rank = context.facts.rank(node.input(0))
    axes = node.attr("axes", ())
    if rank is None or node.attr("keepdims", 1) or 0 < len(axes) < rank:
        return None
    return Problem("reduces all axes to a scalar", (0,))


@check("shapes.axis_inside")
def axis_inside(context: Context) -> Problem | None:
    """The attribute `axis` must name an axis of input 0; ONNX also allows the place after the last."""
    rank = context.facts.rank(context.node.input(0))
    value = attribute_or_default(context.node, "axis")
    if rank is None or not isinstance(value, int) or -rank <= value < rank:
        return None
    return Problem(f"with axis={value} names no axis of data of rank {rank}", (0,))


@check("shapes.squashed")
def squashed(context: Context) -> Problem | None:
    """Data of rank 3 to 5, or at most one dimension that the network does not know: other ranks are reshaped to 4 axes.

    Source: onnx-tensorrt 7.0 to 7.2.1, onnx2trt_utils.cpp, scaleHelper.
    """
    name = context.node.input(0)
    shape = context.facts.shape(name)
    if shape is None or 3 <= len(shape) <= 5:
        return None
    unknown = len(shape) if _reshaped_by_tensor(context, name) else sum(isinstance(dim, Poly) for dim in shape)
    if unknown < 2:
        return None
    return Problem(f"takes data of rank {len(shape)} only where at most one dimension is unknown; here {unknown} are", (0,))


def _reshaped_by_tensor(context: Context, name: str) -> bool:
    """Whether a Reshape made the value whose shape is no weights: the network then knows none of its dimensions."""
    maker = context.node.scope.producers.get(name)
    while maker is not None and maker.op_type in ("Relu", "Identity", "Dropout", "Sigmoid", "Tanh", "LeakyRelu"):
        maker = maker.scope.producers.get(maker.input(0))
    return maker is not None and maker.op_type == "Reshape" and context.values.kind(maker.input(1)) is not Kind.WEIGHTS


@check("shapes.softmax_of_13")
def softmax_of_13(context: Context) -> Problem | None:
    """From opset 13 softmax normalises over one axis, -1 by default; the importer goes on flattening from `axis` on, 1 by default.

    Source: onnx-tensorrt 6.0-full-dims to tag release/7.2.1, builtin_op_importers.cpp, Softmax and LogSoftmax.
    """
    node = context.node
    shape = context.facts.shape(node.input(0))
    if shape is None or (node.opset or 0) < 13 or len(shape) < 2:
        return None
    meant, read = node.attr("axis", -1) % len(shape), node.attr("axis", 1) % len(shape)
    others = [dim for axis, dim in enumerate(shape) if axis >= read and axis != meant]
    if read <= meant and all(dim == 1 for dim in others):
        return None
    return Problem(f"over axis {meant} normalises over all axes from {read} on", (0,))


@check("shapes.not_a_shape")
def not_a_shape(context: Context) -> Problem | None:
    """Integer data of one axis is a shape to the importer, which cannot gather from one.

    Source: onnx-tensorrt branch 6.0-full-dims, builtin_op_importers.cpp, Gather.
    """
    name = context.node.input(0)
    if context.facts.dtype_name(name) not in ("INT32", "INT64") or context.facts.rank(name) != 1:
        return None
    return Problem("takes no integer data of one axis, which the importer takes for a shape", (0,))


@check("shapes.empty_result")
def empty_result(context: Context) -> Problem | None:
    """The result has at least one element; shapes, which are integers of one axis, do not count."""
    if context.facts.rank(context.node.outputs[0]) == 1 and context.facts.dtype_name(context.node.input(0)) in ("INT32", "INT64"):
        return None
    shape = context.facts.shape(context.node.outputs[0])
    if shape is None or not any(not isinstance(dim, Poly) and dim == 0 for dim in shape):
        return None
    return Problem(f"gives a tensor without elements, of shape {[str(dim) for dim in shape]}", (0,))

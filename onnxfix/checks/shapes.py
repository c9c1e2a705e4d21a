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


@check("shapes.matmul_as_fully_connected")
def matmul_as_fully_connected(context: Context) -> Problem | None:
    """Tensors of rank 3 and more are multiplied; everything else must be one sample times a matrix of weights.

    Source: onnx-tensorrt v5.0 (0b5aeae), builtin_op_importers.cpp, MatMul. Ranks there are without the batch.
    """
    left, right = (context.values.kind(context.node.input(slot)) is not Kind.WEIGHTS for slot in (0, 1))
    first, second = (context.values.dims(context.node.input(slot)) for slot in (0, 1))
    if first is None or second is None:
        return None
    if left and right and len(first) >= 2 and len(second) >= 2:
        return None
    if not left:
        return Problem("takes no constant as A", (0,), "Assertion failed: inputs.at(0).is_tensor()")
    if right:
        return Problem("of data of rank 2 needs B as an initializer", (1,), "Assertion failed: inputs.at(1).is_weights()")
    if len(second) != 2:
        return Problem(
            f"takes B of rank 2 only where it is constant; here it is {len(second)}",
            (1,),
            "Assertion failed: weights.shape.nbDims == 2",
        )
    if len(first) not in (1, 3):
        return Problem(
            f"takes A of rank 2 or 4 only beside a constant; here it is {len(first) + 1}",
            (0,),
            "Assertion failed: dims.nbDims == 3",
        )
    sample = 1
    for dim in first:
        if isinstance(dim, Poly):
            return None
        sample *= int(dim)
    if sample == second[0]:
        return None
    return Problem(
        f"multiplies the {sample} elements of a sample as one row; B has {second[0]} rows",
        (0, 1),
        "Assertion failed: weights.shape.d[1] == ninput",
    )


@check("shapes.matmul_vector")
def matmul_vector(context: Context) -> Problem | None:
    """A vector is multiplied by a matrix, not by a batch of them.

    Source: what TensorRT-RTX 1.4 to 1.7 say of ONNX's node tests.
    """
    first, second = (context.facts.rank(context.node.input(slot)) for slot in (0, 1))
    if first != 1 or second is None or second < 3:
        return None
    return Problem(f"of a vector takes B of rank 1 or 2 only; here it is {second}", (1,), "reshape changes volume")


@check("shapes.split_evenly")
def split_evenly(context: Context) -> Problem | None:
    """A Split without sizes must divide its axis; the importer gives every piece the quotient.

    Source: onnx-tensorrt tag 8.6-GA, builtin_op_importers.cpp, Split.
    """
    node = context.node
    shape = context.facts.shape(node.input(0))
    count = node.attr("num_outputs")
    if shape is None or count is None or node.input(1):
        return None
    size = shape[node.attr("axis", 0)]
    if isinstance(size, Poly) or size % count == 0:
        return None
    return Problem(f"divides {size} elements into {count} pieces of {size // count}")

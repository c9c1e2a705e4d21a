"""Static and dynamic dimensions."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.limits import attribute_or_default
from onnxfix.checks.parser_values import MAX_RANK, Kind
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


@check("shapes.empty_result")
def empty_result(context: Context) -> Problem | None:
    """The result has at least one element; shapes, which are integers of one axis, do not count."""
    if context.facts.rank(context.node.outputs[0]) == 1 and context.facts.dtype_name(context.node.input(0)) in ("INT32", "INT64"):
        return None
    shape = context.facts.shape(context.node.outputs[0])
    if shape is None or not any(not isinstance(dim, Poly) and dim == 0 for dim in shape):
        return None
    return Problem(f"gives a tensor without elements, of shape {[str(dim) for dim in shape]}", (0,))


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


@check("shapes.at_most_eight")
def at_most_eight(context: Context) -> Problem | None:
    """A constant new shape has at most 8 entries, which is all that a tensor can have; without the batch where it is implicit.

    Source: TensorRT-RTX 1.4 to 1.7 (`Number of dimensions (10) is not in the valid range`); apache/mxnet#20258.
    """
    name = context.node.input(1)
    length = context.facts.shape(name) if name and context.values.kind(name) is Kind.WEIGHTS else None
    if not length or isinstance(length[0], Poly) or length[0] - context.target.implicit_batch <= MAX_RANK:
        return None
    if context.facts.is_constant(context.node.input(0)):
        return None
    return Problem(f"gives {length[0]} axes; a tensor has at most {MAX_RANK}", (1,))


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

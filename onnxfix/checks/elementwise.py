"""Operands of element-wise operators."""

from __future__ import annotations

import numpy as np
import onnx

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.parser_values import Kind, conformable
from onnxfix.model.dims import Poly


@check("elementwise.implicit_batch")
def implicit_batch(context: Context) -> Problem | None:
    """Weights may have at most one axis more than the tensors, and then that axis must be 1.

    Source: onnx-tensorrt branch 5.1, combineTensorsElementwise.
    """
    names = [name for name in context.node.inputs if name]
    ranks = {name: context.values.rank(name) for name in names}
    if any(rank is None for rank in ranks.values()):
        return None
    tensors = [ranks[name] or 0 for name in names if context.values.kind(name) is not Kind.WEIGHTS]
    highest = max((rank or 0 for rank in ranks.values()), default=0)
    if not tensors or highest <= max(tensors):
        return None
    for slot, name in enumerate(names):
        if context.values.kind(name) is not Kind.WEIGHTS:
            continue
        dims = context.values.dims(name) or ()
        if highest == max(tensors) + 1:
            if len(dims) == highest and dims[0] != 1:
                return Problem(
                    f"takes a constant with batch axis {dims[0]}; only 1 can be stripped",
                    (slot,),
                    "Assertion failed: weights.shape.d[BATCH_DIM] == 1",
                )
        else:
            return Problem(
                f"takes a constant of rank {highest} beside tensors of rank {max(tensors) + 1} (batch included)",
                (slot,),
                "Assertion failed: tensor->getDimensions().nbDims == combined->getDimensions().nbDims",
            )
    return None


@check("elementwise.same_types")
def same_types(context: Context) -> Problem | None:
    """Strongly typed networks want operands of one element type; with `among` in the limit only these may not be mixed."""
    dtypes = {context.facts.dtype_name(name) for name in context.node.inputs if name} - {"?"}
    if "among" in context.args:
        dtypes &= set(context.args["among"])
    if len(dtypes) < 2:
        return None
    return Problem(f"mixes element types {', '.join(sorted(dtypes))}")


@check("elementwise.no_integers")
def no_integers(context: Context) -> Problem | None:
    """No operand of INT32, which is what INT64 becomes."""
    for slot, name in enumerate(context.node.inputs):
        if context.facts.dtype_name(name) in ("INT32", "INT64"):
            return Problem(f"takes no {context.facts.dtype_name(name)} data", (slot,))
    return None


@check("elementwise.slope")
def slope(context: Context) -> Problem | None:
    """The slope of PRelu can be broadcast to the data, axis by axis from the back, which ONNX wants as well.

    Source: TensorRT-RTX 1.4 to 1.7 (`slope tensor must be unidirectional broadcastable to input tensor`);
    NVIDIA/TensorRT#310 for 7.0.
    """
    data, given = context.facts.shape(context.node.input(0)), context.facts.shape(context.node.input(1))
    if data is None or given is None:
        return None
    fits = len(given) <= len(data) and all(
        one == 1 or one == other or isinstance(one, Poly) or isinstance(other, Poly)
        for one, other in zip(reversed(given), reversed(data), strict=False)
    )
    if fits:
        return None
    return Problem(f"has a slope of shape {list(given)}, which cannot be broadcast to {list(data)}", (1,))


@check("elementwise.log_of_exp")
def log_of_exp(context: Context) -> Problem | None:
    """The importer takes the logarithm of exponentials that nothing was taken off from.

    Source: onnx-tensorrt 5.0 to 10.1, builtin_op_importers.cpp: LogSoftmax is a Softmax and a Log, ReduceLogSumExp an Exp, a sum
    and a Log; exp overflows float32 above 88 and half precision above 11.
    """
    if context.facts.dtype_name(context.node.input(0)) not in ("FLOAT", "FLOAT16", "?"):
        return None
    return Problem("is the logarithm of plain exponentials, infinite where values lie more than 87 apart")


@check("elementwise.legacy_broadcast")
def legacy_broadcast(context: Context) -> Problem | None:
    """Before opset 7 an operand is broadcast only where `broadcast` says so, which the importer does not read.

    With `same = "shape"` the operands must have one shape, else one rank. Source: onnx-tensorrt tags release/7.0 to 9.3-GA,
    broadcastTensors; what the recorded parsers say of ONNX's node tests of opset 6.
    """
    if (context.node.opset or 0) >= 7:
        return None
    shapes = [context.facts.shape(name) for name in context.node.inputs]
    seen = [shape if context.args["same"] == "shape" or shape is None else len(shape) for shape in shapes]
    if None in seen or len(set(seen)) < 2:
        return None
    shown = " and ".join("[" + ",".join(map(str, shape or ())) + "]" for shape in shapes)
    return Problem(f"of opset {context.node.opset} takes operands of one {context.args['same']} only; here they are {shown}")


@check("elementwise.conformable")
def operands_conformable(context: Context) -> Problem | None:
    """Sizes of an axis must be equal or 1; with `first` the others must fit the first operand.

    Source: what TensorRT-RTX 1.4 to 1.7 say of ONNX's node tests.
    """
    shapes = [context.facts.shape(name) for name in context.node.inputs if name]
    fits = conformable(shapes)
    if context.args.get("first") and fits and shapes and shapes[0] is not None:
        fits = all(
            shape is None
            or (len(shape) <= len(shapes[0]) and all(dim in (1, shapes[0][axis - len(shape)]) for axis, dim in enumerate(shape)))
            for shape in shapes[1:]
        )
    if fits:
        return None
    shown = " and ".join("[" + ",".join(map(str, shape or ())) + "]" for shape in shapes)
    return Problem(f"cannot broadcast {shown}", (0, 1), "broadcast dimensions must be conformable")


# What hands on the elements of its first input, perhaps repeated.
_KEEPING = ("Cast", "Expand", "Identity", "Reshape", "Squeeze", "Tile", "Unsqueeze")


@check("elementwise.infinite")
def infinite(context: Context) -> Problem | None:
    """Input 0 holds no constant infinity, in whatever shape that is spread.

    Source: NVIDIA/trt-samples-for-hackathon-cn#84: a causal mask of -inf has NaN under TensorRT 9.0.
    """
    scope, name = context.node.scope, context.node.input(0)
    while not context.facts.is_constant(name):
        maker = scope.producers.get(name)
        if maker is None or maker.op_type not in (*_KEEPING, "ConstantOfShape"):
            return None
        if maker.op_type == "ConstantOfShape":
            value = maker.attr("value")
            filled = None if value is None else onnx.numpy_helper.to_array(value)
            return _infinite_problem(filled)
        name = maker.input(0)
    return _infinite_problem(context.facts.constant(name))


def _infinite_problem(array: np.ndarray | None) -> Problem | None:
    if array is None or not np.issubdtype(array.dtype, np.floating) or not np.isinf(array).any():
        return None
    return Problem("of infinities has NaN in place of the zeros", (0,))

"""The first importer with an explicit batch, that of 6.0 (onnx-tensorrt branch 6.0-full-dims, builtin_op_importers.cpp)."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.parser_values import Kind


@check("full_dims.from_shapes")
def from_shapes(context: Context) -> Problem | None:
    """Input 1 may be constant or computed from the shapes of other values, not data that the caller gives."""
    name = context.node.input(1)
    if not name or context.facts.is_constant(name) or context.facts.array(name) is not None:
        return None
    if context.values.kind(name) is Kind.LOST:
        return None
    return Problem(f"takes its {context.args['what']} from data that the caller gives", (1,), "Shape tensor input")


@check("full_dims.gather")
def gather(context: Context) -> Problem | None:
    """Nothing is gathered from a shape, nor by indices of rank 2 and more from data of rank 1.

    Source: onnx-tensorrt branch 6.0-full-dims, builtin_op_importers.cpp, Gather.
    """
    node = context.node
    if context.facts.rank(node.input(0)) != 1:
        return None
    if context.facts.dtype_name(node.input(0)) in ("INT32", "INT64"):
        return Problem(
            "takes no shape as data",
            (0,),
            "Assertion failed: !(data->getType() == nvinfer1::DataType::kINT32 && nbDims == 1)",
        )
    rank = context.facts.rank(node.input(1))
    if rank is None or rank < 2:
        return None
    return Problem(
        f"takes indices of rank 0 or 1 only for data of rank 1; here it is {rank}",
        (1,),
        "Assertion failed: currentDims == 1 || currentDims == 2",
    )


@check("full_dims.slice_empty")
def slice_empty(context: Context) -> Problem | None:
    """No axis may be cut to nothing."""
    shape = context.facts.shape(context.node.outputs[0])
    if shape is None or 0 not in shape:
        return None
    return Problem(
        f"leaves nothing of axis {shape.index(0)}",
        (0,),
        'Assertion failed: sliceSize > 0 && "TensorRT does not support 0 sized slices"',
    )


@check("full_dims.shape_output")
def shape_output(context: Context) -> Problem | None:
    """A shape may not be an output of the graph."""
    if context.node.outputs[0] not in context.node.scope.outputs:
        return None
    return Problem(
        "gives a shape as an output of the graph", (), 'Assertion failed: false && "Shape tensor outputs are unsupported!"'
    )

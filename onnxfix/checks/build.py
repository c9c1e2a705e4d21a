"""What parsers take and builders refuse (`rules/builds.toml`)."""

from __future__ import annotations

import numpy as np
import onnx

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.limits import input_label
from onnxfix.checks.parser_values import Kind
from onnxfix.model.dims import Poly

_QUANTIZED = frozenset({"FLOAT8E4M3FN", "FLOAT4E2M1", "INT4"})


@check("build.always")
def always(context: Context) -> Problem | None:
    """In no form."""
    return Problem(f"is parsed, and no engine of {context.target.id} is built with it")


@check("build.cast_of_quantized")
def cast_of_quantized(context: Context) -> Problem | None:
    """A cast from or to a type that only QuantizeLinear makes and DequantizeLinear reads."""
    node, facts = context.node, context.facts
    source = facts.dtype_name(node.input(0))
    wanted = onnx.TensorProto.DataType.Name(node.attr("to", 0)) if node.op_type == "Cast" else facts.dtype_name(node.input(1))
    for dtype, way in ((wanted, "to"), (source, "from")):
        if dtype in _QUANTIZED:
            return Problem(f"{way} {dtype} is parsed, and the builder refuses it")
    return None


@check("build.quantized_constant")
def quantized_constant(context: Context) -> Problem | None:
    """A constant operand of INT8."""
    for slot, name in enumerate(context.node.inputs):
        if name and context.facts.dtype_name(name) == "INT8" and context.values.kind(name) is Kind.WEIGHTS:
            return Problem("with an INT8 constant is parsed, and the builder refuses it", (slot,))
    return None


@check("build.at_most")
def at_most(context: Context) -> Problem | None:
    """A constant in `slot`, or attribute `attribute` of older forms, is at most `maximum`."""
    slot, maximum = int(context.args["slot"]), int(context.args["maximum"])
    name = context.node.input(slot)
    value = context.node.attr(str(context.args["attribute"]))
    if value is None and name:
        numbers = context.facts.numbers(name)
        value = None if numbers is None or np.size(numbers) != 1 else int(np.ravel(numbers)[0])
    if value is None or value <= maximum:
        return None
    return Problem(f"with {input_label(context.node, slot)} = {value} is more than the layer's {maximum}", (slot,) if name else ())


@check("build.inside_branch")
def inside_branch(context: Context) -> Problem | None:
    """The node does not stand in a branch of an If."""
    scope = context.node.scope
    parent = scope.parent
    while parent is not None:
        for index, graphs in parent.subgraphs.items():
            if scope in graphs.values() and parent.nodes_by_index[index].op_type == "If":
                return Problem("inside a branch of If is not built")
        scope, parent = parent, parent.parent
    return None


@check("build.static_reflection")
def static_reflection(context: Context) -> Problem | None:
    """No dimension of data that is reflected is dynamic."""
    shape = context.facts.shape(context.node.input(0))
    if context.node.attr("mode", "constant") != "reflect" or not any(isinstance(dim, Poly) for dim in shape or ()):
        return None
    return Problem("of mode reflect with a dynamic dimension is reported to fail")


@check("build.unsqueezed_gemm")
def unsqueezed_gemm(context: Context) -> Problem | None:
    """No axis is added behind what a Gemm gives."""
    maker = context.node.scope.producers.get(context.node.input(0))
    if maker is None or maker.op_type != "Gemm" or 2 not in context.node.attr("axes", ()):
        return None
    return Problem("of what a Gemm gives is reported to fail", (0,))


@check("build.head_width")
def head_width(context: Context) -> Problem | None:
    """A head of Attention has at most `maximum` elements."""
    node = context.node
    shape = context.facts.shape(node.input(0))
    if shape is None or isinstance(shape[-1], Poly):
        return None
    heads = node.attr("q_num_heads") if len(shape) == 3 else 1
    width = int(shape[-1]) // heads if heads else 0
    if width <= int(context.args["maximum"]):
        return None
    return Problem(f"with heads of {width} elements has no kernel")


_SHAPE_READERS = {
    "Reshape": (1,), "Expand": (1,), "Tile": (1,), "Slice": (1, 2, 3, 4), "Resize": (2, 3), "Upsample": (1,), "Pad": (1,),
    "ConstantOfShape": (0,), "Range": (0, 1, 2), "TopK": (1,),
}  # fmt: skip


@check("build.shape_arithmetic")
def shape_arithmetic(context: Context) -> Problem | None:
    """The node does not stand between Shape and a reader of shapes."""
    node = context.node
    if context.facts.is_constant(node.outputs[0]) or not _made_of_shape(context, node.input(0)) or not _shapes(context):
        return None
    return Problem("computes part of a shape")


def _made_of_shape(context: Context, name: str) -> bool:
    scope, todo, seen = context.node.scope, [name], set()
    while todo:
        value = todo.pop()
        maker = scope.producers.get(value)
        if value in seen or maker is None:
            continue
        seen.add(value)
        if maker.op_type in ("Shape", "Size"):
            return True
        todo.extend(item for item in maker.inputs if item)
    return False


def _shapes(context: Context) -> bool:
    scope, todo, seen = context.node.scope, list(context.node.outputs), set()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        for reader, slot in scope.consumers.get(value, ()):
            if slot in _SHAPE_READERS.get(reader.op_type, ()):
                return True
            if (context.facts.rank(reader.outputs[0]) or 0) <= 1:
                todo.extend(reader.outputs)
    return False


@check("build.shape_rank")
def shape_rank(context: Context) -> Problem | None:
    """Shape arithmetic stays within one axis."""
    node = context.node
    rank = context.facts.rank(node.outputs[0])
    if rank is None or rank < 2 or context.facts.is_constant(node.outputs[0]):
        return None
    if not _made_of_shape(context, node.input(0)) or (context.facts.rank(node.input(0)) or 0) > 1:
        return None
    if context.facts.dtype_name(node.input(0)) not in ("INT32", "INT64"):
        return None
    return Problem(f"gives part of a shape {rank} axes", (0,))

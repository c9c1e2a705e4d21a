"""What parsers take and builders refuse (`rules/builds.toml`)."""

from __future__ import annotations

import onnx

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.parser_values import Kind

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

"""Quantized data."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.model.dims import Poly

_FOUR_BITS = ("INT4", "UINT4", "FLOAT4E2M1")


@check("quantization.even_count")
def even_count(context: Context) -> Problem | None:
    """Data of 4 bits must have an even number of elements.

    Source: what TensorRT-RTX 1.4 to 1.7 say of ONNX's node tests.
    """
    name = context.node.input(0)
    shape = context.facts.shape(name)
    if context.facts.dtype_name(name) not in _FOUR_BITS or shape is None:
        return None
    count = 1
    for dim in shape:
        if isinstance(dim, Poly):
            return None
        count *= int(dim)
    if count % 2 == 0:
        return None
    return Problem(f"has {count} elements of 4 bits; their number must be even", (0,), "Assertion failed: (inputSize % 2 == 0)")

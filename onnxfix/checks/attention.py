"""Attention."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.model.dims import Poly


@check("attention.key_value_shape")
def key_value_shape(context: Context) -> Problem | None:
    """Key and value must have one shape, which ONNX does not ask for.

    Source: what TensorRT-RTX 1.4 to 1.7 say of ONNX's node tests.
    """
    key, value = (context.facts.shape(context.node.input(slot)) for slot in (1, 2))
    if key is None or value is None or len(key) != len(value):
        return None
    if all(isinstance(a, Poly) or isinstance(b, Poly) or a == b for a, b in zip(key, value, strict=True)):
        return None
    return Problem(
        f"has a key [{','.join(map(str, key))}] and a value [{','.join(map(str, value))}]; they must have one shape",
        (1, 2),
        "Key and Value must have the same shape",
    )


@check("attention.causal_mask")
def causal_mask(context: Context) -> Problem | None:
    """With is_causal there may be no mask beside it.

    Source: what TensorRT-RTX 1.4 to 1.7 say of ONNX's node tests.
    """
    if not context.node.attr("is_causal", 0) or not context.node.input(3):
        return None
    return Problem("with is_causal=1 takes no attn_mask", (3,), "IAttention::setMask: Parameter check failed")

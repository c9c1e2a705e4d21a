"""References, in numpy, of the PyTorch operators that exporters left in a graph as ATen nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

DOMAINS = frozenset({"org.pytorch.aten", "aten"})


def aten_operator(node: onnx.NodeProto) -> str | None:
    """The ATen operator that `node` stands for, None for every other node.

    Exporters write it as the operator of the domain `org.pytorch.aten`, or as the operator `ATen` with the name in the
    string attribute `operator`.
    """
    if node.op_type == "ATen":
        return next((a.s.decode("utf-8", "replace") for a in node.attribute if a.name == "operator"), "ATen")
    return node.op_type if node.domain in DOMAINS else None


def windows(size: int, out: int) -> list[tuple[int, int]]:
    """The begin and end of each pooling window along an axis: `[floor(i*size/out), ceil((i+1)*size/out))`.

    Source: `start_index` and `end_index` in PyTorch's `aten/src/ATen/native/AdaptivePooling.h`.
    """
    return [(i * size // out, -((i + 1) * size // -out)) for i in range(out)]


def adaptive_avg_pool2d(x: Array, output_size: Sequence[int]) -> Array:
    """Mean over each window of the last two axes of `x` [..., H, W]; sums in float64, returns the dtype of `x`."""
    rows, columns = (windows(size, out) for size, out in zip(x.shape[-2:], output_size, strict=True))
    wide = x.astype(np.float64)
    y = np.empty((*x.shape[:-2], len(rows), len(columns)), np.float64)
    for i, (top, bottom) in enumerate(rows):
        for j, (left, right) in enumerate(columns):
            y[..., i, j] = wide[..., top:bottom, left:right].mean(axis=(-2, -1))
    return y.astype(x.dtype)


def adaptive_max_pool2d(x: Array, output_size: Sequence[int]) -> tuple[Array, Array]:
    """Maximum over each window of the last two axes of `x` [..., H, W], and its int64 index into the plane H*W."""
    rows, columns = (windows(size, out) for size, out in zip(x.shape[-2:], output_size, strict=True))
    width = x.shape[-1]
    y = np.empty((*x.shape[:-2], len(rows), len(columns)), x.dtype)
    indices = np.empty(y.shape, np.int64)
    for i, (top, bottom) in enumerate(rows):
        for j, (left, right) in enumerate(columns):
            window = x[..., top:bottom, left:right]
            flat = window.reshape(*window.shape[:-2], -1)
            best = flat.argmax(axis=-1)
            y[..., i, j] = flat.max(axis=-1)
            indices[..., i, j] = (top + best // (right - left)) * width + left + best % (right - left)
    return y, indices


KNOWN = frozenset({"adaptive_avg_pool2d", "adaptive_max_pool2d"})


def evaluate(operator: str, inputs: Sequence[Array | None], output_size: Sequence[int] | None) -> tuple[Array, ...]:
    """Compute one ATen operator of KNOWN.

    Args:
        operator: its name in ATen.
        inputs: its inputs in order; input 1, where present, is the int64 output size.
        output_size: the attribute of that name, for nodes that carry it there.

    Raises:
        ValueError: the operator is not in KNOWN, or no output size is given.
    """
    if operator not in KNOWN or not inputs or inputs[0] is None:
        raise ValueError(f"no reference for ATen operator {operator}")
    given = inputs[1] if len(inputs) > 1 and inputs[1] is not None else output_size
    if given is None:
        raise ValueError(f"ATen operator {operator} has no output size")
    size = [int(n) for n in np.atleast_1d(np.asarray(given))]
    size = size * 2 if len(size) == 1 else size
    if operator == "adaptive_avg_pool2d":
        return (adaptive_avg_pool2d(inputs[0], size),)
    return adaptive_max_pool2d(inputs[0], size)


def evaluate_node(node: onnx.NodeProto, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """Compute the ATen `node` from its inputs in order.

    Raises:
        ValueError: as `evaluate`.
    """
    attribute = next((list(a.ints) or [a.i] for a in node.attribute if a.name == "output_size"), None)
    return evaluate(aten_operator(node) or node.op_type, inputs, attribute)


def reference_operators(nodes: Sequence[onnx.NodeProto]) -> list[type]:
    """Operator classes for `onnx.reference.ReferenceEvaluator(new_ops=...)`, one for each kind of ATen node in `nodes`."""
    from onnx.reference.op_run import OpRun

    kinds = sorted({(node.domain, node.op_type) for node in nodes if aten_operator(node) is not None})

    def run(self: Any, *inputs: Array | None, **_attributes: object) -> tuple[Array, ...]:
        return evaluate_node(self.onnx_node, inputs)[: len(self.onnx_node.output)]

    return [type(op_type, (OpRun,), {"op_domain": domain, "_run": run}) for domain, op_type in kinds]

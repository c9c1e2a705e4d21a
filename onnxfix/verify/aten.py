"""References, in numpy, of operators that no runtime has: PyTorch's, left in a graph as ATen nodes, and others of known meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from onnxfix.verify.detections import efficient_nms

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

DOMAINS = frozenset({"org.pytorch.aten", "aten"})
# Domains that a stage without such nodes need not import.
FOREIGN = DOMAINS | {"mmdeploy", "TRT"}


# Operators of other domains, or of none, that have a reference here.
CUSTOM = frozenset(
    {
        ("", "AliasWithName"),
        ("", "EfficientNMS_TRT"),
        ("", "GroupNorm"),
        ("", "LReLU_TRT"),
        ("TRT", "EfficientNMS_TRT"),
        ("mmdeploy", "grid_sampler"),
    }
)
# Operators of ONNX that older opsets lack, where exporters write them all the same.
EARLY = frozenset({("", "Mish")})


def aten_operator(node: onnx.NodeProto) -> str | None:
    """The ATen operator, or the one of CUSTOM, that `node` stands for, None for every other node.

    Exporters write it as the operator of the domain `org.pytorch.aten`, or as the operator `ATen` with the name in the
    string attribute `operator`.
    """
    if node.op_type == "ATen":
        return next((a.s.decode("utf-8", "replace") for a in node.attribute if a.name == "operator"), "ATen")
    return node.op_type if node.domain in DOMAINS or (node.domain, node.op_type) in CUSTOM else None


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


KNOWN = frozenset({"adaptive_avg_pool2d", "adaptive_max_pool2d", *(op for _, op in CUSTOM)})


def leaky_relu(x: Array, slope: float) -> Array:
    """`x` where it is positive, else `slope * x`; source: TensorRT, plugin/leakyReluPlugin/lReluPlugin.cpp."""
    return np.where(x > 0, x, x * x.dtype.type(slope))


def group_norm(x: Array, scale: Array, bias: Array, epsilon: float, swish: bool, groups: int = 32) -> Array:
    """Normalised over `groups` groups of channels (axis 1), then scaled for every channel, then `y * sigmoid(y)`.

    Source: TensorRT 8.6, plugin/groupNormPlugin, which knows 32 groups.
    """
    wide = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    normal = (wide - wide.mean(axis=2, keepdims=True)) / np.sqrt(wide.var(axis=2, keepdims=True) + epsilon)
    column = (-1,) + (1,) * (x.ndim - 2)
    y = normal.reshape(x.shape) * scale.reshape(column) + bias.reshape(column)
    result: Array = (y / (1 + np.exp(-y)) if swish else y).astype(x.dtype)
    return result


def grid_sampler(x: Array, grid: Array, mode: int, padding: int, align_corners: int) -> Array:
    """PyTorch's grid_sampler, by onnx.reference's GridSample: modes bilinear, nearest; zeros, border, reflection."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    node = onnx.helper.make_node(
        "GridSample",
        ["x", "grid"],
        ["y"],
        mode=("linear", "nearest")[mode],
        padding_mode=("zeros", "border", "reflection")[padding],
        align_corners=align_corners,
    )
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in (("x", x), ("grid", grid))
    ]
    graph = onnx.helper.make_graph([node], "sample", inputs, [onnx.ValueInfoProto(name="y")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])
    (y,) = ReferenceEvaluator(model).run(None, {"x": x, "grid": grid})
    return np.asarray(y, x.dtype)


def mish(x: Array) -> Array:
    """`x * tanh(log(1 + exp(x)))`, in float64."""
    wide = x.astype(np.float64)
    result: Array = (wide * np.tanh(np.logaddexp(0.0, wide))).astype(x.dtype)
    return result


def _custom(node: onnx.NodeProto, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """One node of CUSTOM or EARLY."""
    attrs = {a.name: a.f if a.type == a.FLOAT else a.i for a in node.attribute}
    given = [array for array in inputs if array is not None]
    if node.op_type == "EfficientNMS_TRT":
        if len(given) != 2:
            raise ValueError("no reference for EfficientNMS_TRT with anchors")
        return efficient_nms(given[0], given[1], attrs)
    if node.op_type == "LReLU_TRT":
        return (leaky_relu(given[0], attrs.get("negSlope", 0.0)),)
    if node.op_type == "GroupNorm":
        return (group_norm(given[0], given[1], given[2], attrs.get("epsilon", 1e-5), bool(attrs.get("bSwish", 0))),)
    if node.op_type == "grid_sampler":
        modes = (int(attrs.get(name, 0)) for name in ("interpolation_mode", "padding_mode", "align_corners"))
        return (grid_sampler(given[0], given[1], *modes),)
    return (mish(given[0]) if node.op_type == "Mish" else given[0],)


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
    if (node.domain, node.op_type) in CUSTOM | EARLY:
        return _custom(node, inputs)
    attribute = next((list(a.ints) or [a.i] for a in node.attribute if a.name == "output_size"), None)
    return evaluate(aten_operator(node) or node.op_type, inputs, attribute)


def reference_operators(nodes: Sequence[onnx.NodeProto]) -> list[type]:
    """Operator classes for `onnx.reference.ReferenceEvaluator(new_ops=...)`, one for each kind of ATen node in `nodes`."""
    from onnx.reference.op_run import OpRun

    found = {(node.domain, node.op_type) for node in nodes if aten_operator(node) is not None}
    kinds = sorted(found | {(node.domain, node.op_type) for node in nodes} & EARLY)

    def run(self: Any, *inputs: Array | None, **_attributes: object) -> tuple[Array, ...]:
        return evaluate_node(self.onnx_node, inputs)[: len(self.onnx_node.output)]

    return [type(op_type, (OpRun,), {"op_domain": domain, "_run": run}) for domain, op_type in kinds]

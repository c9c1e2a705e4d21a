"""Constant tensors as arrays, read only when asked for, and single constant nodes evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.errors import ModelError
from onnxfix.model.load import external_file, is_external

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Larger tensors are weights: no rewrite needs their numbers, and reading them would cost what "by reference" saves.
MAX_ARRAY_BYTES = 1 << 28


def element_count(tensor: onnx.TensorProto) -> int:
    """The number of elements that `dims` gives; 1 for a scalar."""
    count = 1
    for dim in tensor.dims:
        count *= dim
    return count


def stored_in(tensor: onnx.TensorProto) -> str:
    """The field of TensorProto that holds the elements: `raw_data`, also where there are none, or a typed one."""
    typed = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
    return next((field for field in typed if len(getattr(tensor, field))), "raw_data")


def _is_large(tensor: onnx.TensorProto) -> bool:
    """True where the tensor's array would take more than MAX_ARRAY_BYTES."""
    return element_count(tensor) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize > MAX_ARRAY_BYTES


def read_tensor(tensor: onnx.TensorProto, base_dir: Path | None) -> np.ndarray | None:
    """The tensor's array, or None where it is too large, of strings, damaged, or external with no `base_dir` given."""
    if tensor.data_type in (onnx.TensorProto.STRING, onnx.TensorProto.UNDEFINED):
        return None
    if is_external(tensor):
        return _read_external(tensor, base_dir)
    try:
        return None if _is_large(tensor) else onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError):
        return None


def _read_external(tensor: onnx.TensorProto, base_dir: Path | None) -> np.ndarray | None:
    if base_dir is None:
        return None
    entries = {entry.key: entry.value for entry in tensor.external_data}
    try:
        length = int(entries.get("length", -1))
        if length > MAX_ARRAY_BYTES or _is_large(tensor):
            return None
        with external_file(base_dir, entries.get("location", "")).open("rb") as file:
            file.seek(int(entries.get("offset", 0)))
            raw = file.read(length if length >= 0 else MAX_ARRAY_BYTES)
        inline = onnx.TensorProto(dims=tensor.dims, data_type=tensor.data_type, raw_data=raw)
        return onnx.numpy_helper.to_array(inline)
    except (ModelError, OSError, ValueError, TypeError, KeyError):
        return None


def constant_of_node(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """The tensor that a `Constant` node holds, or None where it holds strings, a sparse tensor or a reference."""
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            return None
        if attribute.name == "value":
            tensor: onnx.TensorProto = attribute.t
            return tensor
        if attribute.name == "value_int":
            return onnx.numpy_helper.from_array(np.array(attribute.i, np.int64))
        if attribute.name == "value_ints":
            return onnx.numpy_helper.from_array(np.array(attribute.ints, np.int64))
        if attribute.name == "value_float":
            return onnx.numpy_helper.from_array(np.array(attribute.f, np.float32))
        if attribute.name == "value_floats":
            return onnx.numpy_helper.from_array(np.array(attribute.floats, np.float32))
    return None


def evaluate(node: onnx.NodeProto, inputs: Mapping[str, np.ndarray], opsets: Mapping[str, int]) -> dict[str, np.ndarray] | None:
    """The outputs of one node on constant inputs by onnx's reference implementation; None where it cannot.

    `inputs` has an array for every input that the node names.
    """
    from onnx.reference import ReferenceEvaluator

    graph = onnx.helper.make_graph(
        [node],
        "constant",
        [onnx.ValueInfoProto(name=name) for name in inputs],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
    )
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    model = onnx.helper.make_model(graph, opset_imports=imports)
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, dict(inputs))
    except Exception:  # the reference raises whatever its numpy code raises; not knowing is a correct answer here
        return None
    names = [name for name in node.output if name]
    return {name: array for name, array in zip(names, results, strict=True) if isinstance(array, np.ndarray)}

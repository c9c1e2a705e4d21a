"""Constant: the value as numbers or strings (from opset 12) or as a sparse tensor (from opset 11) becomes a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

_KINDS = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": np.object_,
    "value_strings": np.object_,
}


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    (given,) = region.proto.attribute
    if given.name == "value" or low >= 12 or (given.name == "sparse_value" and low >= 11):
        return _general.lower(region, low)
    if given.name == "sparse_value":
        array = _dense(given.sparse_tensor)
    elif given.name in _KINDS:
        array = np.array(onnx.helper.get_attribute_value(given), _KINDS[given.name])
    else:
        return Decline(f"Constant has no attribute {given.name} in opset {low}")
    _general.drop_attribute(region, given.name)
    _general.set_attribute(region, "value", onnx.numpy_helper.from_array(array))
    return None


def _dense(sparse: onnx.SparseTensorProto) -> np.ndarray:
    values = onnx.numpy_helper.to_array(sparse.values)
    places = onnx.numpy_helper.to_array(sparse.indices)
    array = np.zeros(tuple(sparse.dims), values.dtype)
    if places.ndim == 1:
        array.ravel()[places] = values
    else:
        array[tuple(places.T)] = values
    return array

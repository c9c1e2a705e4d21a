"""Guards and constants that many rewrites share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region

FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
# Whole numbers up to here are all in float32.
EXACT_FLOATS = 1 << 24
# Element-wise operators broadcast from opset 7 on, Max, Min, Sum and Mean from 8 on.
BROADCASTS, VARIADIC_BROADCASTS = 7, 8
# Operators whose one output is elements of their first input, moved or repeated.
MOVES = frozenset(("Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Tile", "Transpose", "Unsqueeze"))


def float_kind(region: Region, facts: ScopeFacts, *, since: int = BROADCASTS) -> np.dtype | Decline:
    """The numpy type of the node's first input, where it is a real float and the opset has what the rewrite needs."""
    name = region.proto.input[0]
    dtype = facts.dtype(name)
    if dtype not in FLOATS:
        return Decline(f"the data is {facts.dtype_name(name)}")
    if region.opset < since:
        return Decline(f"operators do not broadcast before opset {since}")
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))


def number(region: Region, role: str, value: float, kind: np.dtype) -> gs.Constant:
    """A constant of one element that broadcasts to the node's first input without adding an axis to it.

    It has one axis, which importers with an implicit batch read as a weight, unless the data may have none.
    """
    shape = (1,) if region.facts.rank(region.proto.input[0]) else ()
    return region.constant(role, np.full(shape, value, kind))


def static_dims(facts: ScopeFacts, name: str, axes: Sequence[int]) -> list[int] | Decline:
    """The extents of some axes, all of which must be known numbers."""
    shape = facts.shape(name)
    if shape is None:
        return Decline("the rank of the data is unknown")
    found = [shape[axis] for axis in axes]
    for axis, dim in zip(axes, found, strict=True):
        if isinstance(dim, Poly):
            return Decline(f"the size of axis {axis} is dynamic")
    return [int(dim) for dim in found if not isinstance(dim, Poly)]


def is_read(facts: ScopeFacts, name: str) -> bool:
    """True where a node reads the value, or the graph gives it."""
    return bool(name) and (name in facts.scope.outputs or bool(facts.scope.consumers.get(name)))

"""What normalisations share: centred data over its deviation, in two passes, since E[x*x] - E[x]^2 loses digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import FLOATS, number
from onnxfix.rewrites._layers import cast, reduce
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region

HALF = onnx.TensorProto.FLOAT16


def normal_kind(region: Region, facts: ScopeFacts) -> np.dtype | Decline:
    """The numpy type to compute in: that of the data, float32 for half precision, where squares overflow and epsilon vanishes."""
    dtype = facts.dtype(region.proto.input[0])
    if dtype not in FLOATS:
        return Decline(f"the data is {facts.dtype_name(region.proto.input[0])}")
    if region.opset < 7:
        return Decline("operators do not broadcast before opset 7")
    return np.dtype(np.float32 if dtype == HALF else onnx.helper.tensor_dtype_to_np_dtype(dtype))


def widened(region: Region, facts: ScopeFacts, value: gs.Tensor, name: str) -> gs.Tensor:
    """Half precision as float32, everything else as it is."""
    return cast(region, "wide", value, onnx.TensorProto.FLOAT) if facts.dtype(name) == HALF else value


def narrowed(region: Region, facts: ScopeFacts, value: gs.Variable) -> gs.Variable:
    """Back in the element type of the node's data."""
    return cast(region, "narrow", value, HALF) if facts.dtype(region.proto.input[0]) == HALF else value


def normalised(
    region: Region, data: gs.Tensor, axes: Sequence[int], epsilon: float, kind: np.dtype
) -> tuple[gs.Variable, gs.Variable, gs.Variable]:
    """(data less its mean, over the deviation; the mean; the square root of variance plus epsilon), over some axes."""
    mean = reduce(region, "ReduceMean", "mean", data, axes)
    centred = region.layer("Sub", "centred", [data, mean])
    square = region.layer("Mul", "square", [centred, centred])
    variance = reduce(region, "ReduceMean", "variance", square, axes)
    raised = region.layer("Add", "raised", [variance, number(region, "epsilon", epsilon, kind)])
    deviation = region.layer("Sqrt", "deviation", [raised])
    return region.layer("Div", "normal", [centred, deviation]), mean, deviation

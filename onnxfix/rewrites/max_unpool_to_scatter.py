"""MaxUnpool as Scatter of the values into zeros, one row for each element of the batch.

Places count through the whole batch; the row's own are what is left of them after whole rows. Guard: a static shape of the output
behind the batch, which is that of the pooling undone (no other output_shape). Bit-equal over 8 cases.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._forms import float_kind
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

ELEMENTS, EXPAND = 11, 8


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts, since=EXPAND)
    if isinstance(kind, Decline):
        return kind
    shape = facts.shape(region.proto.input[0])
    if shape is None or len(shape) < 3 or any(isinstance(dim, Poly) for dim in shape[1:]):
        return Decline("the shape of the data is unknown, or open behind the batch")
    attrs = region.node.attrs
    kernel = attrs["kernel_shape"]
    steps, pads = attrs.get("strides", [1] * len(kernel)), attrs.get("pads", [0] * 2 * len(kernel))
    dims = [int(dim) for dim in shape[1:] if not isinstance(dim, Poly)]
    out = [
        (dim - 1) * step - pads[k] - pads[k + len(kernel)] + size
        for k, (dim, step, size) in enumerate(zip(dims[1:], steps, kernel, strict=True))
    ]
    if len(region.proto.input) > 2 and region.proto.input[2]:
        wanted = facts.numbers(region.proto.input[2])
        if wanted is None or list(map(int, np.ravel(wanted)))[2:] != out:
            return Decline("its output has another shape than the pooling undone")
    inner, row = math.prod(dims), dims[0] * math.prod(out)
    batch = shape[0]
    values = _layers.reshape(region, "values", region.node.inputs[0], [0, inner])
    places = _layers.reshape(region, "places", region.node.inputs[1], [0, inner])
    if isinstance(batch, Poly):
        size = region.constant("row", np.array([row], np.int64))
        rows = region.layer("Mul", "rows", [region.layer("Div", "number", [places, size]), size])
        places = region.layer("Sub", "own", [places, rows])
        zeros = region.layer("Expand", "zeros", [region.constant("zero", np.zeros((1, 1), kind)), _sizes(region, row)])
    else:
        zeros = region.constant("zeros", np.zeros((int(batch), row), kind))
        if batch != 1:
            first = region.constant("first", (row * np.arange(int(batch), dtype=np.int64)).reshape(-1, 1))
            places = region.layer("Sub", "own", [places, first])
    op = "ScatterElements" if region.opset >= ELEMENTS else "Scatter"
    put = region.layer(op, "put", [zeros, places, values], axis=1)
    region.replace(_layers.reshape(region, "shaped", put, [0, dims[0], *out]))
    return None


def _sizes(region: Region, row: int) -> gs.Variable:
    """The batch and the row, as a shape."""
    whole = region.layer("Shape", "shape", [region.node.inputs[0]])
    batch = _layers.slice_(region, "batch", whole, [0], [0], [1])
    return region.layer("Concat", "sizes", [batch, region.constant("row_size", np.array([row], np.int64))], axis=0)

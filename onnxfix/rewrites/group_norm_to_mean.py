"""GroupNormalization, and the plugin GroupNorm, over groups that a Reshape lays out, with a scale and a bias for every channel.

Opset 18 has them for every group (constants are repeated), 21 for every channel. Half precision is computed in float32. Guard:
static channels, rank 3 or more; with more than one dynamic spatial size the shape is read at run time. Largest error over 12
cases: 1e-07 of the largest value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._forms import static_dims
from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._normal import narrowed, normal_kind, normalised, widened
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

# plugin/groupNormPlugin of TensorRT 8.5 and 8.6 has no attribute for it.
PLUGIN_GROUPS = 32


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = normal_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    inputs, attrs = region.proto.input, region.node.attrs
    shape = facts.shape(inputs[0])
    channels = static_dims(facts, inputs[0], [1])
    if shape is None or len(shape) < 3 or isinstance(channels, Decline):
        return Decline("rank or channels of the data are unknown")
    plugin = region.proto.op_type == "GroupNorm"
    groups = PLUGIN_GROUPS if plugin else int(attrs["num_groups"])
    if channels[0] % groups:
        return Decline(f"{channels[0]} channels make no {groups} groups")
    tail = (-1,) + (1,) * (len(shape) - 2)
    factors: list[gs.Tensor] = []
    for slot, role in ((1, "scale"), (2, "bias")):
        value = facts.constant(inputs[slot])
        if value is not None and value.ndim == 1 and channels[0] % value.size == 0:
            factors.append(region.constant(role, np.repeat(value, channels[0] // value.size).reshape(tail)))
        elif facts.static_shape(inputs[slot]) == (channels[0],):
            factors.append(reshape(region, role, region.node.inputs[slot], tail))
        else:
            return Decline(f"{role} is computed at run time, for every group")
    data = widened(region, facts, region.node.inputs[0], inputs[0])
    spatial = [-1 if isinstance(dim, Poly) else int(dim) for dim in shape[2:]]
    # no -1 where the product is known: of a batch of 0 nothing tells it
    each = -1 if -1 in spatial else channels[0] // groups * math.prod(spatial)
    split = reshape(region, "groups", data, [0, groups, each])
    normal = normalised(region, split, [2], float(attrs.get("epsilon", 1e-5)), kind)[0]
    open_dims = [axis for axis, dim in enumerate(shape) if axis and isinstance(dim, Poly)]
    if len(open_dims) > 1:
        merged = region.layer("Reshape", "merged", [normal, region.layer("Shape", "shape", [region.node.inputs[0]])])
    else:
        # the leading 0 keeps the batch, whatever its size
        merged = reshape(region, "merged", normal, [0] + [-1 if isinstance(dim, Poly) else int(dim) for dim in shape[1:]])
    scaled = region.layer("Mul", "scaled", [narrowed(region, facts, merged), factors[0]])
    made = region.layer("Add", "shifted", [scaled, factors[1]])
    if plugin and attrs.get("bSwish", 0):
        made = region.layer("Mul", "swish", [made, region.layer("Sigmoid", "share", [made])])
    region.replace(made)
    return None

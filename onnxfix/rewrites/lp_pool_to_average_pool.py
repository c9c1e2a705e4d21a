"""LpPool as the root of an AveragePool of powers, times the window size; GlobalLpPool as the root of a ReduceSum.

The powers are Abs for p = 1, a square for p = 2, else Pow of Abs. Guard: no dilations; padding counts nothing since its power is
0. Largest error over 28 cases: 1e-07 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, number
from onnxfix.rewrites._layers import pad, reduce
from onnxfix.rewrites._pooling import windows_of
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    rank = facts.rank(region.proto.input[0])
    if rank is None or rank < 3:
        return Decline("the data is not known to have spatial axes")
    attrs = region.node.attrs
    p = float(attrs.get("p", 2))
    x = region.node.inputs[0]
    if region.opset < 2:
        return Decline("p is a real number before opset 2")
    if p == 2:
        powers = region.layer("Mul", "power", [x, x])
    else:
        powers = region.layer("Abs", "magnitude", [x])
        if p != 1:
            powers = region.layer("Pow", "power", [powers, number(region, "p", p, kind)])
    if region.proto.op_type == "GlobalLpPool":
        made = reduce(region, "ReduceSum", "sum", powers, range(2, rank))
    else:
        windows = windows_of(region, facts)
        if isinstance(windows, Decline):
            return windows
        if any(step != 1 for step in windows.dilations):
            return Decline("its windows are dilated")
        if any((*windows.front, *windows.back)):
            powers = pad(region, "padded", powers, [0, 0, *windows.front], [0, 0, *windows.back])
        averages = region.layer(
            "AveragePool", "average", [powers], kernel_shape=list(windows.kernel), strides=list(windows.strides)
        )
        made = region.layer("Mul", "sum", [averages, number(region, "area", float(np.prod(windows.kernel)), kind)])
    if p == 2:
        made = region.layer("Sqrt", "root", [made])
    elif p != 1:
        made = region.layer("Pow", "root", [made, number(region, "inverse", 1 / p, kind)])
    region.replace(made)
    return None

"""MeanVarianceNormalization in ReduceMean, Sub, Mul, Sqrt, Add and Div.

Source: the function body of MeanVarianceNormalization-13, which adds 1e-9 to the deviation; the variance is taken in two passes
here. Guard: the axes exist; float32 or double. Largest error over 8 cases: 1e-07 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, number
from onnxfix.rewrites._layers import reduce
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
    if kind == np.float16:
        return Decline("squares overflow half precision, and 1e-9 vanishes in it")
    rank = facts.rank(region.proto.input[0])
    axes = [int(axis) for axis in region.node.attrs.get("axes", (0, 2, 3))]
    if rank is None or any(not -rank <= axis < rank for axis in axes):
        return Decline("the rank of the data is unknown")
    axes = sorted(axis % rank for axis in axes)
    x = region.node.inputs[0]
    centred = region.layer("Sub", "centred", [x, reduce(region, "ReduceMean", "mean", x, axes)])
    variance = reduce(region, "ReduceMean", "variance", region.layer("Mul", "square", [centred, centred]), axes)
    raised = region.layer("Add", "raised", [region.layer("Sqrt", "deviation", [variance]), number(region, "epsilon", 1e-9, kind)])
    region.replace(region.layer("Div", "normal", [centred, raised]))
    return None

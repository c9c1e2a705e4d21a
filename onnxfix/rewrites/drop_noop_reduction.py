"""A reduction that says noop_with_empty_axes: what it does is written without the attribute.

Without axes it passes the data on, each element reduced by itself; with axes the attribute says nothing. The same bits over 10
cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


ALONE = {"ReduceL1": "Abs", "ReduceL2": "Abs", "ReduceLogSum": "Log"}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    attrs, names = dict(region.node.attrs), region.proto.input
    if not attrs.pop("noop_with_empty_axes", 0):
        return Decline("it says nothing of empty axes", plain=True)
    axes = facts.numbers(names[1]) if len(names) > 1 and names[1] else np.zeros(0)
    if axes is None:
        return Decline("the axes are computed at run time")
    x, op = region.node.inputs[0], region.proto.op_type
    if axes.size:
        region.replace(region.layer(op, "reduced", list(region.node.inputs), **attrs))
    elif op in ALONE:
        region.replace(region.layer(ALONE[op], "each", [x]))
    else:
        region.replace(region.layer("Mul", "each", [x, x]) if op == "ReduceSumSquare" else x)
    return None

"""Gelu as x/2 * (1 + Erf(x / sqrt(2))), or by Tanh where the node says so.

Source: the function body of Gelu-20. Largest error over 6 cases: 8e-08 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, number
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
    x = region.node.inputs[0]
    one, half = number(region, "one", 1.0, kind), number(region, "half", 0.5, kind)
    if region.node.attrs.get("approximate", "none") == "tanh":
        square = region.layer("Mul", "square", [x, x])
        cube = region.layer("Mul", "cube", [square, x])
        small = region.layer("Mul", "small", [cube, number(region, "cubic", 0.044715, kind)])
        inner = region.layer("Add", "inner", [x, small])
        scaled = region.layer("Mul", "scaled", [inner, number(region, "scale", float(np.sqrt(2 / np.pi)), kind)])
        share = region.layer("Tanh", "share", [scaled])
    else:
        scaled = region.layer("Mul", "scaled", [x, number(region, "scale", float(np.sqrt(0.5)), kind)])
        share = region.layer("Erf", "share", [scaled])
    halved = region.layer("Mul", "halved", [x, half])
    region.replace(region.layer("Mul", "gelu", [halved, region.layer("Add", "raised", [share, one])]))
    return None

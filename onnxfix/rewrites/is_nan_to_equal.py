"""IsNaN as Not(Equal(x, x)); below opset 11, where Equal takes no floats, Not(Or(x > -inf, x < inf)).

The same bits for every value. Guard: opset 9 or later. The same bits over 3 cases.
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
    if region.opset >= 11:
        number_like = region.layer("Equal", "number", [x, x])
    else:
        above = region.layer("Greater", "above", [x, number(region, "lowest", -np.inf, kind)])
        below = region.layer("Less", "below", [x, number(region, "highest", np.inf, kind)])
        number_like = region.layer("Or", "number", [above, below])
    region.replace(region.layer("Not", "nan", [number_like]))
    return None

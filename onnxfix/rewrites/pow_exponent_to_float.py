"""Pow whose exponent gets the element type of its base.

A constant is converted, where that keeps its value; else a Cast comes before. The same bits over 2 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind
from onnxfix.rewrites._layers import cast
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    dtype = facts.dtype(region.proto.input[1])
    if not dtype or dtype == facts.dtype(region.proto.input[0]):
        return Decline("base and exponent are of one type")
    value = facts.constant(region.proto.input[1])
    if value is None:
        exponent: gs.Tensor = cast(region, "exponent", region.node.inputs[1], facts.dtype(region.proto.input[0]))
    elif not np.array_equal(value.astype(kind), value):
        return Decline("the exponent changes in the type of the base")
    else:
        exponent = region.constant("exponent", value.astype(kind))
    region.replace(region.layer("Pow", "power", [region.node.inputs[0], exponent]))
    return None

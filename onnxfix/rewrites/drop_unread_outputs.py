"""A node without the outputs that nothing reads: the indices of MaxPool, the mask of Dropout, the statistics of a normalisation.

Guard: none of the outputs after the first is read or an output of the graph, and the node is no BatchNormalization before opset 14,
which its outputs put into training mode. The same bits, since the rest computes what it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import is_read
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

# The opset from which on BatchNormalization says by an attribute whose statistics it takes.
TRAINING_MODE = 14


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    rest = list(region.proto.output[1:])
    if not rest:
        return Decline("it has one output", plain=True)
    if any(is_read(facts, name) for name in rest):
        return Decline("another output than the first is read")
    if region.proto.op_type == "BatchNormalization" and region.opset < TRAINING_MODE:
        return Decline("before opset 14 more than one output means statistics of the batch")
    del region.edited.output[1:]
    return None

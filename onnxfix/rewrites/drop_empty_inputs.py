"""Cut the empty names at the end of a node's list of inputs.

Op(x, w, "") becomes Op(x, w), which ONNX defines to be the same node. Importers that ask how long the list is, and not whether an
input is given, take an empty name for a run-time tensor.

Guard: the list ends with an empty name; names in its middle stay, as they hold the places of those behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    inputs = list(region.proto.input)
    while inputs and not inputs[-1]:
        inputs.pop()
    if len(inputs) == len(region.proto.input):
        return Decline("the list of inputs does not end with an empty name")
    del region.edited.input[:]
    region.edited.input.extend(inputs)
    return None

"""MaxPool with dilations, or of volumes, as for every axis the maximum of one Gather for each position of the window.

A position in the padding repeats one of the same window, which changes no maximum. Guard: static sizes, indices unread, every
window touches the data. The same bits over 32 cases; NaN goes through Max otherwise than through MaxPool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import VARIADIC_BROADCASTS, float_kind, is_read
from onnxfix.rewrites._layers import gather
from onnxfix.rewrites._pooling import windows_of
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts, since=VARIADIC_BROADCASTS)
    if isinstance(kind, Decline):
        return kind
    if len(region.proto.output) > 1 and is_read(facts, region.proto.output[1]):
        return Decline("the indices of the maxima are read")
    windows = windows_of(region, facts)
    if isinstance(windows, Decline):
        return windows
    made: gs.Tensor = region.node.inputs[0]
    if len(windows.kernel) < 3 and all(step == 1 for step in windows.dilations):
        return Decline("its windows are neither dilated nor volumes", plain=True)
    for axis, size in enumerate(windows.sizes):
        if windows.taps(axis) == [[place] for place in range(size)]:
            continue
        inside = [[place for place in taps if 0 <= place < size] for taps in windows.taps(axis)]
        if not all(inside):
            return Decline("a window lies in the padding alone")
        places = [
            [place if 0 <= place < size else held[0] for place in taps]
            for taps, held in zip(windows.taps(axis), inside, strict=True)
        ]
        columns = [
            gather(region, f"axis{axis + 2}_{number}", made, column, axis + 2)
            for number, column in enumerate(zip(*places, strict=True))
        ]
        made = region.layer("Max", f"axis{axis + 2}", columns) if len(columns) > 1 else columns[0]
    region.replace(made)
    return None

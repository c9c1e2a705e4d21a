"""A pool of volumes as two of planes: over height and width of every depth, then over the depth of every place.

The maximum of maxima is the maximum, and the average of averages is the average, since the windows of an axis are the same at every
place of the others (without the padding too: counts multiply). A step whose window is one element is left out. Guard: rank 5, the
sizes behind the batch static, no indices, no average with ceil_mode. MaxPool: the same bits; AveragePool: largest error over 12
cases 2e-07 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


# Attributes that hold a number for each spatial axis, and what they are without it.
PER_AXIS = {"kernel_shape": 1, "strides": 1, "dilations": 1}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    data, attrs = region.proto.input[0], region.node.attrs
    if facts.rank(data) != 5:
        return Decline("the data is not of rank 5", plain=True)
    if len(region.proto.output) > 1:
        return Decline("the indices of the maxima are read")
    if region.proto.op_type == "AveragePool" and attrs.get("ceil_mode", 0):
        return Decline("an average with ceil_mode counts beyond the padding")
    before, after = (static_dims(facts, name, range(1, 5)) for name in (data, region.proto.output[0]))
    if isinstance(before, Decline):
        return before
    if isinstance(after, Decline):
        return after
    channels, depth = before[:2]
    made: gs.Tensor = region.node.inputs[0]
    plane, deep = _part(region, (1, 2)), _part(region, (0,))
    if plane is None and deep is None:
        return Decline("its window is one element")
    if plane is not None:
        flat = reshape(region, "plane", made, [0, channels * depth, *before[2:]])
        made = region.layer(region.proto.op_type, "planes", [flat], **plane)
    if deep is not None:
        flat = reshape(region, "columns", made, [0, channels, depth, after[2] * after[3]])
        made = region.layer(region.proto.op_type, "depths", [flat], **deep)
    region.replace(reshape(region, "volume", made, [0, channels, *after[1:]]))
    return None


def _part(region: Region, axes: Sequence[int]) -> dict[str, Any] | None:
    """The attributes of the pool over some spatial axes, and one of size 1 behind a single one; None where it changes nothing."""
    attrs = region.node.attrs
    rest = 2 - len(axes)
    part: dict[str, Any] = {name: value for name, value in attrs.items() if name not in (*PER_AXIS, "pads")}
    for name, default in PER_AXIS.items():
        given = attrs.get(name)
        if given is not None:
            part[name] = [*(int(given[axis]) for axis in axes), *[default] * rest]
    pads = [int(item) for item in attrs.get("pads") or ()]
    if pads:
        part["pads"] = [
            *(pads[axis] for axis in axes), *[0] * rest, *(pads[axis + 3] for axis in axes), *[0] * rest
        ]  # fmt: skip
    idle = all(item == 1 for name in ("kernel_shape", "strides") for item in part.get(name, ()))
    return None if idle and not any(part.get("pads", ())) else part

"""Linear Resize by whole numbers as a ConvTranspose of every channel, for height and width that are dynamic.

The edge is repeated once around by Slice and Concat, and what the kernel makes of that rim is cut off again: a plain transposed
convolution is wrong in a border of half the scale. Kernel: 1 - |distance|, at the positions that the coordinates give. Guard:
scales that are whole, half_pixel, pytorch_half_pixel or asymmetric coordinates, static channels, batch and channels kept. Largest
error over 18 cases: 2e-07 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._interpolation import interpolation_of
from onnxfix.rewrites._layers import TO_THE_END, slice_
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
    how = interpolation_of(region)
    if isinstance(how, Decline):
        return how
    if how.mode != "linear":
        return Decline(f"mode {how.mode} is not linear", plain=True)
    if how.coordinates not in ("half_pixel", "pytorch_half_pixel", "asymmetric"):
        return Decline(f"coordinate mode {how.coordinates} gives other positions for every size")
    rank = len(how.axes)
    if not 3 <= rank <= 5 or any(not axis.kept for axis in how.axes[:2]):
        return Decline("batch or channels are resized")
    channels = static_dims(facts, region.proto.input[0], [1])
    if isinstance(channels, Decline):
        return channels
    scales = [axis.scale for axis in how.axes[2:]]
    if any(scale < 1 or scale != int(scale) for scale in scales):
        return Decline("a scale is no whole number")
    made: gs.Tensor = region.node.inputs[0]
    kernel, front, back = np.ones((1,)), [], []
    for axis, scale in enumerate(map(int, scales), 2):
        taps, before = _taps(scale, how.coordinates)
        kernel = kernel[..., None] * taps
        if scale == 1:
            front.append(0)
            back.append(0)
            continue
        first = slice_(region, f"first{axis}", made, [axis], [0], [1])
        last = slice_(region, f"last{axis}", made, [axis], [-1], [TO_THE_END])
        made = region.layer("Concat", f"rim{axis}", [first, made, last], axis=axis)
        # the repeated element in front makes `scale` elements more
        front.append(before + scale)
        back.append(len(taps) - before)
    weights = np.broadcast_to(kernel[None], (channels[0], *kernel.shape)).astype(kind)
    region.replace(
        region.layer(
            "ConvTranspose",
            "resized",
            [made, region.constant("weights", weights)],
            group=channels[0],
            kernel_shape=list(weights.shape[2:]),
            strides=[int(scale) for scale in scales],
            pads=[*front, *back],
        )
    )
    return None


def _taps(scale: int, coordinates: str) -> tuple[np.ndarray, int]:
    """The kernel along one axis, and how many of its elements lie before the first that element 0 of the data makes."""
    if scale == 1:
        return np.ones(1), 0
    shift = 0.0 if coordinates == "asymmetric" else 0.5
    places = np.arange(-2 * scale, 2 * scale)
    weights = np.maximum(0.0, 1 - np.abs((places + shift) / scale - shift))
    reached = np.flatnonzero(weights)
    return weights[reached[0] : reached[-1] + 1], int(-places[reached[0]])

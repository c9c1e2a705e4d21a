"""The windows of a pooling node: what its attributes say for data of static sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import static_dims
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region


@dataclass(frozen=True, slots=True)
class Windows:
    """Every window along every spatial axis; `front` and `back` are paddings that with flooring give the same windows."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    front: tuple[int, ...]
    back: tuple[int, ...]
    counts_padding: bool
    rounds_up: bool

    @property
    def outputs(self) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        return tuple(
            (size + front + back - step * (kernel - 1) - 1) // stride + 1
            for size, front, back, step, kernel, stride in zip(
                self.sizes, self.front, self.back, self.dilations, self.kernel, self.strides, strict=True
            )
        )

    def taps(self, axis: int) -> list[list[int]]:
        """Positions of every window along one axis, those in the padding included."""
        start, step, kernel = self.front[axis], self.dilations[axis], self.kernel[axis]
        return [[at * self.strides[axis] - start + step * tap for tap in range(kernel)] for at in range(self.outputs[axis])]

    def shares(self) -> np.ndarray | Decline:
        """The size of a window over how much of it holds data, as float64 of shape [1, *outputs]."""
        factor = np.ones((1,), np.float64)
        for axis, size in enumerate(self.sizes):
            held = [sum(0 <= place < size for place in taps) for taps in self.taps(axis)]
            if 0 in held:
                return Decline("a window lies in the padding alone")
            factor = factor[..., None] * (self.kernel[axis] / np.array(held))
        return factor


def windows_of(region: Region, facts: ScopeFacts) -> Windows | Decline:
    """The windows of an AveragePool, LpPool or MaxPool node, with automatic padding and rounding up resolved."""
    attrs = region.node.attrs
    kernel = tuple(int(item) for item in attrs.get("kernel_shape", ()))
    axes = len(kernel)
    if not axes or facts.rank(region.proto.input[0]) != axes + 2:
        return Decline("the rank of the data is unknown")
    sizes = static_dims(facts, region.proto.input[0], range(2, axes + 2))
    if isinstance(sizes, Decline):
        return sizes
    strides = tuple(attrs.get("strides", (1,) * axes))
    dilations = tuple(attrs.get("dilations", (1,) * axes))
    pads = list(attrs.get("pads", (0,) * 2 * axes))
    spans = [step * (length - 1) + 1 for step, length in zip(dilations, kernel, strict=True)]
    automatic = attrs.get("auto_pad", "NOTSET")
    rounds_up = bool(attrs.get("ceil_mode", 0))
    if automatic == "VALID":
        pads = [0] * 2 * axes
    elif automatic != "NOTSET":
        for axis in range(axes):
            total = max((-(-sizes[axis] // strides[axis]) - 1) * strides[axis] + spans[axis] - sizes[axis], 0)
            pads[axis] = total // 2 if automatic == "SAME_UPPER" else total - total // 2
            pads[axis + axes] = total - pads[axis]
    elif rounds_up:
        if attrs.get("count_include_pad", 0) and any(pads):
            return Decline("how ceil_mode and count_include_pad go together changed between versions")
        for axis in range(axes):
            padded = sizes[axis] + pads[axis] + pads[axis + axes]
            last = -(-(padded - spans[axis]) // strides[axis])
            # a window that would begin in the padding at the end is dropped
            last -= last * strides[axis] >= sizes[axis] + pads[axis]
            pads[axis + axes] = max(pads[axis + axes], last * strides[axis] + spans[axis] - sizes[axis] - pads[axis])
    # what ceil_mode adds at the end is never counted
    counts = bool(attrs.get("count_include_pad", 0)) and any(pads) and not (rounds_up and automatic == "NOTSET")
    if any(extent < 1 for extent in (*sizes, *kernel)):
        return Decline("an axis is empty")
    windows = Windows(tuple(sizes), kernel, strides, dilations, tuple(pads[:axes]), tuple(pads[axes:]), counts, rounds_up)
    return windows if min(windows.outputs) > 0 else Decline("no window fits into the data")

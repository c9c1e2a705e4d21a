"""What a convolution's attributes say, with automatic padding resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.rewrites._region import Region


@dataclass(frozen=True, slots=True)
class Kernel:
    """One number for each spatial axis; `front` and `back` are paddings (of a transposed convolution: what is cut)."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    front: tuple[int, ...]
    back: tuple[int, ...]
    group: int

    @property
    def spans(self) -> tuple[int, ...]:
        """How many elements the dilated kernel reaches over."""
        return tuple(step * (length - 1) + 1 for step, length in zip(self.dilations, self.size, strict=True))


def kernel_of(region: Region, weights: Sequence[int], sizes: Sequence[int] | None) -> Kernel | Decline:
    """The kernel of a Conv node whose weights have that shape; `sizes` are the data's, for automatic padding alone."""
    attrs, axes = region.node.attrs, len(weights) - 2
    size = tuple(int(item) for item in weights[2:])
    strides, dilations = (tuple(int(item) for item in attrs.get(name, (1,) * axes)) for name in ("strides", "dilations"))
    pads = [int(item) for item in attrs.get("pads", (0,) * 2 * axes)]
    automatic = attrs.get("auto_pad", "NOTSET")
    if automatic == "VALID":
        pads = [0] * 2 * axes
    elif automatic != "NOTSET":
        if sizes is None:
            return Decline("auto_pad needs static sizes")
        for axis in range(axes):
            span = dilations[axis] * (size[axis] - 1) + 1
            total = max((-(-sizes[axis] // strides[axis]) - 1) * strides[axis] + span - sizes[axis], 0)
            pads[axis] = total // 2 if automatic == "SAME_UPPER" else total - total // 2
            pads[axis + axes] = total - pads[axis]
    return Kernel(size, strides, dilations, tuple(pads[:axes]), tuple(pads[axes:]), int(attrs.get("group", 1)))

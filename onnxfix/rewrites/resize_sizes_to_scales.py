"""A Resize by constant sizes as one by constant scales, whose region of interest has elements too.

The plain quotient of two sizes, truncated, may be one row short, so the float32 scale is nudged up until it gives the very size. An
interpolated position may move by one unit in the last place: 5e-5 relative at most over 15 cases. Nearest must read the same
elements. Guard: opset 11 or later, sizes constant and static, or a whole multiple of a dynamic size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._interpolation import interpolation_of, nearest_indices, output_size, scale_for
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    inputs = region.proto.input
    if region.opset < 11 or len(inputs) < 4 or not inputs[3]:
        return Decline("it is given by scales")
    if "axes" in region.node.attrs or region.node.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return Decline("only some axes are resized, or the aspect ratio is kept")
    how = interpolation_of(region)
    if isinstance(how, Decline):
        return how
    scales = []
    for number, axis in enumerate(how.axes):
        scale = axis.scale
        if axis.before is not None and axis.after is not None:
            if output_size(axis.before, scale) != axis.after:
                scale = scale_for(axis.before, axis.after)
            if output_size(axis.before, scale) != axis.after:
                return Decline(f"no scale takes axis {number} from {axis.before} to {axis.after}")
            moved = nearest_indices(replace(axis, scale=scale), how.coordinates, how.nearest)
            if how.mode == "nearest" and not np.array_equal(moved, nearest_indices(axis, how.coordinates, how.nearest)):
                return Decline(f"along axis {number} scales read other elements than sizes")
        scales.append(scale)
    rank = len(how.axes)
    region.set_input(1, "roi", np.array([0] * rank + [1] * rank, np.float32))
    region.set_input(2, "scales", np.array(scales, np.float32))
    del region.edited.input[3:]
    return None

"""A nearest Resize in another coordinate mode or rounding that reads the same elements as asymmetric coordinates rounded down.

Importers take that form most widely. At whole scales these are the same for every size (a list); for static sizes the elements are
compared one by one. Guard: opset 11 or later. The same bits over 2 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._interpolation import interpolation_of, nearest_indices
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering.resize import SAME_AT_WHOLE_SCALES

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    if region.opset < 11:
        return Decline("its coordinates are asymmetric", plain=True)
    how = interpolation_of(region)
    if isinstance(how, Decline):
        return how
    if how.mode != "nearest":
        return Decline(f"mode {how.mode} is not nearest", plain=True)
    if (how.coordinates, how.nearest) == ("asymmetric", "floor"):
        return Decline("its coordinates are asymmetric and rounded down", plain=True)
    for number_of, axis in enumerate(how.axes):
        if axis.kept:
            continue
        if axis.before is None or axis.after is None:
            whole = axis.scale >= 1 and axis.scale == int(axis.scale)
            if not whole or (how.coordinates, how.nearest) not in SAME_AT_WHOLE_SCALES:
                return Decline(f"along axis {number_of}, whose size is dynamic, it may read other elements")
            continue
        own = nearest_indices(axis, how.coordinates, how.nearest)
        if not np.array_equal(own, nearest_indices(axis, "asymmetric", "floor")):
            return Decline(f"along axis {number_of} it reads other elements")
    wanted = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "mode": "nearest"}
    kept = [attribute for attribute in region.proto.attribute if attribute.name not in wanted]
    del region.edited.attribute[:]
    region.edited.attribute.extend(kept)
    region.edited.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in wanted.items())
    return None

"""ConvInteger as Conv of floats, and a Cast back to INT32: every sum below 2**24 is exact.

Zero points are taken off first. Guard: constant weights and zero points, sums that cannot reach 2**24; no padding beside a zero
point other than 0 of the data (padding is of zeros in either form then). The same bits over 2 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import EXACT_FLOATS
from onnxfix.rewrites._layers import cast
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    names = region.proto.input
    weights = facts.constant(names[1])
    zeros = [facts.constant(names[slot]) if len(names) > slot and names[slot] else np.zeros(1, np.int64) for slot in (2, 3)]
    if weights is None or zeros[0] is None or zeros[1] is None:
        return Decline("weights or zero points are computed at run time")
    if zeros[0].size != 1:
        return Decline("the data has more than one zero point")
    point = zeros[1].astype(np.int64).reshape((-1,) + (1,) * (weights.ndim - 1))
    factors = weights.astype(np.int64) - point
    most = int(np.abs(factors).reshape(factors.shape[0], -1).sum(1).max(initial=0)) * 256
    if most >= EXACT_FLOATS:
        return Decline(f"sums may reach {most}, beyond what float32 holds exactly")
    data = cast(region, "data", region.node.inputs[0], onnx.TensorProto.FLOAT)
    if zeros[0].any():
        data = region.layer("Sub", "centred", [data, region.constant("zero_point", zeros[0].astype(np.float32).reshape(1))])
    made = region.layer("Conv", "sums", [data, region.constant("weights", factors.astype(np.float32))], **region.node.attrs)
    region.replace(cast(region, "integers", made, onnx.TensorProto.INT32))
    return None

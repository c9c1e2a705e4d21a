"""DepthToSpace as Reshape, Transpose, Reshape, in either mode.

Guard: rank 4; channels, height and width static. Bit-equal over 12 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape = facts.shape(region.proto.input[0])
    if shape is None or len(shape) != 4:
        return Decline("the data is not known to have rank 4")
    if any(isinstance(dim, Poly) for dim in shape[1:]):
        return Decline("channels, height or width are dynamic")
    channels, height, width = (int(dim) for dim in shape[1:] if not isinstance(dim, Poly))
    attrs = region.node.attrs
    block = int(attrs["blocksize"])
    depth = channels // block**2
    crd = attrs.get("mode", "DCR") == "CRD"
    split = [0, depth, block, block, height, width] if crd else [0, block, block, depth, height, width]
    perm = [0, 1, 4, 2, 5, 3] if crd else [0, 3, 4, 1, 5, 2]
    # the leading 0 keeps the batch, whatever its size
    first = region.constant("split", np.array(split, np.int64))
    second = region.constant("merge", np.array([0, depth, height * block, width * block], np.int64))
    blocks = region.layer("Reshape", "blocks", [region.node.inputs[0], first])
    moved = region.layer("Transpose", "moved", [blocks], perm=perm)
    region.replace(region.layer("Reshape", "merged", [moved, second]))
    return None

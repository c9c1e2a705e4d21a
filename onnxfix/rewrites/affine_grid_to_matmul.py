"""AffineGrid as the product of a constant grid and the matrices.

Guard: a constant size, with align_corners of more than one element along every axis; real floats. Largest error over 5 cases: 1e-07
of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind
from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    size = facts.numbers(region.proto.input[1])
    if size is None:
        return Decline("the size is computed at run time")
    spatial = [int(item) for item in size[2:]]
    aligned = bool(region.node.attrs.get("align_corners", 0))
    if aligned and 1 in spatial:
        return Decline("with align_corners runtimes differ on where the one element of an axis lies")
    lines = []
    for extent in spatial:
        places = np.arange(extent, dtype=np.float64)
        lines.append(places * 2 / (extent - 1) - 1 if aligned else (places * 2 + 1) / extent - 1)
    # coordinates count from the last axis: x, y(, z), 1
    grids = np.meshgrid(*lines, indexing="ij")[::-1]
    points = np.stack([*grids, np.ones(spatial)], -1).reshape(1, -1, len(spatial) + 1).astype(kind)
    turned = region.layer("Transpose", "turned", [region.node.inputs[0]], perm=[0, 2, 1])
    made = region.layer("MatMul", "places", [region.constant("grid", points), turned])
    region.replace(reshape(region, "shaped", made, [0, *spatial, len(spatial)]))
    return None

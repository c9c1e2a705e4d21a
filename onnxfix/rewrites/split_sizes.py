"""Split into a number of outputs that does not divide the axis: the sizes are written out as an input.

From opset 18 on the last piece is the smaller one. Guard: the axis is static. The same bits over 3 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import static_dims
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    attrs, names = region.node.attrs, region.proto.input
    if region.opset < 18 or (len(names) > 1 and names[1]):
        return Decline("it says how large its pieces are", plain=True)
    rank, count = facts.rank(names[0]), int(attrs.get("num_outputs", len(region.proto.output)))
    if rank is None:
        return Decline("the rank of the data is unknown")
    size = static_dims(facts, names[0], [int(attrs.get("axis", 0)) % rank])
    if isinstance(size, Decline):
        return size
    each = -(-size[0] // count)
    sizes = [max(min(each, size[0] - each * number), 0) for number in range(count)]
    if min(sizes) < 1:
        return Decline("a piece is empty")
    region.set_input(1, "sizes", np.array(sizes, np.int64))
    kept = [attribute for attribute in region.edited.attribute if attribute.name != "num_outputs"]
    del region.edited.attribute[:]
    region.edited.attribute.extend(kept)
    return None

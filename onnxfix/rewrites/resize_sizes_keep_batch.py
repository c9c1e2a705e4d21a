"""Keep batch and channels of a Resize whose constant sizes begin with 1,1, as torch 1.3 writes them.

This changes what the file says, so it needs consent. With a static batch the first two sizes become the data's; with a dynamic
one the sizes become scales whose product with the static height and width is the wanted size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._interpolation import scale_for
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    sizes = facts.numbers(region.proto.input[3])
    shape = facts.shape(region.proto.input[0])
    if sizes is None or shape is None or isinstance(shape[1], Poly):
        return Decline("the sizes or the channels are computed at run time")
    if tuple(shape[:2]) == tuple(sizes[:2]):
        return Decline("it keeps them", plain=True)
    if not isinstance(shape[0], Poly):
        region.set_input(3, "sizes", np.array([int(shape[0]), int(shape[1]), *(int(item) for item in sizes[2:])], np.int64))
        return None
    if any(isinstance(dim, Poly) for dim in shape[2:]):
        return Decline("height and width are dynamic, so no scales give these sizes")
    spatial = [int(dim) for dim in shape[2:] if not isinstance(dim, Poly)]
    scales = [1.0, 1.0, *(scale_for(before, int(after)) for before, after in zip(spatial, sizes[2:], strict=True))]
    region.set_input(2, "scales", np.array(scales, np.float32))
    del region.edited.input[3:]
    return None

"""MatMul whose constant gets the rank that an implicit batch needs beside it: one axis less than the tensor has in ONNX.

Leading axes of 1 are added or taken away, which changes no number; beside a tensor of rank 2 a matrix becomes the weights of a
Gemm with a bias of zeros. Guard: one constant, real floats, ranks known. The same bits over 7 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind
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
    names, inputs = region.proto.input, list(region.node.inputs)
    values = [facts.constant(name) for name in names]
    ranks = [facts.rank(name) for name in names]
    slots = [slot for slot, value in enumerate(values) if value is not None]
    if len(slots) != 1:
        return Decline("not just one of its factors is constant")
    slot = slots[0]
    value, rank = values[slot], ranks[1 - slot]
    assert value is not None
    if rank is None or rank < 2 or value.ndim < 2:
        return Decline("a factor has no rank of 2 or more")
    dims = list(value.shape)
    if rank == 2:
        if slot == 0 or value.ndim != 2:
            return Decline("the constant does not stand behind a matrix")
        zeros = region.constant("bias", np.zeros(dims[1], kind))
        region.replace(region.layer("Gemm", "gemm", [inputs[0], inputs[1], zeros]))
        return None
    if len(dims) > rank:
        return Decline(f"the constant has {len(dims)} axes, and with it the product, beside a tensor of rank {rank}")
    while len(dims) > rank - 1 and dims[0] == 1:
        dims.pop(0)
    if len(dims) > rank - 1:
        return Decline(f"the constant has {len(dims)} axes that are not 1 beside a tensor of rank {rank}")
    dims = [1] * (rank - 1 - len(dims)) + dims
    if dims == list(value.shape):
        return Decline("the constant has that rank", plain=True)
    inputs[slot] = region.constant("factor", value.reshape(dims))
    region.replace(region.layer("MatMul", "product", inputs))
    return None

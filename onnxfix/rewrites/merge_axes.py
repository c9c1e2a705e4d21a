"""Reshape to more than eight axes, Transpose, Reshape, with the axes that move together merged into one.

Guard: static shapes save for one axis; all that reads the Reshape are Transposes and Reshapes, and all that reads those Reshapes.
Bit-equal over 8 cases.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._region import Change, Region
    from onnxfix.targets import Target

MOST = 8


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    first = facts.scope.nodes_by_index[region.index]
    name = first.outputs[0]
    dims = _dims(facts, name)
    if dims is None:
        return Decline("more than one of its dimensions is dynamic")
    if len(dims) <= MOST:
        return Decline(f"it has at most {MOST} axes", plain=True)
    if name in facts.scope.outputs:
        return Decline("the graph gives a value of that many axes")
    changes: list[Change] = []
    for node in _readers(facts, name):
        if node.op_type == "Reshape" and node.inputs[0] == name:
            here = region.beside(node.proto, node.index)
            declined = _last(here, facts, node, here.outer(first.inputs[0]))
            if declined is not None:
                return declined
            changes.append(here.change())
            continue
        if node.op_type != "Transpose" or node.domain or node.outputs[0] in facts.scope.outputs:
            return Decline(f"{node.op_type} reads a value of {len(dims)} axes")
        ends = _readers(facts, node.outputs[0])
        if any(end.op_type != "Reshape" or end.inputs[0] != node.outputs[0] for end in ends) or not ends:
            return Decline(f"what reads the Transpose of {len(dims)} axes is no Reshape")
        perm = node.attr("perm", tuple(reversed(range(len(dims)))))
        groups = _together(dims, perm)
        merged = [math.prod(dims[axis] for axis in group) for group in sorted(groups)]
        if len(merged) > MOST:
            return Decline(f"{len(merged)} axes move on their own")
        order = [sorted(groups).index(group) for group in groups]
        for end in ends:
            here = region.beside(end.proto, end.index)
            rows = _layers.reshape(here, "merged", here.outer(first.inputs[0]), merged)
            moved = here.layer("Transpose", "moved", [rows], perm=order)
            declined = _last(here, facts, end, moved)
            if declined is not None:
                return declined
            changes.append(here.change())
    return changes or Decline("nothing reads it")


def _readers(facts: ScopeFacts, name: str) -> list[Node]:
    return list(dict.fromkeys(node for node, _ in facts.scope.consumers.get(name, ())))


def _dims(facts: ScopeFacts, name: str) -> list[int] | None:
    """The extents, -1 for one that is dynamic; None where more are."""
    shape = facts.shape(name)
    dims = [-1 if isinstance(dim, Poly) else int(dim) for dim in shape or ()]
    return dims if shape is not None and dims.count(-1) < 2 and 0 not in dims else None


def _together(dims: list[int], perm: tuple[int, ...]) -> list[list[int]]:
    """The axes that stay neighbours in `perm`, in its order; axes of extent 1 are left out."""
    wide = [axis for axis in range(len(dims)) if dims[axis] != 1]
    groups: list[list[int]] = []
    for axis in (axis for axis in perm if dims[axis] != 1):
        if groups and wide.index(axis) == wide.index(groups[-1][-1]) + 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups or [[0]]


def _last(region: Region, facts: ScopeFacts, node: Node, data: gs.Tensor) -> Decline | None:
    """The Reshape at the end, by its own shape, with the extents that it keeps written out."""
    wanted = facts.numbers(node.inputs[1])
    dims = _dims(facts, node.outputs[0])
    if wanted is not None and 0 not in np.ravel(wanted):
        dims = [int(item) for item in np.ravel(wanted)]
    if dims is None:
        return Decline("the shape at the end is dynamic")
    region.replace(_layers.reshape(region, "shaped", data, dims))
    return None

"""Gather with constant flat indices: one form for everything that only moves elements to places known beforehand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites import _layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.rewrites._region import Region

# A constant of indices above this many elements is no repair.
MAX_INDICES = 1 << 22


def strides(shape: Sequence[int]) -> list[int]:
    """How far apart neighbours along each axis are in a tensor that is laid out row by row."""
    steps: list[int] = []
    step = 1
    for dim in reversed(shape):
        steps.insert(0, step)
        step *= dim
    return steps


def element_rows(indices: np.ndarray, shape: Sequence[int], axis: int) -> np.ndarray:
    """Flat positions that GatherElements and ScatterElements mean, in the form of `indices`."""
    steps, grid = strides(shape), np.indices(indices.shape)
    wrapped = np.where(indices < 0, indices + shape[axis], indices)
    return sum((wrapped if k == axis else grid[k]) * steps[k] for k in range(len(shape))) + np.zeros(indices.shape, np.int64)


def by_batch(rows: np.ndarray, shape: Sequence[int]) -> np.ndarray | None:
    """The rows of one batch element where every element of axis 0 takes from itself alone, all in the same places; else None.

    `rows` counts positions of a tensor of `shape`, its first axis that of the tensor.
    """
    if not shape or not rows.ndim or rows.shape[0] != shape[0] or not rows.size:
        return None
    size = math.prod(shape[1:])
    offsets = size * np.arange(shape[0]).reshape((-1,) + (1,) * (rows.ndim - 1))
    inner = rows - offsets
    if (inner != inner[:1]).any() or (inner < 0).any() or (inner >= size).any():
        return None
    first: np.ndarray = inner[0]
    return first


def take(
    region: Region, role: str, data: gs.Tensor, rows: np.ndarray, shape: Sequence[int], tail: Sequence[int] = ()
) -> gs.Variable:
    """The elements (or slabs of shape `tail`) at flat positions `rows` of a tensor of `shape` + `tail`; gives `rows.shape + tail`.

    Where every batch element takes from itself the batch axis stays, so that an implicit batch serves too.
    """
    inner = by_batch(rows, shape) if len(shape) > 1 else None
    if inner is not None:
        flat = data
        if len(shape) > 2:
            flat = _layers.reshape(region, f"{role}_flat", data, [0, math.prod(shape[1:]), *tail])
        return _layers.gather(region, role, flat, inner, 1)
    flat = data
    if len(shape) > 1:
        flat = _layers.reshape(region, f"{role}_flat", data, [math.prod(shape), *tail])
    return _layers.gather(region, role, flat, rows, 0)

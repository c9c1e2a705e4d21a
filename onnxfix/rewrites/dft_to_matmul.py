"""DFT and STFT as a product with the transform's matrix.

Guard: static length along the transformed axis; constant length, axis, window and step; STFT of real signals; no one-sided inverse.
2e-6 of the largest value over 32 cases. The matrix has length * length elements, so MAX_LENGTH bounds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._linear import matmul_along
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MAX_LENGTH = 2048


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    shape = facts.shape(proto.input[0])
    if shape is None:
        return Decline("the rank of the signal is unknown")
    if facts.dtype_name(proto.input[0]) not in ("FLOAT", "FLOAT16", "DOUBLE"):
        return Decline("the signal is not of floats")
    given = {slot: constant_value(facts, name) for slot, name in enumerate(proto.input) if slot and name}
    if any(array is None for array in given.values()):
        return Decline("the length, the axis, the window or the step is computed at run time")
    numbers = {slot: array for slot, array in given.items() if array is not None}
    dtype = onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(proto.input[0]))
    return (_stft if proto.op_type == "STFT" else _dft)(region, list(shape), numbers, dtype)


def matrix_of(length: int, bins: int, *, inverse: bool, complex_in: bool) -> np.ndarray:
    """[length * (1 or 2), bins * 2]: real and imaginary parts side by side, in float64."""
    turns = np.arange(length)[:, None] * np.arange(bins)[None, :] % length
    angle = (2 if inverse else -2) * np.pi * turns / length
    real, imaginary = np.cos(angle) / (length if inverse else 1), np.sin(angle) / (length if inverse else 1)
    rows = np.stack([real, imaginary], -1).reshape(length, 2 * bins)
    if not complex_in:
        return rows
    others = np.stack([-imaginary, real], -1).reshape(length, 2 * bins)
    return np.stack([rows, others], 1).reshape(2 * length, 2 * bins)


def _dft(region: Region, shape: list[object], given: dict[int, np.ndarray], dtype: np.dtype) -> Decline | None:
    attrs, rank = region.node.attrs, len(shape)
    axis = int(given[2].ravel()[0]) if 2 in given else attrs.get("axis", -2 if region.opset >= 20 else 1)
    axis %= rank
    if axis == rank - 1 or isinstance(shape[axis], Poly) or isinstance(shape[-1], Poly):
        return Decline("the transformed axis is dynamic, or the last")
    size, parts = int(shape[axis]), int(shape[-1])  # type: ignore[call-overload]
    length = int(given[1].ravel()[0]) if 1 in given else size
    inverse, onesided = bool(attrs.get("inverse", 0)), bool(attrs.get("onesided", 0))
    if inverse and onesided:
        return Decline("a one-sided inverse has no such matrix")
    if length > MAX_LENGTH:
        return Decline(f"the transform has {length} points; {MAX_LENGTH} are the most")
    bins = length // 2 + 1 if onesided else length
    matrix = matrix_of(length, bins, inverse=inverse, complex_in=parts == 2).reshape(length, parts, 2 * bins)
    # a shorter transform reads the first elements, a longer one zeros behind them
    have = min(length, size)
    rows = np.zeros((size, parts, 2 * bins))
    rows[:have] = matrix[:have]
    data = region.node.inputs[0]
    perm = [k for k in range(rank - 1) if k != axis] + [axis, rank - 1]
    if perm != list(range(rank)):
        data = region.layer("Transpose", "moved", [data], perm=perm)
    flat = _layers.reshape(region, "flat", data, [*([0] * (rank - 2)), size * parts])
    summed = _product(region, flat, rank - 1, rows.reshape(size * parts, 2 * bins).astype(dtype))
    made = _layers.reshape(region, "parts", summed, [*([0] * (rank - 2)), bins, 2])
    if perm != list(range(rank)):
        made = region.layer("Transpose", "back", [made], perm=[perm.index(k) for k in range(rank)])
    region.replace(made)
    return None


def _stft(region: Region, shape: list[object], given: dict[int, np.ndarray], dtype: np.dtype) -> Decline | None:
    if isinstance(shape[1], Poly) or (len(shape) == 3 and shape[2] != 1):
        return Decline("the signal is of dynamic length, or complex")
    size, step = int(shape[1]), int(given[1].ravel()[0])  # type: ignore[call-overload]
    window = given.get(2)
    length = int(given[3].ravel()[0]) if 3 in given else (window.size if window is not None else size)
    if length > MAX_LENGTH or length > size:
        return Decline(f"the frames have {length} elements; {min(MAX_LENGTH, size)} are the most")
    bins = length // 2 + 1 if region.node.attrs.get("onesided", 1) else length
    weights = matrix_of(length, bins, inverse=False, complex_in=False) * (
        1 if window is None else window.reshape(-1, 1).astype(float)
    )
    frames = (size - length) // step + 1
    data = region.node.inputs[0]
    if len(shape) == 3:
        data = _layers.reshape(region, "signal", data, [0, size])
    places = np.arange(frames)[:, None] * step + np.arange(length)
    cut = _layers.gather(region, "frames", data, places, 1)
    summed = _product(region, cut, 3, weights.astype(dtype))
    region.replace(_layers.reshape(region, "parts", summed, [0, frames, bins, 2]))
    return None


def _product(region: Region, data: gs.Tensor, rank: int, matrix: np.ndarray) -> gs.Variable:
    """The last axis of `data` times the matrix [in, out]."""
    if rank >= 3:
        return matmul_along(region, data, rank, rank - 1, matrix.T)
    return region.layer("MatMul", "transformed", [data, region.constant("matrix", matrix)])

"""Resize as arithmetic: which source positions an output index reads, and with which weights.

Every Resize is separable: along each axis the output is a constant matrix times the input. Positions are taken in float32, as
onnxruntime takes them; over 912 pairs of sizes and five coordinate modes, floor and ceil then never differ from it.
Source: the operator's specification, onnx/defs/tensor/defs.cc, Resize-10 to Resize-19.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.dims import Number
    from onnxfix.rewrites._region import Region

F32 = np.float32
# Longer axes are not listed position by position; float32 holds every index up to twice as many.
MAX_EXTENT = 1 << 23


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a resize: extents (None where dynamic) and scale (float32)."""

    before: int | None
    after: int | None
    scale: float

    @property
    def kept(self) -> bool:
        """True where nothing happens along it."""
        return self.before == self.after and self.scale == 1.0


@dataclass(frozen=True, slots=True)
class Interpolation:
    """What a Resize or Upsample node does."""

    mode: str
    coordinates: str
    nearest: str
    cubic_a: float
    exclude_outside: bool
    antialias: bool
    axes: tuple[Axis, ...]


def interpolation_of(region: Region) -> Interpolation | Decline:
    """Read the node's attributes and constant parameters in the form of its opset."""
    proto = region.proto
    attrs = {attribute.name: attribute for attribute in proto.attribute}

    def text(name: str, default: str) -> str:
        return attrs[name].s.decode() if name in attrs else default

    old = proto.op_type == "Upsample" or region.opset <= 10
    coordinates = "asymmetric" if old else text("coordinate_transformation_mode", "half_pixel")
    if coordinates == "tf_crop_and_resize":
        return Decline(f"coordinate mode {coordinates} is not covered")
    policy = text("keep_aspect_ratio_policy", "stretch")
    axes = _axes(region, old, list(attrs["axes"].ints) if "axes" in attrs else None, policy)
    if isinstance(axes, Decline):
        return axes
    mode = text("mode", "nearest")
    if old and any(axis.scale < 1 for axis in axes) and (mode == "nearest" or proto.op_type == "Upsample"):
        # Upsample wants scales from 1 on; of a nearest Resize-10 onnxruntime takes the ceiling where PyTorch took the floor
        return Decline("before opset 11 ONNX does not say which elements it reads when it shrinks")
    return Interpolation(
        mode={"bilinear": "linear", "trilinear": "linear"}.get(mode, mode),
        coordinates=coordinates,
        nearest="floor" if old else text("nearest_mode", "round_prefer_floor"),
        cubic_a=attrs["cubic_coeff_a"].f if "cubic_coeff_a" in attrs else -0.75,
        exclude_outside=bool("exclude_outside" in attrs and attrs["exclude_outside"].i),
        antialias=bool("antialias" in attrs and attrs["antialias"].i),
        axes=axes,
    )


def _axes(region: Region, old: bool, some: list[int] | None, policy: str) -> tuple[Axis, ...] | Decline:
    proto, facts = region.proto, region.facts
    shape = facts.shape(proto.input[0])
    if shape is None:
        return Decline("the rank of the data is unknown")
    sizes = None
    if not old and len(proto.input) > 3 and proto.input[3]:
        array = facts.array(proto.input[3])
        if array is None:
            return Decline("the sizes are computed at run time")
        sizes = list(array.ravel())
        if some is not None and len(sizes) == len(some):
            sizes = _on_all_axes(sizes, some, list(shape))
        if policy != "stretch":
            return _same_ratio(sizes, shape, some or list(range(len(shape))), policy)
        if len(sizes) != len(shape):
            return Decline(f"{len(sizes)} sizes for {len(shape)} axes")
        if len(shape) > 2 and sizes[:2] == [1, 1] and any(dim != 1 and not isinstance(dim, Poly) for dim in shape[:2]):
            return Decline("its sizes begin with 1,1 for other data, which torch 1.3 writes by mistake (OFX701)")
        scales = [_ratio(after, before) for before, after in zip(shape, sizes, strict=True)]
    else:
        given = next((attribute.floats for attribute in proto.attribute if attribute.name == "scales"), None)
        slot = 1 if old else 2
        numbers = given if given is not None else facts.numbers(proto.input[slot]) if len(proto.input) > slot else None
        if numbers is None:
            return Decline("the scales are computed at run time")
        scales = [float(F32(item)) for item in np.ravel(numbers)]
        if some is not None and len(scales) == len(some):
            scales = _on_all_axes(scales, some, [1.0] * len(shape))
        if len(scales) != len(shape):
            return Decline(f"{len(scales)} scales for {len(shape)} axes")
    axes = []
    for axis, (before, scale) in enumerate(zip(shape, scales, strict=True)):
        extent = None if isinstance(before, Poly) else int(before)
        if scale is not None and not scale >= 0:
            return Decline(f"scale {scale:g} is negative")
        if scale is None:
            return Decline(f"axis {axis} is resized from {before} to {sizes[axis] if sizes else '?'}, no constant ratio")
        if sizes is not None and extent is not None and not isinstance(sizes[axis], Poly):
            after: int | None = int(sizes[axis])
        else:
            after = None if extent is None else output_size(extent, scale)
        if max(extent or 0, after or 0) > MAX_EXTENT:
            return Decline(f"axis {axis} has {max(extent or 0, after or 0)} positions")
        axes.append(Axis(extent, after, scale))
    return tuple(axes)


def _on_all_axes(values: list[Any], some: list[int], others: list[Any]) -> list[Any]:
    """`values` at the axes `some`, those of `others` elsewhere."""
    for axis, value in zip(some, values, strict=True):
        others[axis] = value
    return others


def _same_ratio(sizes: list[Number], shape: tuple[Number, ...], some: list[int], policy: str) -> tuple[Axis, ...] | Decline:
    """All of the axes `some` scaled alike, by the smallest or the largest ratio; extents round to the nearest, halves up."""
    before = [shape[axis] for axis in some]
    if len(sizes) != len(shape) or any(isinstance(dim, Poly) for dim in (*before, *(sizes[axis] for axis in some))):
        return Decline("the aspect ratio is kept, and a size is dynamic")
    ratios = [F32(int(sizes[axis])) / F32(int(shape[axis])) for axis in some]  # type: ignore[arg-type]
    scale = float(min(ratios) if policy == "not_larger" else max(ratios))
    axes = []
    for axis, dim in enumerate(shape):
        extent = None if isinstance(dim, Poly) else int(dim)
        if axis in some or axis - len(shape) in some:
            assert extent is not None
            axes.append(Axis(extent, int(np.floor(F32(scale) * F32(extent) + F32(0.5))), scale))
        else:
            axes.append(Axis(extent, extent, 1.0))
    return tuple(axes)


def _ratio(after: Number, before: Number) -> float | None:
    from onnxfix.model.dims import divide

    if after == before:
        return 1.0
    if isinstance(after, Poly) or isinstance(before, Poly):
        ratio = divide(after, before)
        return None if ratio is None or isinstance(ratio, Poly) else float(F32(float(ratio)))
    return float(F32(int(after)) / F32(int(before)))


def output_size(before: int, scale: float) -> int:
    """The extent that a float32 scale gives."""
    return int(np.floor(F32(before) * F32(scale)))


def scale_for(before: int, after: int) -> float:
    """The smallest float32 not below after/before for which `output_size` gives `after`.

    The plain quotient may fall short by one: of the 262,144 pairs up to 512 it does in 12,897.
    """
    scale = F32(after) / F32(before)
    while output_size(before, float(scale)) < after:
        scale = np.nextafter(scale, F32(np.inf))
    return float(scale)


def positions(axis: Axis, coordinates: str) -> np.ndarray:
    """The source position of each output index: float32, shape [after]."""
    assert axis.before is not None
    assert axis.after is not None
    index, scale = np.arange(axis.after, dtype=F32), F32(axis.scale)
    if coordinates == "asymmetric":
        return index / scale
    if coordinates == "tf_half_pixel_for_nn":
        return (index + F32(0.5)) / scale
    if coordinates == "align_corners":
        return index * F32(axis.before - 1) / F32(axis.after - 1) if axis.after > 1 else np.zeros(axis.after, F32)
    if coordinates == "pytorch_half_pixel" and axis.after <= 1:
        return np.zeros(axis.after, F32)
    place = (index + F32(0.5)) / scale - F32(0.5)
    if coordinates == "half_pixel_symmetric":
        shown = F32(axis.after) / (scale * F32(axis.before))
        return F32(axis.before) / F32(2) * (F32(1) - shown) + place
    return place


def nearest_indices(axis: Axis, coordinates: str, rounding: str) -> np.ndarray:
    """The source index of each output index: int64, shape [after]."""
    assert axis.before is not None
    place = positions(axis, coordinates).astype(np.float64)  # adding one half in float32 would round
    if rounding in ("floor", "ceil"):
        rounded = np.floor(place) if rounding == "floor" else np.ceil(place)
    else:
        rounded = np.floor(place + 0.5) if rounding == "round_prefer_ceil" else np.ceil(place - 0.5)
    return np.clip(rounded, 0, axis.before - 1).astype(np.int64)


def axis_matrix(axis: Axis, how: Interpolation) -> np.ndarray:
    """Weights of every source element for every output element: float32, shape [after, before]."""
    assert axis.before is not None
    assert axis.after is not None
    matrix = np.zeros((axis.after, axis.before), np.float64)
    rows = np.arange(axis.after)
    if how.mode == "nearest":
        matrix[rows, nearest_indices(axis, how.coordinates, how.nearest)] = 1
        return matrix.astype(F32)
    place = positions(axis, how.coordinates).astype(np.float64)
    last = axis.before - 1
    if how.antialias and axis.scale < 1:
        return _stretched(axis, how, place)
    if how.mode == "linear":
        place = np.clip(place, 0, last)
        low = np.floor(place)
        np.add.at(matrix, (rows, low.astype(int)), 1 - (place - low))
        np.add.at(matrix, (rows, np.minimum(low + 1, last).astype(int)), place - low)
        return matrix.astype(F32)
    low = np.floor(place)
    taps = np.stack([low + offset for offset in (-1, 0, 1, 2)])
    weights = _cubic((place - low).astype(F32), F32(how.cubic_a))
    if how.exclude_outside:
        weights[(taps < 0) | (taps > last)] = 0
        weights /= weights.sum(axis=0)
    for tap, weight in zip(np.clip(taps, 0, last).astype(int), weights, strict=True):
        np.add.at(matrix, (rows, tap), weight)
    return matrix.astype(F32)


def _stretched(axis: Axis, how: Interpolation, place: np.ndarray) -> np.ndarray:
    """The weights with antialias, where the kernel is as much wider as the axis shrinks, and its weights sum to one."""
    assert axis.before is not None
    assert axis.after is not None
    stretch = 1 / float(axis.scale)
    reach = (1 if how.mode == "linear" else 2) * stretch
    matrix = np.zeros((axis.after, axis.before), np.float64)
    for row, middle in enumerate(place):
        taps = np.arange(np.floor(middle - reach), np.ceil(middle + reach) + 1)
        distance = np.abs(taps - middle) / stretch
        weights = np.maximum(0.0, 1 - distance) if how.mode == "linear" else _cubic_at(distance, how.cubic_a)
        if how.exclude_outside:
            weights[(taps < 0) | (taps >= axis.before)] = 0
        np.add.at(matrix[row], np.clip(taps, 0, axis.before - 1).astype(int), weights / weights.sum())
    return matrix.astype(F32)


def _cubic_at(distance: np.ndarray, a: float) -> np.ndarray:
    """The cubic kernel at a distance from its middle, in float64."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.asarray(np.where(distance <= 1, near, np.where(distance < 2, far, 0.0)))


def _cubic(part: np.ndarray, a: np.float32) -> np.ndarray:
    """Weights of the four taps around a position, in float32 and in onnxruntime's order of operations: shape [4, after].

    The terms are up to 8*a while the weights are below 1, so another order differs by more than one rounding.
    """
    one, two = F32(1), F32(2)

    def far(distance: np.ndarray) -> Any:
        return ((a * distance - F32(5) * a) * distance + F32(8) * a) * distance - F32(4) * a

    def near(distance: np.ndarray) -> Any:
        return ((a + two) * distance - (a + F32(3))) * distance * distance + one

    return np.stack([far(part + one), near(part), near(one - part), far(two - part)])

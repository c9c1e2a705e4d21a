"""Resize to that of opset 11, and to Upsample-9: nearest with constant scales where both read the same elements.

Upsample-9 takes element floor(i / scale). That is Resize with asymmetric coordinates and floor at any scale from 1 on, and other
roundings at whole scales; for static sizes the index maps are compared element by element, for dynamic ones the scale must be
whole and the mode on the list. Bit-equal over 74 cases. Guard for the importers of 5.x: rank 4, batch and channels kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._interpolation import F32, Axis, interpolation_of, nearest_indices, output_size, scale_for
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._interpolation import Interpolation
    from onnxfix.rewrites._region import Region

# (coordinates, rounding) that equal floor(i / scale) at every whole scale and every size.
SAME_AT_WHOLE_SCALES = {
    ("asymmetric", "floor"),
    ("tf_half_pixel_for_nn", "floor"),
    ("half_pixel", "round_prefer_floor"),
    ("half_pixel", "round_prefer_ceil"),
    ("pytorch_half_pixel", "round_prefer_floor"),
    ("pytorch_half_pixel", "round_prefer_ceil"),
}


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if low >= 11:
        return _general.lower(region, low) if region.proto.op_type == "Upsample" else _newer(region, low)
    how = interpolation_of(region)
    if isinstance(how, Decline):
        return how
    scales = upsample_scales(how)
    if isinstance(scales, Decline):
        return scales
    if low < 9:
        region.edited.op_type = "Upsample"
        del region.edited.input[1:]
        del region.edited.attribute[:]
        _general.set_attribute(region, "mode", "nearest")
        _general.set_attribute(region, "scales", [float(scale) for scale in scales])
        return None
    stored = _stored_scales(region, scales)
    if low < 10:
        region.edited.op_type = "Upsample"
    del region.edited.input[1:]
    region.edited.input.append(stored or region.tensor("scales", np.array(scales, F32)))
    del region.edited.attribute[:]
    region.edited.attribute.append(onnx.helper.make_attribute("mode", "nearest"))
    return None


def _newer(region: Region, low: int) -> Decline | None:
    """The form of opset 11 to 18: all axes, no antialias, and below 13 an empty region of interest and scales."""
    proto, facts = region.proto, region.facts
    inputs = [*proto.input, "", "", ""][:4]
    if _general.attribute(region, "antialias", 0) and low < 18:
        return Decline(f"Resize has no antialias in opset {low}")
    coordinates = _general.attribute(region, "coordinate_transformation_mode", "half_pixel")
    if coordinates == "half_pixel_symmetric" and low < 19:
        return Decline(f"Resize has no {coordinates} in opset {low}")
    some = _general.attribute(region, "axes", None)
    policy = _general.attribute(region, "keep_aspect_ratio_policy", "stretch")
    declined = _general.types(region, low)
    if declined is not None or region.is_replaced:
        return declined
    if low < 18 and (some is not None or policy != "stretch"):
        if coordinates == "tf_crop_and_resize":
            return Decline("tf_crop_and_resize over some axes")
        how = interpolation_of(region)
        if isinstance(how, Decline):
            return how
        declined = _set_all_axes(region, how, by_sizes=bool(inputs[3]) and policy == "stretch")
        if declined is not None:
            return declined
    if low < 18:
        for name in ("antialias", "axes", "keep_aspect_ratio_policy"):
            _general.drop_attribute(region, name)
    if low < 13:
        for slot, role in ((1, "roi"), (2, "scales")):
            if slot >= len(region.edited.input) or not region.edited.input[slot]:
                dtype = facts.dtype(proto.input[0]) if role == "roi" else onnx.TensorProto.FLOAT
                region.set_input(slot, f"no_{role}", np.zeros(0, onnx.helper.tensor_dtype_to_np_dtype(dtype or 1)))
    return None


def _set_all_axes(region: Region, how: Interpolation, *, by_sizes: bool) -> Decline | None:
    if by_sizes:
        if any(axis.after is None for axis in how.axes):
            return Decline("only some axes are resized by sizes, and another is dynamic")
        region.set_input(3, "sizes", np.array([axis.after for axis in how.axes], np.int64))
        return None
    for axis in how.axes:
        # onnxruntime multiplies in float32, onnx's inference in float64
        sizes = set() if axis.before is None else {output_size(axis.before, axis.scale), int(axis.before * axis.scale)}
        if sizes - {axis.after}:
            return Decline(f"no scale takes {axis.before} to {axis.after} alike")
    region.set_input(2, "scales", np.array([axis.scale for axis in how.axes], F32))
    del region.edited.input[3:]
    return None


def _stored_scales(region: Region, scales: list[float]) -> str | None:
    """The name of the node's own scales where they are an initializer and say just that."""
    name = region.proto.input[1 if region.opset <= 10 else 2]
    if name not in region.facts.scope.initializers:
        return None
    numbers = region.facts.numbers(name)
    return name if numbers is not None and np.array_equal(numbers, np.array(scales, F32)) else None


def upsample_scales(how: Interpolation) -> list[float] | Decline:
    """The scales of an Upsample-9 that reads the same elements."""
    if how.mode != "nearest":
        return Decline(f"mode {how.mode} is not nearest")
    if len(how.axes) != 4:
        return Decline(f"Upsample takes rank 4, not {len(how.axes)}")
    if not (how.axes[0].kept and how.axes[1].kept):
        return Decline("batch or channels are resized")
    scales = [1.0, 1.0]
    for axis in how.axes[2:]:
        scale = _axis_scale(axis, how)
        if scale is None:
            return Decline(f"{how.coordinates} with {how.nearest} from {axis.before} to {axis.after} reads other elements")
        scales.append(scale)
    return scales


def _axis_scale(axis: Axis, how: Interpolation) -> float | None:
    if axis.before is None or axis.after is None:
        whole = axis.scale >= 1 and axis.scale == int(axis.scale)
        return axis.scale if whole and (how.coordinates, how.nearest) in SAME_AT_WHOLE_SCALES else None
    if axis.after < axis.before:
        return None
    scale = axis.scale if output_size(axis.before, axis.scale) == axis.after else scale_for(axis.before, axis.after)
    simple = np.clip(np.floor(np.arange(axis.after, dtype=F32) / F32(scale)), 0, axis.before - 1)
    same = np.array_equal(nearest_indices(axis, how.coordinates, how.nearest), simple)
    return scale if same and output_size(axis.before, scale) == axis.after else None

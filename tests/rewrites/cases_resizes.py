"""Resize and Upsample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import assume

from .cases import ROUNDING, Case, Draw, array, pick, serves, whole
from .harness import one_node
from .resizes import COORDINATES, ROUNDINGS, is_tie, resize

if TYPE_CHECKING:
    import onnx


def _sizes(draw: Draw, shape: tuple[int, ...]) -> tuple[list[int] | None, list[float] | None]:
    if pick(draw, True, False):
        return [*shape[:2], *(whole(draw, 1, 9) for _ in shape[2:])], None
    return None, [1.0, 1.0, *(pick(draw, 1.0, 2.0, 3.0, 1.5, 0.5) for _ in shape[2:])]


def nearest_resize(draw: Draw, opset: int, rank: int = 4) -> tuple[onnx.ModelProto, np.ndarray]:
    shape = (whole(draw, 1, 2), 2, *(whole(draw, 2, 5) for _ in range(rank - 2)))
    sizes, scales = _sizes(draw, shape)
    more: dict[str, Any] = {}
    if opset <= 10:
        sizes, scales = None, [1.0, 1.0, *(pick(draw, 1.0, 2.0, 3.0) for _ in shape[2:])]
    else:
        more = {"coordinate_transformation_mode": pick(draw, *COORDINATES), "nearest_mode": pick(draw, *ROUNDINGS)}
        for axis, before in enumerate(shape[2:], 2):
            scale = None if scales is None else scales[axis]
            after = sizes[axis] if sizes is not None else int(before * float(scale or 1))
            assume(after > 0 and not is_tie(before, after, scale, more["coordinate_transformation_mode"]))
    return resize(shape, opset=opset, sizes=sizes, scales=scales, mode="nearest", **more), array(draw, shape, delicate=True)


@serves("resize_to_gather")
def nearest(draw: Draw, name: str) -> Case:
    model, x = nearest_resize(draw, pick(draw, 9, 10, 11, 13), pick(draw, 3, 4))
    return Case(model, {"x": x})


@serves("resize_to_asymmetric")
def asymmetric(draw: Draw, name: str) -> Case:
    model, x = nearest_resize(draw, pick(draw, 11, 13))
    return Case(model, {"x": x}, target="trt7.0")


@serves("resize_sizes_to_scales")
def by_scales(draw: Draw, name: str) -> Case:
    shape = (1, 2, whole(draw, 2, 5), whole(draw, 2, 5))
    sizes = [1, 2, whole(draw, 1, 9), whole(draw, 1, 9)]
    coordinates = pick(draw, "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    model = resize(shape, opset=pick(draw, 11, 13), sizes=sizes, mode="linear", coordinate_transformation_mode=coordinates)
    # onnx's inference multiplies by the scale in float64, and onnxruntime believes it within a subgraph
    return Case(model, {"x": array(draw, shape)}, 5e-5, target="trt7.0", places=("read twice", "hidden"))


@serves("resize_fill_roi")
def filled(draw: Draw, name: str) -> Case:
    shape = (1, 2, whole(draw, 2, 5), whole(draw, 2, 5))
    mode, coordinates = pick(draw, "nearest", "linear", "cubic"), pick(draw, *COORDINATES[:4])
    scales = [1.0, 1.0, *(pick(draw, 2.0, 1.5, 0.5) for _ in range(2))]
    constants = {"r": np.zeros(0, np.float32), "s": np.array(scales, np.float32)}
    model = one_node(
        "Resize",
        ["x", "r", "s"],
        {"x": shape},
        opset=11,
        constants=constants,
        mode=mode,
        coordinate_transformation_mode=coordinates,
    )
    return Case(model, {"x": array(draw, shape, delicate=mode == "nearest")}, target="trt7.0")


def interpolated(draw: Draw, opset: int) -> tuple[onnx.ModelProto, np.ndarray]:
    shape = (whole(draw, 1, 2), 2, *(whole(draw, 2, 5) for _ in range(2)))
    sizes, scales = _sizes(draw, shape)
    mode, more = pick(draw, "linear", "cubic"), {}
    if opset <= 10:
        sizes, scales, mode = None, [1.0, 1.0, pick(draw, 2.0, 3.0), pick(draw, 1.0, 2.0)], "linear"
    else:
        more = {"coordinate_transformation_mode": pick(draw, *COORDINATES[:4])}
    assume(sizes is not None or all(int(a * b) for a, b in zip(shape[2:], (scales or [])[2:], strict=True)))
    return resize(shape, opset=opset, sizes=sizes, scales=scales, mode=mode, **more), array(draw, shape)


@serves("resize_to_matmul")
def matrices(draw: Draw, name: str) -> Case:
    model, x = interpolated(draw, pick(draw, 9, 10, 11, 13))
    return Case(model, {"x": x}, 1e-5)


@serves("resize_to_conv_transpose")
def kernels(draw: Draw, name: str) -> Case:
    shape = (whole(draw, 1, 2), 2, *(whole(draw, 1, 4) for _ in range(2)))
    scales = [1.0, 1.0, pick(draw, 1.0, 2.0, 3.0), pick(draw, 2.0, 4.0)]
    coordinates = pick(draw, "half_pixel", "pytorch_half_pixel", "asymmetric")
    model = resize((*shape[:2], "h", "w"), scales=scales, mode="linear", coordinate_transformation_mode=coordinates)
    return Case(model, {"x": array(draw, shape)}, ROUNDING)


@serves("resize_to_nearest")
def repeated(draw: Draw, name: str) -> Case:
    shape = (1, 2, whole(draw, 1, 4), whole(draw, 1, 4))
    ratio = whole(draw, 1, 3)
    opset = pick(draw, 9, 11, 13)
    scales = [1.0, 1.0, 2.0, float(ratio)]
    more: dict[str, Any] = {"coordinate_transformation_mode": pick(draw, "half_pixel", "align_corners")} if opset > 10 else {}
    nearer = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"} if opset > 10 else {}
    model = resize(shape, opset=opset, scales=scales, mode="linear", **more)
    meant = resize(shape, opset=opset, scales=scales, mode="nearest", **nearer)
    return Case(model, {"x": array(draw, shape)}, meant=meant, options={"allow": "approximate"})


@serves("resize_sizes_keep_batch")
def batch_kept(draw: Draw, name: str) -> Case:
    shape = (whole(draw, 2, 3), 2, whole(draw, 2, 4), whole(draw, 2, 4))
    wanted = [whole(draw, 1, 8), whole(draw, 1, 8)]
    more = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    model = resize(shape, sizes=[1, 1, *wanted], **more)
    meant = resize(shape, sizes=[*shape[:2], *wanted], **more)
    return Case(model, {"x": array(draw, shape)}, ROUNDING, meant=meant, consent=("OFX701",))

"""Nearest resizing by constant indices: the same bits as onnxruntime's Resize."""

import math
from fractions import Fraction

import numpy as np
import onnx
import pytest

from onnxfix.rewrites._interpolation import Axis, nearest_indices

from .harness import ask, noise, ops, rewrite, run, same_bits
from .resizes import COORDINATES, ROUNDINGS, is_tie, place, resize

PAIRS = (((5, 7), (10, 14)), ((6, 8), (9, 5)), ((8, 8), (3, 3)), ((7, 9), (7, 20)), ((4, 3), (1, 1)), ((1, 2), (3, 5)))


def ties(before: tuple[int, ...], after: tuple[int, ...], coordinates: str, rounding: str) -> bool:
    """Half-way positions: runtimes do not agree with one another there, so they are left out."""
    return rounding.startswith("round") and any(is_tie(b, a, None, coordinates) for b, a in zip(before, after, strict=True))


@pytest.mark.parametrize("opset", [11, 13, 18, 19])
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_same_bits_as_onnxruntime(opset: int, coordinates: str, rounding: str) -> None:
    compared = 0
    for before, after in PAIRS:
        if ties(before, after, coordinates, rounding):
            continue
        x = noise((2, 3, *before))
        ratios = [np.float32(a) / np.float32(b) for b, a in zip(before, after, strict=True)]
        for given in ({"sizes": [2, 3, *after]}, {"scales": [1, 1, *ratios]}):
            model = resize(x.shape, opset=opset, coordinate_transformation_mode=coordinates, nearest_mode=rounding, **given)
            result = rewrite(model, "resize_to_gather")
            assert set(ops(result)) == {"Gather"}
            same_bits(run(model, {"x": x}), run(result, {"x": x}))
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_indices_are_those_of_exact_arithmetic(coordinates: str, rounding: str) -> None:
    """Except within float32's rounding of a place where the answer changes, and half-way places go where the rounding says."""
    step = {
        "floor": math.floor,
        "ceil": math.ceil,
        "round_prefer_floor": lambda place: math.ceil(place - Fraction(1, 2)),
        "round_prefer_ceil": lambda place: math.floor(place + Fraction(1, 2)),
    }[rounding]
    compared = 0
    for before in range(1, 24):
        for after in range(1, 24):
            scale = float(np.float32(after) / np.float32(before))
            got = nearest_indices(Axis(before, after, scale), coordinates, rounding)
            for index in range(after):
                position = place(index, before, after, scale, coordinates)
                wanted = {min(max(step(position + nudge), 0), before - 1) for nudge in (-Fraction(1, 10**5), 0, Fraction(1, 10**5))}
                assert int(got[index]) in wanted
                compared += len(wanted) == 1
    assert compared > 5000


@pytest.mark.parametrize("opset", [9, 10])
@pytest.mark.parametrize("scales", [(2.0, 2.0), (3.0, 1.0), (1.5, 2.25), (2.7, 1.1)])
def test_the_old_forms_take_the_floor(opset: int, scales: tuple[float, float]) -> None:
    model = resize((2, 3, 6, 4), opset=opset, scales=[1, 1, *scales])
    x = noise((2, 3, 6, 4))
    same_bits(run(model, {"x": x}), run(rewrite(model, "resize_to_gather"), {"x": x}))


@pytest.mark.parametrize("dtype", [onnx.TensorProto.FLOAT16, onnx.TensorProto.INT32, onnx.TensorProto.UINT8])
def test_indices_serve_any_element_type(dtype: int) -> None:
    model = resize((1, 2, 4, 5), sizes=[1, 2, 9, 7], nearest_mode="floor", coordinate_transformation_mode="asymmetric", dtype=dtype)
    x = (noise((1, 2, 4, 5)) * 40 + 100).astype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
    before = run(model, {"x": x}) if dtype != onnx.TensorProto.FLOAT16 else {"y": run_in_float32(x)}
    same_bits(before, run(rewrite(model, "resize_to_gather"), {"x": x}))


def run_in_float32(x: np.ndarray) -> np.ndarray:
    """onnxruntime has no Resize for half precision everywhere; nearest only moves elements."""
    model = resize(x.shape, sizes=[1, 2, 9, 7], nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    return run(model, {"x": x.astype(np.float32)})["y"].astype(np.float16)


@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 3, 4, 5, 6)])
def test_any_rank_and_any_axis_but_the_batch(shape: tuple[int, ...]) -> None:
    sizes = [shape[0], *(2 * size + 1 for size in shape[1:])]
    model = resize(shape, sizes=sizes, nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    x = noise(shape)
    same_bits(run(model, {"x": x}), run(rewrite(model, "resize_to_gather"), {"x": x}))


def test_nan_and_infinity_are_moved_like_all_else() -> None:
    x = noise((1, 1, 3, 3))
    x[0, 0] = [[np.nan, np.inf, -np.inf], [-0.0, 0.0, 1.0], [2.0, 3.0, 4.0]]
    model = resize(x.shape, sizes=[1, 1, 7, 5], nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    same_bits(run(model, {"x": x}), run(rewrite(model, "resize_to_gather"), {"x": x}))


def test_a_dynamic_batch_stays_and_a_kept_axis_may_be_dynamic() -> None:
    model = resize(("n", "c", 4, 6), scales=[1, 1, 2.5, 1.5], nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    result = rewrite(model, "resize_to_gather")
    for batch, channels in ((1, 1), (3, 2)):
        x = noise((batch, channels, 4, 6))
        same_bits(run(model, {"x": x}), run(result, {"x": x}))


REASONS = [
    (resize((1, 3, 8, 8), scales=[1, 1, 2, 2], mode="linear"), "mode linear needs weights"),
    (resize((1, 3, 8, 8), scales=[1, 1, 2, 2], mode="cubic"), "mode cubic needs weights"),
    (resize((2, 3, 8, 8), sizes=[4, 3, 8, 8]), "the batch axis is resized"),
    (resize((1, 3, "h", 8), scales=[1, 1, 2, 2]), "the size of a resized axis is dynamic"),
    (resize((1, 3, 8, 8), sizes=[1, 1, 16, 16]), "OFX701"),
    (resize((4, 1, 8, 8), sizes=[1, 1, 16, 16]), "(OFX701)"),
    (resize((1, 3, 8, 8), sizes=[1, 3, 4, 4], coordinate_transformation_mode="tf_crop_and_resize"), "tf_crop_and_resize"),
]


@pytest.mark.parametrize(("model", "reason"), REASONS, ids=[reason for _, reason in REASONS])
def test_it_declines_with_the_reason(model: onnx.ModelProto, reason: str) -> None:
    answer = ask(model, "resize_to_gather")
    assert isinstance(answer, str)
    assert reason in answer

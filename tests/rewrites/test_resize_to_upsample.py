"""Resize as Upsample-9, by the move to opset 9: the same bits, or declined where an index map differs."""

import numpy as np
import onnx
import pytest

from . import harness
from .harness import applied, noise, ops, repair, run, same_bits
from .resizes import COORDINATES, ROUNDINGS, is_tie, resize

WHOLE = {
    ("asymmetric", "floor"),
    ("tf_half_pixel_for_nn", "floor"),
    ("half_pixel", "round_prefer_floor"),
    ("half_pixel", "round_prefer_ceil"),
    ("pytorch_half_pixel", "round_prefer_floor"),
    ("pytorch_half_pixel", "round_prefer_ceil"),
}


def lower(model: onnx.ModelProto, low: int) -> onnx.ModelProto | str:
    return harness.lower(model, low, rewrites=False)


@pytest.mark.parametrize("opset", [11, 13, 18, 19])
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_what_it_gives_has_the_same_bits_and_the_known_pairs_are_given(opset: int, coordinates: str, rounding: str) -> None:
    for before, after in (((4, 6), (8, 12)), ((3, 5), (9, 20)), ((5, 7), (8, 11)), ((6, 6), (6, 7)), ((2, 2), (5, 2))):
        tie = rounding.startswith("round") and any(is_tie(b, a, None, coordinates) for b, a in zip(before, after, strict=True))
        model = resize(
            (2, 3, *before), opset=opset, sizes=[2, 3, *after], coordinate_transformation_mode=coordinates, nearest_mode=rounding
        )
        result = lower(model, 9)
        whole = all(a % b == 0 for b, a in zip(before, after, strict=True))
        if whole and (coordinates, rounding) in WHOLE:
            assert not isinstance(result, str), result
        if isinstance(result, str):
            assert "reads other elements" in result
            continue
        assert ops(result) == ["Upsample"]
        assert result.opset_import[0].version == 9
        if not tie:
            x = noise((2, 3, *before))
            same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize("pair", sorted(WHOLE), ids="-".join)
def test_whole_scales_hold_for_every_size(pair: tuple[str, str]) -> None:
    model = resize(("n", 3, "h", "w"), scales=[1, 1, 2, 3], coordinate_transformation_mode=pair[0], nearest_mode=pair[1])
    result = lower(model, 9)
    assert not isinstance(result, str), result
    for shape in ((1, 3, 1, 1), (2, 3, 5, 4), (1, 3, 33, 17), (1, 3, 128, 96)):
        x = noise(shape)
        same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize("scales", [(2.0, 2.0), (1.5, 2.25), (2.7, 1.1), (1.0, 1.0)])
def test_opset_10_is_renamed_at_any_scale_from_1_on(scales: tuple[float, float]) -> None:
    model = resize((1, 3, 10, 7), opset=10, scales=[1, 1, *scales])
    result = lower(model, 9)
    assert not isinstance(result, str), result
    x = noise((1, 3, 10, 7))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_sizes_whose_plain_ratio_falls_one_short_get_a_scale_that_does_not() -> None:
    """float32(after) / float32(before) times before truncates to after - 1 for one pair in twenty."""
    short = [
        (before, after)
        for before in range(1, 64)
        for after in range(before, 128)
        if int(np.float32(before) * (np.float32(after) / np.float32(before))) < after
    ]
    assert len(short) > 50
    for before, after in short[:: len(short) // 25]:
        model = resize((1, 1, before, 1), sizes=[1, 1, after, 1], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        result = lower(model, 9)
        if isinstance(result, str):  # the nudged scale may move an index: then it has to decline
            assert "reads other elements" in result
            continue
        x = noise((1, 1, before, 1))
        same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_the_repair_takes_it_before_gather() -> None:
    report, result = repair(
        resize((1, 3, 4, 4), sizes=[1, 3, 8, 8], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    )
    assert result is not None
    assert ops(result) == ["Upsample"]
    assert applied(report) == ["opset_move", "list_initializers"]


def test_the_repair_falls_back_to_gather_with_the_reason_at_hand() -> None:
    report, result = repair(
        resize((1, 3, 4, 4), sizes=[1, 3, 7, 9], coordinate_transformation_mode="align_corners", nearest_mode="floor")
    )
    assert result is not None
    assert ops(result) == ["Gather", "Gather"]
    assert applied(report)[0] == "resize_to_gather"


REASONS = [
    (resize((1, 3, 8, 8), scales=[1, 1, 2, 2], mode="linear"), "mode linear is not nearest"),
    (resize((3, 8, 8), scales=[1, 2, 2]), "Upsample takes rank 4, not 3"),
    (resize((1, 3, 4, 8, 8), scales=[1, 1, 2, 2, 2]), "Upsample takes rank 4, not 5"),
    (resize((1, 3, 8, 8), scales=[1, 2, 2, 2]), "batch or channels are resized"),
    (resize((1, 3, 8, 8), sizes=[1, 3, 4, 4], nearest_mode="floor"), "reads other elements"),
    (
        resize((1, 3, "h", "w"), scales=[1, 1, 1.5, 1.5], nearest_mode="floor", coordinate_transformation_mode="asymmetric"),
        "reads other elements",
    ),
    (resize((1, 3, "h", "w"), scales=[1, 1, 2, 2], coordinate_transformation_mode="align_corners"), "reads other elements"),
    (resize((1, 3, 8, 8), sizes=[1, 1, 16, 16]), "OFX701"),
    (resize((4, 1, 8, 8), sizes=[1, 1, 16, 16]), "(OFX701)"),
]


@pytest.mark.parametrize(("model", "reason"), REASONS, ids=[reason for _, reason in REASONS])
def test_it_declines_with_the_reason(model: onnx.ModelProto, reason: str) -> None:
    answer = lower(model, 9)
    assert isinstance(answer, str)
    assert reason in answer
    assert answer.startswith("Resize node cannot follow to opset 9")


def test_opset_10_has_a_resize_of_the_same_scales_and_opset_8_an_attribute() -> None:
    model = resize((1, 3, 4, 4), scales=[1, 1, 2, 2], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    result = lower(model, 10)
    assert not isinstance(result, str), result
    assert (ops(result), len(result.graph.node[0].input)) == (["Resize"], 2)
    x = noise((1, 3, 4, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    older = lower(model, 8)
    assert not isinstance(older, str), older
    assert list(onnx.helper.get_node_attr_value(older.graph.node[0], "scales")) == [1, 1, 2, 2]
    same_bits(run(model, {"x": x}), run(older, {"x": x}))


def test_an_axis_too_long_to_list_and_a_negative_scale_are_left() -> None:
    assert "positions" in str(lower(resize((1, 1, 1 << 28, 2), opset=11, sizes=[1, 1, 1 << 30, 2]), 9))
    assert "negative" in str(lower(resize((1, 1, 4, 4), opset=11, scales=[1, 1, -2, 2]), 9))

"""Linear and cubic (and nearest) resizing by constant matrices, against onnxruntime's own Resize."""

import numpy as np
import onnx
import pytest

from .harness import ask, error, noise, ops, rewrite, run
from .resizes import COORDINATES, is_tie, resize

# (height, width) before and after: whole and broken ratios, both directions, one axis kept, single rows.
PAIRS = (((5, 7), (10, 14)), ((6, 8), (9, 5)), ((8, 8), (3, 3)), ((7, 9), (7, 20)), ((4, 3), (1, 1)), ((1, 2), (3, 5)))
# Largest error over the largest output; measured here: 8.1e-8, 2.7e-7, 0.
BOUNDS = {"linear": 2e-7, "cubic": 6e-7, "nearest": 0.0}


@pytest.mark.parametrize("opset", [11, 13, 18, 19])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])
def test_sizes_and_scales_give_what_onnxruntime_gives(opset: int, mode: str, coordinates: str) -> None:
    for before, after in PAIRS:
        x = noise((2, 3, *before))
        for how in ("sizes", "scales"):
            given = (
                {"sizes": [2, 3, *after]}
                if how == "sizes"
                else {"scales": [1, 1, *(np.float32(b) / np.float32(a) for a, b in zip(before, after, strict=True))]}
            )
            model = resize(x.shape, opset=opset, mode=mode, coordinate_transformation_mode=coordinates, **given)
            result = rewrite(model, "resize_to_matmul")
            assert set(ops(result)) == {"MatMul"}
            assert len(ops(result)) == sum(a != b for a, b in zip(before, after, strict=True))
            assert error(run(model, {"x": x}), run(result, {"x": x})) <= BOUNDS[mode], (before, after, how)


def rewritten_error(model: onnx.ModelProto, shape: tuple[int, ...], dtype: type = np.float32) -> float:
    x = noise(shape, dtype)
    return error(run(model, {"x": x}), run(rewrite(model, "resize_to_matmul"), {"x": x}))


@pytest.mark.parametrize("opset", [9, 10])
@pytest.mark.parametrize("scales", [(2.0, 2.0), (1.0, 3.0), (1.5, 2.25)])
def test_the_old_forms_are_asymmetric(opset: int, scales: tuple[float, float]) -> None:
    model = resize((1, 3, 6, 4), opset=opset, mode="linear", scales=[1, 1, *scales])
    assert rewritten_error(model, (1, 3, 6, 4)) <= BOUNDS["linear"]


@pytest.mark.parametrize("a", [-0.75, -0.5])
@pytest.mark.parametrize("exclude", [0, 1])
def test_cubic_attributes_are_obeyed(a: float, exclude: int) -> None:
    for coordinates in ("half_pixel", "align_corners", "asymmetric"):
        model = resize(
            (1, 2, 5, 6),
            sizes=[1, 2, 11, 4],
            mode="cubic",
            cubic_coeff_a=a,
            exclude_outside=exclude,
            coordinate_transformation_mode=coordinates,
        )
        assert rewritten_error(model, (1, 2, 5, 6)) <= BOUNDS["cubic"]


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_nearest_is_a_matrix_of_ones(coordinates: str, rounding: str) -> None:
    """Exact half-way positions are left out: runtimes do not agree on them."""
    compared = 0
    for before, after in ((5, 9), (8, 3), (6, 13), (4, 8)):
        if rounding.startswith("round") and is_tie(before, after, None, coordinates):
            continue
        compared += 1
        model = resize(
            (1, 2, before, 3),
            sizes=[1, 2, after, 3],
            mode="nearest",
            nearest_mode=rounding,
            coordinate_transformation_mode=coordinates,
        )
        assert rewritten_error(model, (1, 2, before, 3)) == 0
    assert compared


def test_rank_3_and_5_keep_their_leading_axes() -> None:
    model = resize((3, 5, 7), sizes=[3, 10, 9], mode="linear")
    result = rewrite(model, "resize_to_matmul")
    assert [len(tensor.dims) for tensor in result.graph.initializer if "weights" in tensor.name] == [2, 2]
    assert rewritten_error(model, (3, 5, 7)) <= BOUNDS["linear"]
    model = resize((2, 3, 4, 5, 6), sizes=[2, 3, 4, 9, 4], mode="linear")
    result = rewrite(model, "resize_to_matmul")
    shapes = [list(tensor.dims) for tensor in result.graph.initializer if "weights" in tensor.name]
    assert shapes == [[1, 1, 9, 5], [1, 1, 6, 4]]  # rank - 1: an implicit batch takes one axis from the data only
    assert rewritten_error(model, (2, 3, 4, 5, 6)) <= BOUNDS["linear"]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_half_precision_stays_half_precision(mode: str) -> None:
    """onnxruntime rounds once, at the end; the weights round to 2**-11 and so does what lies between the two products."""
    model = resize((1, 3, 6, 8), sizes=[1, 3, 13, 5], mode=mode, dtype=onnx.TensorProto.FLOAT16)
    assert rewritten_error(model, (1, 3, 6, 8), np.float16) <= 1.5e-3  # measured: 4.9e-4, 8.1e-4


def test_a_dynamic_batch_stays() -> None:
    model = resize(("n", 3, 4, 6), scales=[1, 1, 2, 1.5], mode="linear")
    result = rewrite(model, "resize_to_matmul")
    for batch in (1, 3):
        x = noise((batch, 3, 4, 6))
        assert error(run(model, {"x": x}), run(result, {"x": x})) <= BOUNDS["linear"]


def test_a_resize_that_changes_nothing_is_an_identity() -> None:
    assert ops(rewrite(resize((1, 3, 4, 6), sizes=[1, 3, 4, 6], mode="linear"), "resize_to_matmul")) == ["Identity"]


def test_equal_sizes_with_another_scale_follow_the_specification_not_onnxruntime() -> None:
    """int(5 * 1.1) is 5: the specification interpolates all the same, onnxruntime copies."""
    model = resize((1, 1, 5, 5), scales=[1, 1, 1.1, 1.1], mode="linear", coordinate_transformation_mode="asymmetric")
    x = noise((1, 1, 5, 5))
    got = run(rewrite(model, "resize_to_matmul"), {"x": x})["y"]
    weights = np.zeros((5, 5))
    for row in range(5):
        position = row / np.float64(np.float32(1.1))
        low = int(position)
        weights[row, low] += 1 - (position - low)
        weights[row, min(low + 1, 4)] += position - low
    np.testing.assert_allclose(got[0, 0], weights @ x[0, 0] @ weights.T, atol=1e-6)
    np.testing.assert_array_equal(run(model, {"x": x})["y"], x)


REASONS = [
    (resize((1, 3, "h", 8), sizes=[1, 3, 16, 16], mode="linear"), "no constant ratio"),
    (resize((1, 3, "h", 8), scales=[1, 1, 2, 2], mode="linear"), "the size of a resized axis is dynamic"),
    (resize((1, 3, 8, 8), sizes=[2, 3, 16, 16], mode="linear"), "other than the last two"),
    (resize((2, 3, 8, 8), scales=[1, 2, 2, 2], mode="linear"), "other than the last two"),
    (resize((2, 3, 4, 4, 4), scales=[1, 1, 2, 2, 2], mode="linear"), "other than the last two"),
    (resize((8, 8), scales=[2, 2], mode="linear"), "other than the last two"),
    (resize((1, 3, 8, 8), sizes=[1, 1, 16, 16], mode="linear"), "OFX701"),
    (resize((4, 1, 8, 8), sizes=[1, 1, 16, 16], mode="linear"), "(OFX701)"),
    (
        resize((1, 3, 8, 8), sizes=[1, 3, 16, 16], mode="cubic", coordinate_transformation_mode="tf_crop_and_resize"),
        "tf_crop_and_resize is not covered",
    ),
    (resize((1, 3, 8, 8), scales=[1, 1, 2, 2], dtype=onnx.TensorProto.INT32), "the data is INT32"),
    (resize((1, 1, 65536, 8), sizes=[1, 1, 65537, 8], mode="linear"), "would have"),
    (resize((1, 1, 4, 8), sizes=[1, 1, 4, 8192 * 1024 + 1], mode="linear"), "has 8388609 positions"),
]


@pytest.mark.parametrize(("model", "reason"), REASONS, ids=[reason for _, reason in REASONS])
def test_it_declines_with_the_reason(model: onnx.ModelProto, reason: str) -> None:
    answer = ask(model, "resize_to_matmul")
    assert isinstance(answer, str)
    assert reason in answer


def test_sizes_computed_at_run_time_are_declined() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x, int64[4] s) => (float[a,b,c,d] y)
        { [node] y = Resize <mode = "linear"> (x, , , s) }"""
    )
    assert ask(model, "resize_to_matmul") == "the sizes are computed at run time"
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x, float[4] s) => (float[a,b,c,d] y)
        { [node] y = Resize <mode = "linear"> (x, , s) }"""
    )
    assert ask(model, "resize_to_matmul") == "the scales are computed at run time"

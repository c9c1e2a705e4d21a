"""ATen's adaptive pools, against the formula of the windows written out here and against the proof's own reference."""

import itertools
from fractions import Fraction

import numpy as np
import onnx
import pytest

from onnxfix.rewrites.aten_adaptive_pool import windows
from onnxfix.verify.aten import adaptive_avg_pool2d, adaptive_max_pool2d

from .harness import ask, noise, one_node, ops, rewrite, run

DOMAIN = "org.pytorch.aten"
# Measured over this grid: 1.2e-7 of the largest output.
BOUND = 3e-7
SIZES = [
    ((8, 8), (4, 4)),
    ((9, 13), (4, 6)),
    ((10, 10), (6, 6)),
    ((14, 14), (6, 6)),
    ((7, 5), (7, 1)),
    ((3, 4), (5, 7)),
    ((13, 20), (7, 7)),
]


def pool(
    kind: str,
    shape: tuple[object, ...],
    size: tuple[int, ...] | None,
    *,
    spelling: str = "domain",
    outputs: tuple[str, ...] = ("y",),
) -> onnx.ModelProto:
    """`kind` is avg or max; exports spell the node in three ways."""
    name = f"adaptive_{kind}_pool2d"
    if spelling == "attribute":
        return one_node(
            "ATen", ["x"], {"x": shape}, opset=11, domain=DOMAIN, operator=name, output_size=list(size or ()), outputs=outputs
        )
    constants = {} if size is None else {"size": np.array(size, np.int64)}
    if spelling == "operator":
        return one_node(
            "ATen", ["x", "size"], {"x": shape}, opset=11, domain=DOMAIN, operator=name, constants=constants, outputs=outputs
        )
    return one_node(name, ["x", "size"], {"x": shape}, opset=11, domain=DOMAIN, constants=constants, outputs=outputs)


def by_hand(x: np.ndarray, size: tuple[int, int], kind: str) -> np.ndarray:
    """Every window by exact fractions of its bounds, one element at a time."""
    result = np.empty((*x.shape[:2], *size), np.float64)
    for i in range(size[0]):
        for j in range(size[1]):
            bounds = []
            for index, before, after in ((i, x.shape[2], size[0]), (j, x.shape[3], size[1])):
                start, end = Fraction(index * before, after), Fraction((index + 1) * before, after)
                bounds.append(slice(start.numerator // start.denominator, -(-end.numerator // end.denominator)))
            window = x[:, :, bounds[0], bounds[1]].astype(np.float64)
            result[:, :, i, j] = window.mean(axis=(2, 3)) if kind == "avg" else window.max(axis=(2, 3))
    return result


@pytest.mark.parametrize("spelling", ["domain", "operator", "attribute"])
@pytest.mark.parametrize(("before", "size"), SIZES)
def test_averages(before: tuple[int, int], size: tuple[int, int], spelling: str) -> None:
    x = noise((2, 3, *before))
    result = rewrite(pool("avg", x.shape, size, spelling=spelling), "aten_adaptive_pool")
    got = run(result, {"x": x})["y"]
    even = all(b % a in (0, 1) for b, a in zip(before, size, strict=True))
    assert set(ops(result)) == ({"AveragePool"} if even else {"MatMul"})
    for right in (by_hand(x, size, "avg"), adaptive_avg_pool2d(x, size)):
        assert np.abs(got - right).max() <= BOUND * np.abs(right).max()


@pytest.mark.parametrize("spelling", ["domain", "operator", "attribute"])
@pytest.mark.parametrize(("before", "size"), SIZES)
def test_maxima_to_the_bit(before: tuple[int, int], size: tuple[int, int], spelling: str) -> None:
    x = noise((2, 3, *before))
    got = run(rewrite(pool("max", x.shape, size, spelling=spelling), "aten_adaptive_pool"), {"x": x})["y"]
    np.testing.assert_array_equal(got, by_hand(x, size, "max"))
    np.testing.assert_array_equal(got, adaptive_max_pool2d(x, size)[0])


def test_one_by_one_is_a_global_pool_of_any_static_size() -> None:
    for kind, op in (("avg", "GlobalAveragePool"), ("max", "GlobalMaxPool")):
        x = noise((2, 3, 7, 5))
        result = rewrite(pool(kind, x.shape, (1, 1)), "aten_adaptive_pool")
        assert ops(result) == [op]
        np.testing.assert_allclose(run(result, {"x": x})["y"], by_hand(x, (1, 1), kind), rtol=1e-5, atol=1e-6)


def test_windows_have_one_size_and_step_exactly_where_the_remainder_is_0_or_1() -> None:
    for before in range(1, 65):
        for after in range(1, 17):
            if after > before:
                continue
            spans = windows(before, after)
            lengths = {end - start for start, end in spans}
            steps = {right[0] - left[0] for left, right in itertools.pairwise(spans)}
            even = len(lengths) == 1 and len(steps) <= 1
            assert even == (before % after in (0, 1) or after <= 2)
            if before % after in (0, 1):
                stride = before // after
                assert spans == [(i * stride, i * stride + before - (after - 1) * stride) for i in range(after)]


def test_a_dynamic_batch_stays() -> None:
    result = rewrite(pool("avg", ("n", 3, 10, 10), (6, 6)), "aten_adaptive_pool")
    for batch in (1, 3):
        x = noise((batch, 3, 10, 10))
        assert np.abs(run(result, {"x": x})["y"] - by_hand(x, (6, 6), "avg")).max() <= 1e-6


REASONS = [
    (pool("avg", (1, 3, "h", 8), (4, 4)), "height and width of the data are not static"),
    (pool("avg", (1, 3, 8), (4, 4)), "height and width of the data are not static"),
    (pool("avg", (1, 3, 8, 8), (4,)), "the output size is not a constant pair"),
    (pool("avg", (1, 3, 8, 8), (4, 0)), "the output size is not a constant pair"),
    (pool("max", (1, 3, 8, 8), (4, 4), outputs=("y", "indices")), "the indices of an adaptive maximum"),
    (
        one_node("ATen", ["x"], {"x": (1, 3, 8, 8)}, opset=11, domain=DOMAIN, operator="group_norm"),
        "the ATen operator 'group_norm' has no rewrite",
    ),
]


@pytest.mark.parametrize(("model", "reason"), REASONS)
def test_it_declines_with_the_reason(model: onnx.ModelProto, reason: str) -> None:
    answer = ask(model, "aten_adaptive_pool")
    assert isinstance(answer, str)
    assert reason in answer


def test_half_precision_keeps_its_type() -> None:
    x = noise((1, 3, 10, 10), np.float16)
    model = one_node(
        "adaptive_avg_pool2d",
        ["x", "size"],
        {"x": x.shape},
        opset=11,
        domain=DOMAIN,
        constants={"size": np.array((6, 6), np.int64)},
        dtype=onnx.TensorProto.FLOAT16,
    )
    got = run(rewrite(model, "aten_adaptive_pool"), {"x": x})["y"]
    assert got.dtype == np.float16
    assert np.abs(got - by_hand(x, (6, 6), "avg")).max() <= 2e-3

import ml_dtypes
import numpy as np
import pytest

from onnxfix.verify.compare import RTOL, budget, compare

NAN, INF = float("nan"), float("inf")


def f32(*values):
    return np.array(values, np.float32)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_budget_is_that_of_the_element_type(dtype):
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    one, rtol = np.array([1.0], kind), RTOL[dtype]
    # Twice the relative error: atol is rtol times the largest magnitude.
    assert compare("y", one, (one.astype(float) * (1 + 1.5 * rtol)).astype(kind)).passed
    assert not compare("y", one, (one.astype(float) * (1 + 3 * rtol)).astype(kind)).passed


def test_the_figures_are_those_of_the_definitions():
    result = compare("y", f32(1.0, -2.0, 0.0), f32(np.nextafter(np.float32(1), np.float32(2)), -2.0, 0.0))
    assert result.max_abs == result.max_rel == 2.0**-23
    assert result.ulp_max == 1
    assert result.cosine == pytest.approx(1.0)


def test_ulps_count_across_zero():
    tiny = np.finfo(np.float32).smallest_subnormal
    assert compare("y", f32(tiny), f32(-tiny)).ulp_max == 2
    assert compare("y", f32(0.0), f32(-0.0)).ulp_max == 0
    assert compare("y", np.array([1.0]), np.array([1.0 + 2**-52])).ulp_max == 1


@pytest.mark.parametrize(
    ("before", "after", "passed"),
    [
        (NAN, NAN, True),
        (INF, INF, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (INF, -INF, False),
        (INF, 3e38, False),
        (INF, NAN, False),
    ],
)
def test_values_that_are_not_finite_meet_their_like(before, after, passed):
    for exact in (False, True):
        result = compare("y", f32(before, 1.0), f32(after, 1.0), exact=exact)
        assert result.passed is passed
        assert np.isfinite(result.max_abs)
        assert ("differ" in result.message) is not passed


def test_an_infinity_does_not_widen_the_budget():
    assert not compare("y", f32(INF, 1.0), f32(INF, 2.0)).passed


def test_exact_takes_no_rounding_but_either_zero():
    assert not compare("y", f32(1.0), f32(1.0000001), exact=True).passed
    assert compare("y", f32(0.0, NAN), f32(-0.0, NAN), exact=True).passed


def test_integers_and_booleans_have_to_be_equal():
    a = np.array([1, 2**60], np.int64)
    assert compare("y", a, a.copy()).passed
    result = compare("y", a, a + np.array([0, 1]), rtol=1.0, atol=1.0)
    assert not result.passed
    assert "1 of 2 elements differ, first at [1]" in result.message
    assert not compare("y", np.array([True]), np.array([False])).passed


def test_shape_and_element_type_have_to_match():
    assert "another shape: [2, 1] instead of [2]" in compare("y", f32(1, 2), f32(1, 2).reshape(2, 1)).message
    assert "float64 instead of float32" in compare("y", f32(1), np.array([1.0])).message


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_scalars_and_empty_outputs_compare(dtype, shape):
    x = np.ones(shape, dtype)
    assert compare("y", x, x.copy()).passed
    if x.size:
        assert not compare("y", x, np.zeros(shape, dtype)).passed


def test_sequences_strings_and_complex_numbers_compare():
    assert compare("y", [f32(1), f32(2, 3)], [f32(1), f32(2, 3)]).passed
    assert not compare("y", [f32(1)], [f32(1), f32(1)]).passed
    assert not compare("y", [f32(1)], [f32(2)]).passed
    assert not compare("y", np.array(["a"], object), np.array(["b"], object)).passed
    assert not compare("y", np.array([1 + 1j], np.complex64), np.array([1 + 2j], np.complex64)).passed


def test_the_worst_of_two_samples_is_kept():
    good, bad = compare("y", f32(1), f32(1)), compare("y", f32(1), f32(2))
    for worst in (good.worst_with(bad), bad.worst_with(good)):
        assert (worst.max_abs, worst.passed) == (1.0, False)
        assert worst.message


def test_eight_bit_floats_have_to_be_equal_and_nan_meets_nan():
    a = np.array([1.0, NAN], ml_dtypes.float8_e4m3fn)
    assert compare("y", a, a.copy()).passed
    assert not compare("y", a, np.array([1.125, NAN], ml_dtypes.float8_e4m3fn)).passed
    assert not compare("y", a, np.array([1.0, 1.0], ml_dtypes.float8_e4m3fn)).passed


def test_what_was_not_compared_in_one_sample_has_no_figures():
    far = compare("y", f32(1), f32(2))
    other = compare("y", f32(1), f32(1, 1))
    for worst in (far.worst_with(other), other.worst_with(far)):
        assert not worst.compared
        assert worst.message == "another shape: [2] instead of [1]"
    assert far.worst_with(far).compared


@pytest.mark.parametrize(
    ("rtol", "atol", "text"),
    [(1e-5, None, "1e-05 * (|value| + largest |value|)"), (0.1, 2.0, "2 + 0.1 * |value|"), (0.0, 0.5, "0.5"), (0.0, 0.0, "0")],
)
def test_the_budget_that_is_said_is_the_one_that_is_used(rtol, atol, text):
    assert budget(rtol, atol) == text
    before = f32(1.0, -8.0)
    largest = eval(text.replace("largest |value|", "8.0").replace("|value|", "1.0"))
    assert compare("y", before, before + np.array([largest * 0.99, 0], np.float32), rtol=rtol, atol=atol).passed
    assert not compare("y", before, before + np.array([largest * 1.01 + 1e-6, 0], np.float32), rtol=rtol, atol=atol).passed

import numpy as np
import pytest

from onnxfix.verify.bindings import bindings
from onnxfix.verify.inputs import make_inputs, style_of
from onnxfix.verify.run import CannotRunError, Runner

from .conftest import parse

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g '


def made(model, sample=0, seed=0):
    return make_inputs(model, next(bindings(model, 1)), seed, sample)


def test_the_same_seed_and_sample_give_the_same_values():
    model = parse(HEAD + "(float[2, 64] x, float[2, 64] z) => (float[2, 64] y) { y = Add(x, z) }")
    first, again, other = made(model), made(model), made(model, seed=1)
    np.testing.assert_array_equal(first["x"], again["x"])
    assert (first["x"] != other["x"]).any()
    assert (first["x"] != first["z"]).any()


@pytest.mark.parametrize("dtype", ["float", "float16", "double"])
def test_samples_hold_normal_values_a_ramp_and_edges(dtype):
    model = parse(HEAD + f"({dtype}[4, 200] x) => ({dtype}[4, 200] y) {{ y = Relu(x) }}")
    by_style = {style_of(sample): made(model, sample)["x"] for sample in range(5)}
    assert abs(by_style["normal"].astype(float).std() - 1) < 0.1
    assert (np.diff(by_style["ramp"].reshape(-1).astype(float)) >= 0).all()
    edges = by_style["edges"]
    assert (edges == 0).any()
    assert (edges < 0).any()
    assert np.abs(edges).max() >= 16
    assert np.isfinite(edges.astype(np.float16)).all()


@pytest.mark.parametrize(
    ("text", "high"),
    [
        ("(int64[300] i) => (float[300, 4] y) <float[2, 4] t = {1,2,3,4,5,6,7,8}> { y = Gather(t, i) }", 2),
        ("(int64[300] i) => (float[2, 300] y) <float[2, 4] t = {1,2,3,4,5,6,7,8}> { y = Gather<axis=-1>(t, i) }", 4),
        ("(float[7, 4] x, int64[300, 4] i) => (float[300, 4] y) { y = GatherElements<axis=0>(x, i) }", 7),
        ("(float[5, 4] x, int32[300] i) => (float[300, 4] y) { r = Relu(x)  j = Cast<to=7>(i)  y = Gather(r, j) }", 5),
        ("(float[6, 3] x, int64[300, 2] i) => (float[300] y) { y = GatherND(x, i) }", 3),
        ("(int64[300] i) => (float[300, 9] y) <int64 d = {9}, float[2] v = {0, 1}> { y = OneHot(i, d, v) }", 9),
    ],
    ids=["table", "last axis", "elements", "through a cast", "nd", "one-hot"],
)
def test_indices_reach_every_place_and_no_further(text, high):
    model = parse(HEAD + text)
    feeds = made(model)
    assert feeds["i"].min() == 0
    assert feeds["i"].max() == high - 1
    Runner(model).run(feeds)


def test_an_input_with_two_readers_suits_both():
    tables = "<float[3] a = {1,2,3}, float[5] b = {1,2,3,4,5}>"
    text = f"(int64[300] i) => (float[300] y, float[300] z) {tables} {{ y = Gather(a, i)  z = Gather(b, i) }}"
    assert made(parse(HEAD + text))["i"].max() == 2


def test_masks_are_0_and_1_and_bytes_use_their_whole_range():
    inputs = "int64[300] attention_mask, bool[300] b, uint8[9000] u, int8[9000] s"
    text = f"({inputs}) => (float[300] y) {{ y = Cast<to=1>(attention_mask) }}"
    feeds = made(parse(HEAD + text))
    assert set(feeds["attention_mask"].tolist()) == {0, 1}
    assert set(feeds["b"].tolist()) == {True, False}
    assert (feeds["u"].min(), feeds["u"].max()) == (0, 255)
    assert (feeds["s"].min(), feeds["s"].max()) == (-128, 127)


def test_sizes_and_counts_are_legal():
    model = parse(HEAD + "(float[8] x, int64[1] k) => (float[K] y, int64[K] i) { y, i = TopK(x, k) }")
    assert Runner(model).run(made(model))["y"].shape == (1,)


@pytest.mark.parametrize(
    "text",
    [
        "(float[3, 4, 5] x, int64[2] axes) => (float[5] y) { y = ReduceSum<keepdims=0>(x, axes) }",
        "(float[3, 4] x, int64[2] s, int64[2] e, int64[2] axes) => (float[1, 1] y) { y = Slice(x, s, e, axes) }",
        "(float[3, 4] x, int64[2] axes) => (float[1, 1, 3, 4] y) { y = Unsqueeze(x, axes) }",
        "(int64[300] x, int64[300] d) => (int64[300] y) { y = Div(x, d) }",
    ],
    ids=["reduce", "slice", "unsqueeze", "divisor"],
)
def test_axes_and_divisors_are_legal(text):
    model = parse(HEAD + text)
    for sample in range(3):
        Runner(model).run(made(model, sample))


def test_an_input_that_no_memory_holds_is_told():
    model = parse(HEAD + "(float[1, 3, 100000, 100000] x) => (float[1, 3, 100000, 100000] y) { y = Relu(x) }")
    with pytest.raises(CannotRunError, match="x of shape 1x3x100000x100000 is too large"):
        made(model)

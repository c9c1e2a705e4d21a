import numpy as np
import onnx
import pytest

from onnxfix.errors import UsageError
from onnxfix.verify.prove import bisect, first_difference, prove
from onnxfix.verify.run import CannotRunError

from .conftest import parse, seed_model

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g '
SQUARE = HEAD + "(float[n, 4] x) => (float[n, 4] y) { t = Mul(x, x)  u = Relu(t)  y = Neg(u) }"


def test_a_model_equals_itself_to_the_bit():
    model = parse(SQUARE)
    proof = prove(model, model, exact=True, samples=5)
    assert proof.passed
    assert proof.samples == 5
    assert [binding["n"] for binding in proof.bindings] == [1, 2, 3, 1, 2]
    (output,) = proof.outputs
    assert (output.name, output.dtype, output.max_abs, output.ulp_max, output.cosine) == ("y", "float32", 0.0, 0, 1.0)


def test_neither_model_changes():
    before, after = parse(SQUARE), parse(SQUARE)
    data = before.SerializeToString()
    prove(before, after)
    bisect(before, after)
    assert before.SerializeToString() == after.SerializeToString() == data


def test_another_function_is_told_apart_and_the_first_wrong_value_named():
    after = parse(HEAD + "(float[n, 4] x) => (float[n, 4] y) { t = Mul(x, x)  u = Abs(x)  y = Neg(u) }")
    proof = prove(parse(SQUARE), after)
    assert not proof.passed
    assert "differ" in proof.outputs[0].message
    found = bisect(parse(SQUARE), after)
    assert found is not None
    assert found.name == "u"


def test_no_common_value_differs_between_equal_models():
    after = parse(HEAD + "(float[n, 4] x) => (float[n, 4] y) { t = Mul(x, x)  y = Neg(t) }")
    assert prove(parse(SQUARE), after, exact=True).passed
    assert first_difference(parse(SQUARE), after, {"x": np.ones((2, 4), np.float32)}) is None


def test_rounding_is_within_the_budget_but_not_exact():
    before = parse(HEAD + "(float[4, 9] x) => (float[4, 9] y) <float d = {3}> { y = Div(x, d) }")
    after = parse(HEAD + "(float[4, 9] x) => (float[4, 9] y) <float d = {0.33333334}> { y = Mul(x, d) }")
    assert prove(before, after).passed
    assert not prove(before, after, exact=True).passed
    assert not prove(before, after, rtol=1e-9).passed


def test_a_difference_only_at_one_batch_size_is_found():
    before = parse(HEAD + "(float[n, 4] x) => (float[n, 4] y) <int64[2] s = {-1, 4}> { y = Reshape(x, s) }")
    after = parse(HEAD + "(float[n, 4] x) => (float[n, 4] y) <int64[2] s = {1, 4}> { y = Reshape(x, s) }")
    proof = prove(before, after)
    assert not proof.passed
    assert "does not run" in proof.outputs[0].message


def test_a_difference_only_at_small_sizes_is_found():
    """`x[h-5:]` is `x[-5:]` but where h is below 5."""
    head = HEAD + "(float[n, h, 2] x) => (float[n, k, 2] y) <int64[1] one = {1}, int64[1] two = {2}, int64[1] top = {999}, "
    before = parse(head + "int64[1] b = {5}> { s = Shape(x)  h = Slice(s, one, two)  d = Sub(h, b)  y = Slice(x, d, top, one) }")
    after = parse(head + "int64[1] d = {-5}> { y = Slice(x, d, top, one) }")
    proof = prove(before, after)
    assert not proof.passed
    assert any(binding["h"] == 3 for binding in proof.bindings)


def test_that_a_model_refuses_small_sizes_is_nothing_to_tell():
    model = parse(HEAD + "(float[n, 1, h, w] x, float[1, 1, 9, 9] k) => (float[n, 1, a, b] y) { y = Conv(x, k) }")
    proof = prove(model, model)
    assert proof.passed
    assert (proof.samples, proof.note) == (8, "")


def test_a_shape_that_changes_is_a_failure_with_a_message():
    after = parse(HEAD + "(float[n, 4] x) => (float[y0, y1] y) { t = Mul(x, x)  u = Relu(t)  v = Neg(u)  y = Transpose(v) }")
    assert "shape" in prove(parse(SQUARE), after).outputs[0].message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(float[n, 4] z) => (float[n, 4] y) { y = Neg(z) }", "no input x"),
        ("(float[n, 4] x, float[4] z) => (float[n, 4] y) { y = Add(x, z) }", "has input z"),
        ("(double[n, 4] x) => (double[n, 4] y) { y = Neg(x) }", "FLOAT in the first model, DOUBLE in the second"),
        ("(float[n, 4] x) => (float[n, 4] q) { q = Neg(x) }", "no output y"),
    ],
)
def test_an_interface_that_differs_is_no_proof(text, said):
    proof = prove(parse(SQUARE), parse(HEAD + text))
    assert not proof.passed
    assert said in proof.note


def test_initializers_listed_as_inputs_are_no_part_of_the_interface():
    before = parse('<ir_version: 4, opset_import: ["" : 9]> g (float[n] x) => (float[n] y) <float[1] w = {2}> { y = Mul(x, w) }')
    after = parse(
        '<ir_version: 3, opset_import: ["" : 9]> g (float[n] x, float[1] w) => (float[n] y) <float[1] w = {2}> { y = Mul(x, w) }'
    )
    assert prove(before, after, exact=True).passed


def test_sizes_that_the_model_refuses_are_passed_over():
    """Both inputs have to be of one size, which the model says only by adding them."""
    model = parse(HEAD + "(float[2, a] x, float[2, b] z) => (float[2, c] y) { y = Add(x, z) }")
    proof = prove(model, model, samples=3)
    assert proof.passed
    assert proof.samples == 3
    assert all(binding["a"] == binding["b"] or 1 in binding.values() for binding in proof.bindings)
    assert "refuses" in proof.note


def test_a_model_that_runs_on_nothing_proves_nothing():
    model = parse(HEAD + "(float[2, 3] x) => (float[q, 3] y) <int64[2] s = {4, 4}> { y = Reshape(x, s) }")
    with pytest.raises(CannotRunError, match="runs on none of the inputs tried") as caught:
        prove(model, model)
    assert caught.value.reason == "onnxruntime: Reshape node '' fails"
    assert "onnx.reference: " in caught.value.detail
    assert caught.value.other_inputs


def test_what_onnxruntime_has_too_narrow_a_kernel_for_runs_by_the_reference():
    """Linear interpolation over the channels: legal ONNX, and what torch 1.3 exported by mistake."""
    model = parse(
        '<ir_version: 6, opset_import: ["" : 11]> g (float[1, 4, 3, 3] x) => (float[1, 1, 6, 6] y)'
        ' <float[0] none = {}, int64[4] s = {1, 1, 6, 6}> { y = Resize<mode="linear">(x, none, none, s) }'
    )
    proof = prove(model, model, samples=2)
    assert proof.passed
    assert "onnx.reference" in proof.note


@pytest.mark.parametrize(
    "after",
    [
        "<ir_version: 3, opset_import: ['' : 9]> g (float[2] x, bool c) => (float[2] y)".replace("'", '"')
        + "{ y = If (c) <then_branch = t () => (float[2] a) <float[2] v = {3, 4}> { a = Mul (x, v) },"
        + " else_branch = e () => (float[2] b) { b = Identity (x) }> }",
        HEAD + "(float[2] x, bool c) => (float[2] y) { y = Unheard(x, c) }",
    ],
)
def test_a_second_model_that_onnxruntime_rejects_is_not_proven_by_the_reference(after):
    before = parse(
        HEAD
        + "(float[2] x, bool c) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] a) <float[2] v = {3, 4}>"
        + " { a = Mul (x, v) }, else_branch = e () => (float[2] b) { b = Identity (x) }> }"
    )
    assert prove(before, before).passed
    proof = prove(before, parse(after))
    assert not proof.passed
    assert "onnxruntime: " in (proof.note or proof.outputs[0].message)


def test_given_inputs_are_the_only_sample():
    model, x = parse(SQUARE), np.ones((5, 4), np.float32)
    proof = prove(model, model, inputs={"x": x})
    assert (proof.samples, proof.bindings) == (1, ({"n": 5},))
    with pytest.raises(UsageError, match="lack x"):
        prove(model, model, inputs={})
    with pytest.raises(UsageError, match="float64, the model takes float32"):
        prove(model, model, inputs={"x": x.astype(np.float64)})
    with pytest.raises(UsageError, match="q, which is no input"):
        prove(model, model, inputs={"x": x, "q": x})


def test_progress_counts_the_samples():
    seen = []
    prove(parse(SQUARE), parse(SQUARE), samples=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_two_runs_give_the_same_proof():
    model = parse(SQUARE)
    assert prove(model, model, seed=7) == prove(model, model, seed=7)


@pytest.mark.parametrize(
    "name", ["torch1.2.0_decoder_nearest_dynamic_batch_opset9.onnx", "torch1.7.1_adaptive_pool_14x14_aten_opset11.onnx"]
)
def test_a_weight_changed_in_a_seed_model_is_found(name):
    before = onnx.load(seed_model(name))
    after = onnx.ModelProto.FromString(before.SerializeToString())
    assert prove(before, after, samples=2, exact=True).passed
    weights = max(after.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    values = onnx.numpy_helper.to_array(weights).copy()
    values.flat[0] += 0.1
    weights.raw_data = values.tobytes()
    assert not prove(before, after, samples=2).passed
    assert bisect(before, after, samples=2) is not None


def test_a_failure_of_a_model_that_draws_random_numbers_says_so():
    before = parse(HEAD + "(float[64] x) => (float[64] y) { r = RandomNormalLike(x)  y = Add(x, r) }")
    after = parse(HEAD + "(float[64] x) => (float[64] y) { r = RandomUniformLike(x)  y = Add(x, r) }")
    proof = prove(before, after, samples=1)
    assert not proof.passed
    assert "RandomNormalLike" in proof.note

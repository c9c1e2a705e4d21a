"""A node whose value no input changes becomes an initializer of the same name."""

import numpy as np
import onnx
import pytest

from .harness import ask, noise, ops, parse, repair, rewrite, run, same_bits

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y) '


@pytest.mark.parametrize(
    "text",
    [
        "<float[3] a = {1, 2, 3}, float[3] b = {0.1, 0.2, 0.3}> { [node] w = Mul (a, b)  y = Add (x, w) }",
        "<float[3] a = {1, 2, 3}> { b = Sqrt (a)  [node] w = Exp (b)  y = Add (x, w) }",
        "<float[3,1] a = {1, 2, 3}> { [node] w = Transpose (a)  y = Add (x, w) }",
        "<int64[1] a = {3}> { [node] w = ConstantOfShape <value = float[1] {2.5}> (a)  y = Add (x, w) }",
        "<float[6] a = {1, 2, 3, 4, 5, 6}> { [node] w, v = Split (a)  z = Mul (v, w)  y = Add (x, z) }",
        "{ s = Shape (x)  [node] w = Cast <to = 1> (s)  v = ReduceSum <keepdims = 0> (w)  y = Add (x, v) }",
    ],
)
def test_the_value_is_the_one_that_onnxruntime_computes(text: str) -> None:
    model = parse(HEAD + text)
    result = rewrite(model, "fold_constant")
    assert len(ops(result)) < len(ops(model))
    x = noise((2, 3))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_what_only_fed_it_goes_and_what_others_read_stays() -> None:
    model = parse(
        HEAD + "<float[3] a = {1, 2, 3}, float[3] b = {4, 5, 6}, float[3] unused = {7, 8, 9}>"
        " { c = Neg (a)  [node] w = Mul (c, b)  z = Add (x, b)  y = Add (z, w) }"
    )
    result = rewrite(model, "fold_constant")
    assert {tensor.name for tensor in result.graph.initializer} == {"w", "b", "unused"}
    assert ops(result) == ["Add", "Add"]


def test_half_precision_keeps_its_type() -> None:
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float16[2,3] x) => (float16[2,3] y) { [node] w = Mul (a, a)  y = Add (x, w) }'
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2, 3], np.float16), "a"))
    (tensor,) = rewrite(model, "fold_constant").graph.initializer
    assert (tensor.name, tensor.data_type) == ("w", onnx.TensorProto.FLOAT16)
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), np.array([1, 4, 9], np.float16))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ [node] w = Relu (x)  y = Neg (w) }", "the value depends on an input"),
        ("{ [node] y = Constant <value = float[1] {2.5}> () }", "the node is a constant already"),
        ("{ [node] w = RandomNormal <shape = [3]> ()  y = Add (x, w) }", "the value depends on an input"),
    ],
)
def test_it_declines_with_the_reason(text: str, reason: str) -> None:
    answer = ask(parse(HEAD + text), "fold_constant")
    assert isinstance(answer, str)
    assert reason in answer


def test_a_large_value_stays_computed() -> None:
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1] x) => (float[a, b] y) <int64[2] s = {4096, 4096}>'
        " { [node] w = ConstantOfShape <value = float[1] {2.5}> (s)  y = Add (x, w) }"
    )
    assert "16777216 elements" in str(ask(model, "fold_constant"))


def test_an_initializer_that_a_caller_may_override_is_no_reason_to_keep_computing() -> None:
    """Where initializers are listed as inputs (IR 3) they count as constants, as every parser takes them."""
    model = parse(
        '<ir_version: 3, opset_import: ["" : 9]> g (float[2,3] x, float[3] a) => (float[2,3] y) <float[3] a = {1, 2, 3}>'
        " { [node] w = Neg (a)  y = Add (x, w) }"
    )
    result = rewrite(model, "fold_constant")
    assert [value.name for value in result.graph.input] == ["x", "w"]
    x = noise((2, 3))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_the_repair_folds_arithmetic_on_weights() -> None:
    model = parse(
        '<ir_version: 6, opset_import: ["" : 9]> g (float[1,4] x) => (float[1,2] y)'
        " <float[2,4] a = {1,2,3,4,5,6,7,8}, float[2] b = {1, 2}> { [node] w = Neg (a)  y = Gemm <transB = 1> (x, w, b) }"
    )
    report, result = repair(model)
    assert report.status == "repaired", report
    assert result is not None
    x = noise((1, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))

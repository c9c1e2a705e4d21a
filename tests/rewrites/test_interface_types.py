"""Doubles as floats inside; with consent inputs and outputs in another type: proven, said plainly, never without being asked."""

import numpy as np
import onnx
import pytest

from .harness import applied, ops, parse, repair, run, run_pass

T = onnx.TensorProto


def types(model: onnx.ModelProto) -> dict[str, int]:
    return {value.name: value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.output)}


DOUBLE_INSIDE = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[2,3] x) => (float[2,3] y) <double[3] k = {%s, 2, 3}> {
  d = Cast <to = 11> (x)
  c = Constant <value = double[1] {0.1}> ()
  p = Mul (d, k)
  q = Add (p, c)
  s = Sqrt (q)
  y = Cast <to = 1> (s)
}
"""


def test_what_is_double_inside_is_computed_with_float() -> None:
    model = parse(DOUBLE_INSIDE % "0.5")
    report, result = repair(model, "trt7.1")
    assert report.status == "repaired"
    assert applied(report) == ["double_to_float"]
    assert report.applied[0].applicability == "equivalent"
    assert result is not None
    assert "Cast" not in ops(result)
    assert {tensor.data_type for tensor in result.graph.initializer} == {T.FLOAT}
    x = np.abs(np.random.default_rng(0).standard_normal((2, 3))).astype(np.float32)
    np.testing.assert_allclose(run(result, {"x": x})["y"], run(model, {"x": x})["y"], rtol=1e-6)


def test_not_where_only_exact_rewrites_are_allowed() -> None:
    report, result = repair(parse(DOUBLE_INSIDE % "0.5"), "trt7.1", allow="exact")
    assert result is None
    assert "it is equivalent" in {item.reason for item in report.declined}


@pytest.mark.parametrize(
    ("value", "reason"),
    [("1e300", "beyond FLOAT"), ("1e-50", "which is 0 in FLOAT"), ("16777217", "a whole number that FLOAT rounds")],
)
def test_a_constant_that_float_cannot_hold_is_named(value: str, reason: str) -> None:
    report, result = repair(parse(DOUBLE_INSIDE % value), "trt7.1")
    assert result is None
    assert any(reason in item.reason and "constant k" in item.reason for item in report.declined)


@pytest.mark.parametrize(
    ("body", "large"), [("e = Exp (d)  p = Log (e)", "e"), ("e = Pow (d, k)  p = Tanh (e)", "e"), ("p = Tanh (d)", "")]
)
def test_a_value_on_the_way_that_float_cannot_hold_is_named(body: str, large: str) -> None:
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y) <double k = {{50}}> {{
          c = Cast <to = 11> (x)
          d = Mul (c, k)
          {body}
          y = Cast <to = 1> (p)
        }}"""
    )
    report, result = repair(model, "trt7.1")
    assert (result is None) == bool(large)
    if large:
        assert any(item.reason.startswith(f"{large} gets as large as") for item in report.declined)


def test_doubles_in_the_branches_of_an_if_too() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[3] x, bool c) => (float[3] y) <double[3] k = {1, 2, 3}> {
      d = Cast <to = 11> (x)
      e = If (c) <
        then_branch = t () => (double[3] p) <double[1] w = {0.25}> { p = Mul (d, w) },
        else_branch = f () => (double[3] r) { r = Add (d, k) }
      >
      y = Cast <to = 1> (e)
    }
    """)
    result = run_pass(model, "double_to_float", "d", target="trt7.1")
    for c in (True, False):
        feeds = {"x": np.array([1, 2, 3], np.float32), "c": np.array(c)}
        np.testing.assert_allclose(run(result, feeds)["y"], run(model, feeds)["y"], rtol=1e-6)


CALLED = """
<ir_version: 9, opset_import: ["" : 13, "l" : 1]> g (float[3] x, bool c) => (float[3] y) { d = Cast <to = 11> (x)  e = Neg (d)  %s }
<domain: "l", opset_import: ["" : 13]> F (p) => (q) {
  s = ReduceSum <keepdims = 0> (p)  b = Greater (s, s)
  q = If (b) <then_branch = t () => (r) { v = Cast <to = 11> (p)  w = Mul (v, v)  r = Cast <to = 1> (w) },
    else_branch = e () => (z) { z = Neg (p) }> }
"""


def test_a_function_that_computes_with_doubles_counts_while_it_is_called() -> None:
    with pytest.raises(AssertionError, match="a model-local function computes with DOUBLE"):
        run_pass(parse(CALLED % "f = Cast <to = 1> (e)  y = l.F (f)"), "double_to_float", "d", target="trt7.1")
    model = parse(CALLED % "y = Cast <to = 1> (e)")
    result = run_pass(model, "double_to_float", "d", target="trt7.1")
    assert T.DOUBLE not in {attribute.i for node in result.graph.node for attribute in node.attribute}
    assert result.functions == model.functions


DOUBLE_OUTSIDE = """
<ir_version: 8, opset_import: ["" : 13]>
g (double[2,3] x) => (double[2,3] y) <double[3] k = {0.5, 2, 3}> { p = Mul (x, k)  y = Neg (p) }
"""


def test_an_input_of_doubles_needs_consent_and_the_report_says_what_changes() -> None:
    model = parse(DOUBLE_OUTSIDE)
    report, result = repair(model, "trt7.1")
    assert result is None
    assert {item.consent for item in report.declined} >= {"OFX202", "OFX205"}
    report, result = repair(model, "trt7.1", consent=frozenset({"OFX202", "OFX205"}))
    assert report.status == "repaired"
    assert result is not None
    assert types(result) == {"x": T.FLOAT, "y": T.FLOAT}
    assert report.fidelity is not None
    assert set(report.fidelity.interface_changes) == {"input x is FLOAT now, was DOUBLE", "output y is FLOAT now, was DOUBLE"}
    assert report.proof is not None
    assert report.proof.passed
    assert {output.name for output in report.proof.outputs} == {"y"}


def test_half_of_the_consent_is_not_enough() -> None:
    report, result = repair(parse(DOUBLE_OUTSIDE), "trt7.1", consent=frozenset({"OFX202"}))
    assert result is None
    assert any("--allow OFX205" in item.reason or item.consent == "OFX205" for item in report.declined)


@pytest.mark.parametrize("kind", ["uint8", "int64", "bool"])
def test_what_only_casts_to_float_read_is_given_as_floats(kind: str) -> None:
    model = parse(f"""
    <ir_version: 4, opset_import: ["" : 9]>
    g ({kind}[n,3,4,4] x) => (float[n,3,4,4] y) {{
      t = Transpose <perm = [0, 1, 3, 2]> (x)
      f = Cast <to = 1> (t)
      g2 = Cast <to = 1> (x)
      s = Relu (f)
      y = Add (s, g2)
    }}
    """)
    report, result = repair(model, "trt5.1", consent=frozenset({"OFX202"}))
    assert report.status == "repaired"
    assert result is not None
    assert types(result)["x"] == T.FLOAT
    assert "Cast" not in ops(result)
    assert report.proof is not None
    assert report.proof.exact


def test_indices_are_given_as_int32() -> None:
    model = parse("""
    <ir_version: 4, opset_import: ["" : 9]>
    g (int64[1,2] i) => (float[4] y) <float[5,4] t = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20}> {
      j = Squeeze <axes = [0]> (i)
      e = Gather (t, j)
      y = ReduceMean <axes = [0], keepdims = 0> (e)
    }
    """)
    result = run_pass(model, "interface_type", "i")
    assert types(result)["i"] == T.INT32
    assert "Cast" not in ops(result)


BOOLEAN = """
<ir_version: 7, opset_import: ["" : 13]>
g (float[2,3] x) => (bool[2,3] y) <float[1] k = {0.25}, float[1] i = {inf}> { [n] %s }
"""


@pytest.mark.parametrize("target", ["trt5.1", "trt6.0", "trt6.0-fulldims"])
@pytest.mark.parametrize(
    "body",
    [
        "y = Greater (x, k)",
        "z = Less (x, k)  y = Not (z)",
        "z = Greater (x, k)  w = Less (x, k)  y = Or (z, w)",
        "z = Equal (x, k)  y = Identity (z)",
        "y = Cast <to = 9> (x)",
    ],
)
def test_a_boolean_output_becomes_0_and_1_in_floats_where_there_are_no_booleans(target: str, body: str) -> None:
    model = parse(BOOLEAN % body)
    assert repair(model, target)[1] is None
    report, result = repair(model, target, consent=frozenset({"OFX205"}))
    assert report.status == "repaired", report.declined
    assert result is not None
    assert result.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    x = np.array([[0, 0.25, 0.5], [-1, -0.0, 1e-3]], np.float32)
    wanted = run(model, {"x": x})["y"]
    np.testing.assert_array_equal(run(result, {"x": x})["y"], wanted.astype(np.float32))


@pytest.mark.parametrize("body", ["y = IsNaN (x)", "y = Less (x, i)"])
def test_what_tells_nan_apart_or_compares_with_infinity_has_no_form_in_floats(body: str) -> None:
    report, result = repair(parse(BOOLEAN % body), "trt5.1", consent=frozenset({"OFX205"}))
    assert result is None
    assert any("NaN or an infinity" in item.reason for item in report.declined), report.declined

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


FLOATS = """
<ir_version: 8, opset_import: ["" : 11]>
g (float[1,3] x) => (float[1,3] y) {
  "d/float" = Relu (x)
  d = Cast <to = 11> (x)
  e = Mul (d, d)
  f = Cast <to = 1> (e)
  y = Add (f, "d/float")
}
"""


@pytest.mark.parametrize("target", ["trt5.1", "trt7.0", "trt7.1"])
def test_a_value_gets_a_name_that_no_other_has(target: str) -> None:
    model = parse(FLOATS)
    report, result = repair(model, target)
    assert report.status == "repaired", report.declined
    assert result is not None
    x = np.array([[-1, 0.5, 3]], np.float32)
    np.testing.assert_allclose(run(result, {"x": x})["y"], run(model, {"x": x})["y"], rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "shape", "kind"),
    [
        (
            """<ir_version: 8, opset_import: ["" : 13]> g (uint8[1,4,4,3] x) => (float[1,3,4,4] y) {
              a = Transpose <perm = [0, 3, 1, 2]> (x)
              "a/float" = Cast <to = 1> (a)
              "x/uint8" = Relu ("a/float")
              y = Add ("a/float", "x/uint8")
            }""",
            (1, 4, 4, 3),
            np.uint8,
        ),
        (
            """<ir_version: 8, opset_import: ["" : 13]> g (double[1,4] x) => (float[1,4] y) {
              a = Neg (x)
              "a/float" = Cast <to = 1> (a)
              "x/double" = Relu ("a/float")
              y = Add ("a/float", "x/double")
            }""",
            (1, 4),
            np.float64,
        ),
    ],
)
def test_an_input_in_another_type_gives_values_names_that_no_other_has(text: str, shape: tuple[int, ...], kind: type) -> None:
    model = parse(text)
    report, result = repair(model, "trt7.1", consent=frozenset({"OFX202"}))
    assert report.status == "repaired", report.declined
    assert result is not None
    x = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    given = onnx.helper.tensor_dtype_to_np_dtype(types(result)["x"])
    np.testing.assert_array_equal(run(result, {"x": x.astype(given)})["y"], run(model, {"x": x})["y"])


def test_an_if_that_gives_doubles_gets_another_name_and_what_lies_in_it_is_still_accounted_for() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1,4] x, bool c) => (float[1,4] y) {
      a = Cast <to = 11> (x)
      z = If (c) <
        then_branch = t () => (double[1,4] p) { r = Relu (x)  s = Cast <to = 11> (r)  p = Add (a, s) },
        else_branch = e () => (double[1,4] q) {
          q = If (c) <
            then_branch = t2 () => (double[1,4] u) { u = Neg (a) },
            else_branch = e2 () => (double[1,4] v) { w = Abs (x)  v = Cast <to = 11> (w) }
          >
        }
      >
      y = Cast <to = 1> (z)
    }
    """)
    report, _ = repair(model, "trt7.1")
    assert applied(report)[0] == "double_to_float"
    assert report.fidelity is not None
    assert report.fidelity.edited + report.fidelity.removed >= 8
    result = run_pass(model, "double_to_float", "a", target="trt7.1")
    for c in (True, False):
        feeds = {"x": np.array([[1, -2, 3, 0.5]], np.float32), "c": np.array(c)}
        np.testing.assert_allclose(run(result, feeds)["y"], run(model, feeds)["y"], rtol=1e-6)


def test_an_output_in_another_type_that_an_if_makes() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1,4] x, bool c) => (double[1,4] z) {
      z = If (c) <
        then_branch = t () => (double[1,4] p) { r = Relu (x)  p = Cast <to = 11> (r) },
        else_branch = e () => (double[1,4] q) { s = Neg (x)  q = Cast <to = 11> (s) }
      >
    }
    """)
    report, result = repair(model, "trt7.1", consent=frozenset({"OFX205"}))
    assert report.status == "repaired", report.declined
    assert result is not None
    assert types(result)["z"] == T.FLOAT


def test_doubles_in_a_branch_within_a_function() -> None:
    model = parse("""
    <ir_version: 9, opset_import: ["" : 14, "l" : 1]>
    g (float[1,4] x) => (float[1,4] y) { y = l.F (x) }
    <opset_import: ["" : 14], domain: "l">
    F (p) => (q) {
      z = Constant <value_float = 0.0> ()
      c = ReduceSum <keepdims = 0> (p)
      b = Greater (c, z)
      q = If (b) <
        then_branch = t () => (r) { d = Cast <to = 11> (p)  e = Mul (d, d)  r = Cast <to = 1> (e) },
        else_branch = e () => (s) { s = Neg (p) }
      >
    }
    """)
    for target in ("trt5.1", "trt7.0", "trt7.1"):
        report, result = repair(model, target)
        assert report.status == "repaired", report.declined
        assert result is not None
        x = np.array([[1, -2, 3, 0.5]], np.float32)
        np.testing.assert_allclose(run(result, {"x": x})["y"], run(model, {"x": x})["y"], rtol=1e-6)


def test_an_output_that_is_a_constant_keeps_its_name_or_is_declined() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 11]>
    g (float[1,4] x) => (double[1,4] k, float[1,4] y) <double[1,4] k = {1, 2, 3, 4}> { y = Relu (x) }
    """)
    report, result = repair(model, "trt7.0", consent=frozenset({"OFX205"}))
    assert report.status == "repaired", report.declined
    assert result is not None
    assert types(result)["k"] == T.FLOAT
    for target, consent in (("trt7.0", frozenset[str]()), ("trt5.1", frozenset({"OFX205"}))):
        report, result = repair(model, target, consent=consent)
        assert report.status == "declined"
        assert result is None


THROUGH = """
<ir_version: 8, opset_import: ["" : 15]>
g (%s n, float[a,b] x) => (%s y) <double k = {2}, int64 zero = {0}, int64 one = {1}> { %s }
"""


@pytest.mark.parametrize(
    ("given", "gives", "body"),
    [
        ("int64[3]", "int64[3]", "d = Cast <to = 11> (n)  e = Mul (d, k)  y = Cast <to = 7> (e)"),
        ("int32[3]", "int32[3]", "d = Cast <to = 11> (n)  e = Mul (d, k)  f = Floor (e)  y = Cast <to = 6> (f)"),
        ("int64[3]", "int64[3]", "d = CastLike (n, k)  e = Mul (d, k)  y = CastLike (e, n)"),
        ("int64[3]", "bool[3]", "m = Mul (n, n)  d = Cast <to = 11> (m)  y = Greater (d, k)"),
        (
            "int64[3]",
            "int64[3]",
            """d = Cast <to = 11> (n)
            c = Constant <value = bool {1}> ()
            e = If (c) <
              then_branch = t () => (double[3] p) { p = Mul (d, k) },
              else_branch = f () => (double[3] q) { q = Neg (d) }
            >
            y = Cast <to = 7> (e)""",
        ),
    ],
)
def test_integers_that_float_rounds_on_their_way_through_double_are_named(given: str, gives: str, body: str) -> None:
    report, result = repair(parse(THROUGH % (given, gives, body)), "trt7.0")
    assert result is None
    assert any("may be above 2**24, which FLOAT rounds" in item.reason for item in report.declined), report.declined


@pytest.mark.parametrize(
    ("given", "gives", "body"),
    [
        ("int32[3]", "float[3]", "d = Cast <to = 11> (n)  e = Mul (d, k)  y = Cast <to = 1> (e)"),
        ("int16[3]", "int32[3]", "d = Cast <to = 11> (n)  e = Mul (d, k)  y = Cast <to = 6> (e)"),
        ("int32[3]", "int64[2]", "s = Shape (x)  d = Cast <to = 11> (s)  e = Mul (d, k)  y = Cast <to = 7> (e)"),
        (
            "int32[3]",
            "int64[c]",
            """s = Shape (x)  g = Gather (s, one)  r = Range (zero, g, one)  d = Cast <to = 11> (r)  e = Mul (d, k)
            y = Cast <to = 7> (e)""",
        ),
    ],
)
def test_sizes_and_small_integers_pass_as_they_did(given: str, gives: str, body: str) -> None:
    model = parse(THROUGH % (given, gives, body))
    result = run_pass(model, "double_to_float", "d", target="trt7.1")
    n = np.array([1, -30000, 32767]).astype(given.partition("[")[0])
    feeds = {"n": n, "x": np.zeros((2, 5), np.float32)}
    np.testing.assert_array_equal(run(result, feeds)["y"], run(model, feeds)["y"])


@pytest.mark.parametrize("target", ["trt5.1", "trt7.0"])
@pytest.mark.parametrize(("body", "what"), [("y = Relu (x)", "gone"), ("c = Cast <to = 1> (d)  y = Add (x, c)", "a constant now")])
def test_an_input_with_a_default_of_doubles_is_said_to_be_no_input_any_more(target: str, body: str, what: str) -> None:
    model = parse(f"""
    <ir_version: 8, opset_import: ["" : 11]>
    g (float[1,2] x, double[2] d) => (float[1,2] y) <double[2] d = {{1, 2}}, double[2] e = {{1, 2}}> {{ {body} }}
    """)
    report, result = repair(model, target)
    assert report.status == "repaired", report.declined
    assert result is not None
    assert "d" not in {value.name for value in result.graph.input}
    assert report.fidelity is not None
    assert report.fidelity.interface_changes == (f"input d, which had a default, is {what}",)


@pytest.mark.parametrize(
    "node",
    [
        """z = Loop (m, c, a) <
          body = b (int64 i, bool ci, double[2] s) => (bool co, double[2] so) { co = Identity (ci)  so = Add (s, s) }
        >""",
        """z, w = Scan <num_scan_inputs = 1, body = b (double[2] s, float[2] e) => (double[2] so, float[2] v) {
          f = Cast <to = 11> (e)  so = Add (s, f)  v = Neg (e)
        }> (a, r)""",
    ],
)
def test_a_state_of_doubles_becomes_floats_with_its_body(node: str) -> None:
    model = parse(f"""
    <ir_version: 8, opset_import: ["" : 11]>
    g (float[2] x, float[3,2] r) => (float[2] y) <int64 m = {{3}}, bool c = {{1}}> {{
      a = Cast <to = 11> (x)
      {node}
      y = Cast <to = 1> (z)
    }}
    """)
    result = run_pass(model, "double_to_float", "a", target="trt7.1")
    feeds = {"x": np.array([1, -0.3], np.float32), "r": np.ones((3, 2), np.float32)}
    np.testing.assert_allclose(run(result, feeds)["y"], run(model, feeds)["y"], rtol=1e-6)
    assert not any("is not what the model gives" in item.reason for item in repair(model, "trt7.1")[0].declined)

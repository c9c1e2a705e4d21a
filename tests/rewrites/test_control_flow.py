"""If with a constant condition, Loop and Scan with a constant number of rounds: the same bits as onnxruntime gives the original."""

import numpy as np
import onnx
import pytest

from .harness import applied, ask, noise, ops, parse, repair, rewrite, run, same_bits

X = {"x": noise((2, 3))}


def test_the_branch_that_is_taken_replaces_the_if() -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x, float[2,3] z) => (float[2,3] y) <bool c = {%d}> {
      a = Relu (x)
      [node] y = If (c) <
        then_branch = t () => (float[2,3] p) <float[3] w = {1, 2, 3}> { q = Add (a, w)  p = Mul (q, x) },
        else_branch = e () => (float[2,3] r) { r = Sub (a, z) }
      >
    }
    """
    feeds = {**X, "z": noise((2, 3), seed=1)}
    for value, expected in ((1, ["Relu", "Add", "Mul"]), (0, ["Relu", "Sub"])):
        model = parse(text % value)
        result = rewrite(model, "inline_if")
        assert ops(result) == expected
        assert result.graph.node[-1].name == "node"
        same_bits(run(model, feeds), run(result, feeds))


def test_names_of_a_branch_do_not_meet_those_outside() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x) => (float[2,3] y, float[2,3] v) <bool c = {1}> {
      [node] u, w = If (c) <
        then_branch = t () => (float[2,3] p, float[2,3] o) { s = Neg (x)  p = Exp (s)  o = Tanh (x) },
        else_branch = e () => (float[2,3] p, float[2,3] o) { p = Neg (x)  o = Tanh (x) }
      >
      [other] z = If (c) <
        then_branch = t () => (float[2,3] p) { s = Abs (w)  p = Exp (s) },
        else_branch = e () => (float[2,3] p) { p = Neg (x) }
      >
      y = Add (u, w)
      v = Add (z, u)
    }
    """)
    result = rewrite(rewrite(model, "inline_if"), "inline_if", node="other")
    assert ops(result) == ["Neg", "Exp", "Tanh", "Abs", "Exp", "Add", "Add"]
    same_bits(run(model, X), run(result, X))


def test_a_branch_that_gives_one_value_twice_or_a_constant_or_what_is_outside() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x) => (float[2,3] a, float[2,3] b, float[2] k, float[2,3] o) <bool c = {1}> {
      [node] a, b, k, o = If (c) <
        then_branch = t () => (float[2,3] p, float[2,3] p, float[2] w, float[2,3] x) <float[2] w = {1, 2}> { p = Neg (x) },
        else_branch = e () => (float[2,3] p, float[2,3] p, float[2] w, float[2,3] x) <float[2] w = {1, 2}> { p = Abs (x) }
      >
    }
    """)
    result = rewrite(model, "inline_if")
    assert sorted(ops(result)) == ["Identity", "Identity", "Identity", "Neg"]
    got = run(result, X)
    np.testing.assert_array_equal(got["a"], -X["x"])
    np.testing.assert_array_equal(got["b"], -X["x"])
    np.testing.assert_array_equal(got["k"], [1, 2])
    np.testing.assert_array_equal(got["o"], X["x"])


def test_a_condition_that_shapes_decide() -> None:
    """What PyTorch writes for squeeze(1): whether the axis has one element."""
    text = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float["n",%d,3] x) => (float[] y) <int64 one = {1}, int64[1] axes = {1}> {
      s = Shape (x)
      d = Gather <axis = 0> (s, one)
      c = Equal (d, one)
      [node] y = If (c) <
        then_branch = t () => (float[] p) { p = Squeeze (x, axes) },
        else_branch = e () => (float[] q) { q = Identity (x) }
      >
    }
    """
    for size, kept in ((1, "Squeeze"), (2, "Identity")):
        model = parse(text % size)
        report, result = repair(model, "trt7.1")
        assert report.status == "repaired"
        assert result is not None
        assert kept in ops(result)
        assert "If" not in ops(result)
        assert applied(report)[0] == "inline_if"


def test_a_condition_of_the_input_is_declined() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x, bool c) => (float[2,3] y) {
      [node] y = If (c) <
        then_branch = t () => (float[2,3] p) { p = Neg (x) }, else_branch = e () => (float[2,3] r) { r = Abs (x) }
      >
    }
    """)
    assert ask(model, "inline_if") == "the condition depends on an input"


def test_a_condition_of_the_input_chooses_between_both_branches() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x, bool c) => (float[2,3] y, float[2,3] z) {
      a = Neg (x)
      [node] y, z = If (c) <
        then_branch = t () => (float[2,3] p, float[2,3] q) <float[3] w = {1, 2, 3}> { p = Sqrt (x)  q = Mul (a, w) },
        else_branch = e () => (float[2,3] p, float[2,3] q) { p = Abs (x)  q = Exp (a) }
      >
    }
    """)
    result = rewrite(model, "if_to_where", target="trt7.0")
    assert ops(result).count("Where") == 2
    for c in (True, False):
        feeds = {**X, "c": np.array(c)}
        same_bits(run(model, feeds), run(result, feeds))


@pytest.mark.parametrize(
    ("then", "otherwise", "reason"),
    [
        ("float[2,3] p) { p = Neg (x) }", "float[3] r) { r = ReduceSum <keepdims = 0> (x, zero) }", "another shape or type"),
        ("float[2,3] p) { p = RandomUniformLike (x) }", "float[2,3] r) { r = Abs (x) }", "holds RandomUniformLike"),
    ],
)
def test_branches_that_cannot_both_be_computed_are_declined(then: str, otherwise: str, reason: str) -> None:
    model = parse(f"""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x, bool c) => (float[] y) <int64[1] zero = {{0}}> {{
      [node] y = If (c) < then_branch = t () => ({then}, else_branch = e () => ({otherwise} >
    }}
    """)
    assert reason in str(ask(model, "if_to_where"))


def test_branches_of_other_shapes_are_declined_whatever_the_model_declares() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[n,4] x, bool c) => (float[m,4] y) <int64[1] zero = {0}> {
      [node] y = If (c) <
        then_branch = t () => (float[m,4] p) { p = Neg (x) }, else_branch = e () => (float[m,4] r) { r = Gather (x, zero) }
      >
    }
    """)
    assert "another shape or type" in str(ask(model, "if_to_where"))


def test_an_if_inside_a_branch_reads_what_the_outer_branch_makes() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x, bool d) => (float[2,3] y) <bool c = {1}> {
      [node] y = If (c) <
        then_branch = t () => (float[2,3] p) {
          q = Neg (x)
          p = If (d) <
            then_branch = t2 () => (float[2,3] r) { r = Exp (q) }, else_branch = e2 () => (float[2,3] s) { s = Abs (q) }
          >
        },
        else_branch = e () => (float[2,3] r) { r = Abs (x) }
      >
    }
    """)
    result = rewrite(model, "inline_if")
    assert ops(result) == ["Neg", "If", "Identity"]
    for d in (True, False):
        same_bits(run(model, {**X, "d": np.array(d)}), run(result, {**X, "d": np.array(d)}))


LOOP = """
<ir_version: 8, opset_import: ["" : %(opset)d]>
g (float[2,3] x) => (float[2,3] y, float[%(trips)d,2,3] ys) <int64 m = {%(trips)d}, bool c = {1}, int64 stop = {%(stop)d}> {
  [node] y, ys = Loop (m, c, x) <
    body = b (int64 i, bool go, float[2,3] s) => (bool on, float[2,3] t, float[2,3] out) {
      on = %(on)s
      f = Cast <to = 1> (i)
      t = Add (s, f)
      out = Neg (t)
    }
  >
}
"""


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("trips", [1, 4])
def test_a_loop_of_constant_length(trips: int, opset: int) -> None:
    model = parse(LOOP % {"opset": opset, "trips": trips, "stop": 0, "on": "Identity (go)"})
    result = rewrite(model, "unroll_loop")
    assert ops(result).count("Add") == trips
    assert "Loop" not in ops(result)
    same_bits(run(model, X), run(result, X))


def test_a_loop_that_a_condition_of_the_round_ends() -> None:
    text = LOOP.replace("float[%(trips)d,2,3]", "float[k,2,3]")
    model = parse(text % {"opset": 13, "trips": 9, "stop": 3, "on": "Less (i, stop)"})
    result = rewrite(model, "unroll_loop")
    assert ops(result).count("Add") == 4
    same_bits(run(model, X), run(result, X))


def test_a_loop_that_a_counter_of_its_own_ends() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x) => (float[2,3] y) <int64 zero = {0}, int64 one = {1}, int64 five = {5}, bool c = {1}> {
      [node] n, y = Loop ("", c, zero, x) <
        body = b (int64 i, bool go, int64 k, float[2,3] s) => (bool on, int64 k2, float[2,3] t) {
          k2 = Add (k, one)
          on = Less (k2, five)
          t = Sin (s)
        }
      >
    }
    """)
    result = rewrite(model, "unroll_loop")
    assert ops(result).count("Sin") == 5
    same_bits(run(model, X), run(result, X))


def test_loops_inside_loops() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x) => (float[2,3] y) <int64 m = {2}, int64 k = {3}> {
      [node] y = Loop (m, "", x) <
        body = b (int64 i, bool go, float[2,3] s) => (bool go, float[2,3] t) {
          f = Cast <to = 1> (i)
          [inner] t = Loop (k, "", s) <
            body = b2 (int64 j, bool go2, float[2,3] u) => (bool go2, float[2,3] v) { v = Add (u, f) }
          >
        }
      >
    }
    """)
    assert ops(rewrite(model, "unroll_loop")).count("Loop") == 2
    report, result = repair(model, "trt6.0-fulldims")
    assert result is not None
    assert applied(report).count("unroll_loop") == 3
    assert ops(result).count("Add") == 6
    assert set(ops(result)) == {"Add", "Identity"}
    same_bits(run(model, X), run(result, X))


def test_what_a_loop_may_not_be() -> None:
    runtime = parse(LOOP % {"opset": 13, "trips": 2, "stop": 0, "on": "Identity (go)"})
    runtime.graph.initializer[0].name = "other"
    runtime.graph.input.append(onnx.helper.make_tensor_value_info("m", 7, []))
    assert ask(runtime, "unroll_loop") == "the number of rounds depends on an input"
    long = parse(LOOP % {"opset": 13, "trips": 600, "stop": 0, "on": "Identity (go)"})
    assert "600 rounds than are unrolled" in str(ask(long, "unroll_loop"))
    none = parse(LOOP % {"opset": 13, "trips": 0, "stop": 0, "on": "Identity (go)"})
    assert "no rounds" in str(ask(none, "unroll_loop"))


SCAN = """
<ir_version: 8, opset_import: ["" : %(opset)d]>
g (float[2,3] x, float[%(shape)s] a) => (float[2,3] y, float[%(out)s] ys) {
  [node] y, ys = Scan <num_scan_inputs = 1%(more)s,
    body = b (float[2,3] s, float[2,3] r) => (float[2,3] t, float[2,3] out) { t = Add (s, r)  out = Mul (t, r) }
  > (x, a)
}
"""


@pytest.mark.parametrize("opset", [9, 11, 13])
@pytest.mark.parametrize(
    ("shape", "out", "more"),
    [
        ("4,2,3", "4,2,3", ""),
        ("4,2,3", "4,2,3", ", scan_input_directions = [1]"),
        ("4,2,3", "4,2,3", ", scan_output_directions = [1]"),
        ("2,4,3", "2,3,4", ", scan_input_axes = [1], scan_output_axes = [2]"),
    ],
)
def test_a_scan_over_a_static_axis(shape: str, out: str, more: str, opset: int) -> None:
    model = parse(SCAN % {"opset": opset, "shape": shape, "out": out, "more": more})
    result = rewrite(model, "unroll_scan")
    assert ops(result).count("Mul") == 4
    feeds = {**X, "a": noise([int(n) for n in shape.split(",")], seed=2)}
    same_bits(run(model, feeds), run(result, feeds))


def test_a_scan_over_a_dynamic_axis_is_declined() -> None:
    model = parse(SCAN % {"opset": 13, "shape": '"n",2,3', "out": '"n",2,3', "more": ""})
    assert ask(model, "unroll_scan") == "the scanned axis has n elements"


def test_the_whole_repair_accounts_for_the_nodes_of_both_branches() -> None:
    model = parse("""
    <ir_version: 4, opset_import: ["" : 9]>
    g (float[1,3,4,4] x) => (float[1,3,4,4] y) <bool c = {1}> {
      [node] y = If (c) <
        then_branch = t () => (float[1,3,4,4] p) { q = Relu (x)  p = Tanh (q) },
        else_branch = e () => (float[1,3,4,4] r) { r = Sigmoid (x) }
      >
    }
    """)
    report, result = repair(model, "trt5.1")
    assert report.status == "repaired"
    assert result is not None
    assert ops(result) == ["Relu", "Tanh"]
    assert report.fidelity is not None
    assert (report.fidelity.edited, report.fidelity.removed) == (1, 3)

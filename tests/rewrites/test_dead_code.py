"""What no output needs goes where a release refuses it, and only there."""

import onnx
import pytest

from onnxfix.model.view import ModelView

from .harness import applied, noise, ops, parse, repair, run, same_bits

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y%s) <%s> { y = Relu (x) %s }'


def model(body: str, outputs: str = "", constants: str = "float[1] k = {2}") -> onnx.ModelProto:
    return parse(HEAD % (outputs, constants, body))


@pytest.mark.parametrize(
    "body",
    [
        "z = NonZero (x)",
        "a = Abs (x)  z = NonZero (a)  w = Shape (z)",
        "z = Det (x)  w = Add (z, k)  v = Mul (z, w)",
        "z = Cast <to = 11> (x)  w = Det (z)",
    ],
)
def test_a_dead_node_that_a_release_refuses_goes_with_its_readers(body: str) -> None:
    before = model(body)
    report, result = repair(before, "trt7.1")
    assert report.status == "repaired"
    assert set(applied(report)) == {"drop_dead_nodes"}
    assert result is not None
    assert ops(result) == ["Relu"]
    feeds = {"x": noise((2, 3))}
    assert report.proof is not None
    assert report.proof.exact
    same_bits(run(model(""), feeds), run(result, feeds))


def test_a_dead_node_that_a_release_takes_stays() -> None:
    before = model("z = NonZero (x)  w = Shape (z)")
    report, result = repair(before, "trt8.6")
    assert report.status == "clean"
    assert result is not None
    assert ops(result) == ["Relu", "NonZero", "Shape"]
    _, mixed = repair(model("z = NonZero (x)  a = Exp (x)"), "trt7.1")
    assert mixed is not None
    assert ops(mixed) == ["Relu", "Exp"]


def test_what_an_output_or_a_branch_needs_is_not_dead() -> None:
    branches = (
        "c = ReduceSum <keepdims = 0> (z)  p = Cast <to = 9> (c)"
        " w = If (p) <then_branch = a () => (float t) { t = Neg (c) }, else_branch = b () => (float e) { e = Abs (q) }>"
    )
    view = ModelView(model(f"z = Exp (x)  q = ReduceMax <keepdims = 0> (x)  {branches}", ", float w"))
    assert view.main.dead == frozenset()
    view = ModelView(model(f"z = Exp (x)  q = ReduceMax <keepdims = 0> (x)  {branches}"))
    names = {node.outputs[0] for node in view.main.nodes if node.index in view.main.dead}
    assert names == {"z", "c", "p", "q", "w"}


def test_a_branch_is_copied_without_what_its_outputs_do_not_need() -> None:
    before = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2,3] x, bool c) => (float[2,3] y) {
      y = If (c) <
        then_branch = t () => (float[2,3] p) { p = Neg (x)  q = NonZero (x) },
        else_branch = e () => (float[2,3] r) { r = Abs (x) }
      >
    }
    """)
    report, result = repair(before, "trt7.1")
    assert report.status == "repaired"
    assert result is not None
    assert ops(result) == ["Neg", "Abs", "Where"]


@pytest.mark.parametrize("target", ["trt7.1", "trt8.6"])
@pytest.mark.parametrize("ir", [3, 8])
def test_an_initializer_that_nothing_reads_goes_where_its_type_is_refused(target: str, ir: int) -> None:
    before = model("", constants="uint16[2] w = {1, 2}, float[1] k = {2}")
    before.ir_version = ir
    if ir == 3:
        for name, kind in (("w", onnx.TensorProto.UINT16), ("k", onnx.TensorProto.FLOAT)):
            before.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, [2 if name == "w" else 1]))
    report, result = repair(before, target)
    assert report.status == "repaired"
    assert result is not None
    assert [tensor.name for tensor in result.graph.initializer] == ["k"]


@pytest.mark.parametrize(("outputs", "body"), [(", uint16[2] w", ""), (", float[2] z", "z = Cast <to = 1> (w)")])
def test_an_initializer_that_is_read_stays(outputs: str, body: str) -> None:
    report, _ = repair(model(body, outputs, "uint16[2] w = {1, 2}"), "trt7.1")
    assert "drop_unread_initializer" not in applied(report)


def test_a_default_of_an_input_stays() -> None:
    before = model("", constants="uint16[2] w = {1, 2}")
    before.graph.input.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.UINT16, [2]))
    report, _ = repair(before, "trt7.1")
    assert "drop_unread_initializer" not in applied(report)


@pytest.mark.parametrize("target", ["trt7.1", "trt8.0", "trt8.6"])
def test_what_only_the_branch_of_a_dead_node_reads_is_dead(target: str) -> None:
    body = (
        "c = ReduceSum <keepdims = 0> (x)  p = Cast <to = 9> (c)  d = Unique (x)"
        " w = If (p) <then_branch = a () => (float t) { h = Identity (d)  t = Neg (h) }, else_branch = b () => (float e) {"
        " e = If (p) <then_branch = f () => (float i) { i = Abs (d) }, else_branch = h () => (float j) { j = Abs (x) }> }>"
    )
    report, result = repair(model(body), target)
    assert report.status == "repaired"
    assert set(applied(report)) == {"drop_dead_nodes"}
    assert result is not None
    assert "Unique" not in ops(result)
    assert "If" not in ops(result)
    feeds = {"x": noise((2, 3))}
    same_bits(run(model(""), feeds), run(result, feeds))

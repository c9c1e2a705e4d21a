"""Outputs that a parser holds as constants."""

import numpy as np
import onnx
import pytest

from .harness import noise, ops, parse, repair, run, run_pass, same_bits

HEAD = '<ir_version: %d, opset_import: ["" : 11]> g (float[2,3] x) => (float[2,3] y, %s c) <%s> { y = Relu (x) %s }'
PAIR = "float[2] c = {1.5, -0.0}"


def reasons(model: onnx.ModelProto, target: str) -> list[str]:
    return [item.reason for item in repair(model, target)[0].declined]


@pytest.mark.parametrize("target", ["trt7.0", "trt7.1"])
@pytest.mark.parametrize("kind", ["float", "float16", "int32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1)])
def test_a_constant_comes_out_to_the_bit(target: str, kind: str, shape: tuple[int, ...]) -> None:
    dtype = np.dtype({"float": "float32"}.get(kind, kind))
    values = np.array([np.nan, -0.0, np.inf] if dtype.kind == "f" else [1, 0, 2])
    array = np.resize(values, shape).astype(dtype)
    declared = onnx.helper.make_tensor_value_info("c", onnx.helper.np_dtype_to_tensor_dtype(dtype), shape)
    model = parse('<ir_version: 8, opset_import: ["" : 11]> g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }')
    model.graph.output.append(declared)
    model.graph.node.append(onnx.helper.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(array, "t")))
    report, result = repair(model, target)
    assert report.status == "repaired"
    assert result is not None
    same_bits(run(model, {"x": noise((2, 3))}), run(result, {"x": noise((2, 3))}))
    assert "Identity" in ops(result)


@pytest.mark.parametrize("ir", [3, 8])
def test_an_initializer_keeps_its_other_readers(ir: int) -> None:
    model = parse(HEAD % (ir, "float[2]", PAIR, "z = Add (c, c)  w = Identity (z)"))
    model.graph.output.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [2]))
    if ir == 3:
        model.graph.input.append(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [2]))
    result = run_pass(model, "constant_output_to_identity", "c", target="trt7.1")
    assert [tensor.name for tensor in result.graph.initializer] == ["c/constant"]
    assert next(node for node in result.graph.node if node.op_type == "Add").input == ["c/constant"] * 2
    same_bits(run(model, {"x": noise((2, 3))}), run(result, {"x": noise((2, 3))}))


def test_a_subgraph_that_reads_the_constant_still_does() -> None:
    model = parse(
        HEAD
        % (
            8,
            "float[2]",
            PAIR,
            "k = ReduceSum <keepdims = 0> (x)  p = Cast <to = 9> (k)"
            " w = If (p) <then_branch = a () => (float[2] t) { t = Neg (c) },"
            " else_branch = b () => (float[2] e) { e = Identity (c) }>",
        )
    )
    model.graph.output.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [2]))
    result = run_pass(model, "constant_output_to_identity", "c", target="trt7.1")
    for seed in range(4):
        same_bits(run(model, {"x": noise((2, 3), seed=seed)}), run(result, {"x": noise((2, 3), seed=seed)}))


def test_an_implicit_batch_would_repeat_it() -> None:
    model = parse(HEAD % (3, "float[2]", "", "c = Constant <value = float[2] {1, 2}> ()"))
    assert any("once for every sample" in reason for reason in reasons(model, "trt5.1"))


def test_a_default_that_a_caller_may_override_stays() -> None:
    model = parse(HEAD % (8, "float[2]", PAIR, ""))
    model.graph.input.append(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [2]))
    assert any("caller may override" in reason for reason in reasons(model, "trt7.1"))


def test_later_releases_give_constants() -> None:
    model = parse(HEAD % (8, "float[2]", PAIR, ""))
    assert repair(model, "trt7.2")[0].status == "clean"

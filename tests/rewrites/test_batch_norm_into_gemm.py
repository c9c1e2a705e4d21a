"""BatchNorm1d as PyTorch up to 1.1 exports it behind a Linear layer, folded into the layer."""

import numpy as np
import onnx
import pytest

from .harness import applied, ask, error, noise, ops, repair, rewrite, run


def layer(*, trans: int = 1, bias: bool = True, opset: int = 9, **factors: float) -> onnx.ModelProto:
    w = noise((4, 6) if trans else (6, 4), seed=1)
    constants = {
        "w": w,
        **{name: noise((4,), seed=number) for number, name in enumerate("bgem", 2)},
        "v": np.abs(noise((4,), seed=9)) + 0.5,
    }
    if not bias:
        constants["b"] = np.zeros(1, np.float32)
    nodes = [
        onnx.helper.make_node("Gemm", ["x", "w", "b"], ["f"], transB=trans, **factors),
        onnx.helper.make_node("Unsqueeze", ["f"], ["u"], axes=[2], name="node"),
        onnx.helper.make_node("BatchNormalization", ["u", "g", "e", "m", "v"], ["n"], epsilon=1e-3),
        onnx.helper.make_node("Squeeze", ["n"], ["y"], axes=[2]),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, ["n_", 6])],
        [onnx.helper.make_tensor_value_info("y", 1, ["n_", 4])],
        [onnx.numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=4)


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("factors", [{}, {"alpha": 0.5, "beta": 2.0}])
def test_one_gemm_is_left(trans: int, bias: bool, factors: dict[str, float]) -> None:
    model = layer(trans=trans, bias=bias, **factors)
    result = rewrite(model, "batch_norm_into_gemm")
    assert ops(result) == ["Gemm"]
    feeds = {"x": noise((3, 6))}
    assert error(run(model, feeds), run(result, feeds)) < 1e-6


def test_a_report_of_5_1_is_repaired() -> None:
    report, _ = repair(layer(), "trt5.1")
    assert report.status == "repaired"
    assert "batch_norm_into_gemm" in applied(report)


def test_what_others_read_stays() -> None:
    for name, shape in (("f", [3, 4]), ("u", [3, 4, 1]), ("n", [3, 4, 1])):
        model = layer()
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, 1, ["n_", *shape[1:]]))
        assert isinstance(ask(model, "batch_norm_into_gemm"), str)
    model = layer()
    model.graph.node[2].input[1] = "x"
    assert "run time" in str(ask(model, "batch_norm_into_gemm"))
    model.graph.node[0].op_type = "MatMul"
    assert "what a Gemm gives" in str(ask(model, "batch_norm_into_gemm"))

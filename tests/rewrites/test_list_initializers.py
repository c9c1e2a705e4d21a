"""Initializers listed as inputs, as IR 3 wants: nothing else about the model changes."""

import numpy as np
import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.list_initializers import list_initializers

from .harness import applied, noise, parse, repair, run, same_bits

TEXT = """<ir_version: {ir}, opset_import: ["" : 9]> g (float[1,2,4,4] x{listed}) => (float[1,3,4,4] y)
<float[3,2,1,1] w = {{1,2,3,4,5,6}}, float[3] b = {{1,2,3}}> {{ y = Conv (x, w, b) }}"""


@pytest.mark.parametrize("ir", [4, 6, 8])
def test_missing_ones_are_listed_behind_the_real_inputs(ir: int) -> None:
    model = parse(TEXT.format(ir=ir, listed=", float[3] b"))
    report, result = repair(model)
    assert applied(report) == ["list_initializers"]
    assert result is not None
    assert [value.name for value in result.graph.input] == ["x", "b", "w"]
    assert [dim.dim_value for dim in result.graph.input[2].type.tensor_type.shape.dim] == [3, 2, 1, 1]
    assert result.ir_version == 3
    assert result.graph.node == model.graph.node
    assert result.graph.initializer == model.graph.initializer
    x = noise((1, 2, 4, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    assert report.proof is not None
    assert report.proof.exact


def test_a_model_that_lists_them_is_left_alone() -> None:
    model = parse(TEXT.format(ir=3, listed=", float[3,2,1,1] w, float[3] b"))
    report, result = repair(model)
    assert report.status == "clean"
    assert result == model


def test_the_ir_version_stays_where_the_model_needs_a_newer_one() -> None:
    model = parse(TEXT.format(ir=8, listed=""))
    model.graph.quantization_annotation.add(tensor_name="w")
    report, result = repair(model)
    assert report.status == "repaired"
    assert result is not None
    assert result.ir_version == 8


def test_the_ir_version_stays_where_a_subgraph_stores_tensors() -> None:
    text = """<ir_version: 8, opset_import: ["" : 9]> g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
        z = Mul (x, w)
        y = If (c) <then_branch = t () => (float[2] a) <float[2] v = {3, 4}> { a = Mul (z, v) },
                    else_branch = e () => (float[2] b) { b = Identity (z) }>
    }"""
    model = parse(text)
    assert list_initializers(model, Facts(ModelView(model))) is None
    assert model.ir_version == 8
    assert [value.name for value in model.graph.input] == ["x", "c", "w"]
    feeds = {"x": noise((2,)), "c": np.array(True)}
    same_bits(run(parse(text), feeds), run(model, feeds))


def test_sparse_initializers_cannot_be_inputs() -> None:
    model = parse(TEXT.format(ir=8, listed=""))
    sparse = model.graph.sparse_initializer.add(dims=[3])
    sparse.values.CopyFrom(onnx.helper.make_tensor("sb", onnx.TensorProto.FLOAT, [1], [2.0]))
    sparse.indices.CopyFrom(onnx.helper.make_tensor("", onnx.TensorProto.INT64, [1], [1]))
    answer = list_initializers(model, Facts(ModelView(model)))
    assert isinstance(answer, Decline)
    assert "sparse initializers" in answer.reason

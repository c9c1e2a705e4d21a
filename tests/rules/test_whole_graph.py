"""What a parser refuses of a whole model, in forms that the text of the rules' examples cannot hold."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rules.engine import lint
from onnxfix.rules.finding import Verdict, verdict_of
from onnxfix.targets import find_target


def found(model: onnx.ModelProto, target: str) -> list[str]:
    view = ModelView(model)
    return [finding.code for finding in lint(view, Facts(view), find_target(target))]


def relu_beside(tensor: onnx.TensorProto) -> onnx.ModelProto:
    """A model with an initializer that no node reads."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)


@pytest.mark.parametrize(("target", "codes"), [("trt6.0", ["OFX206"]), ("trt7.0", ["OFX206"]), ("trt7.1", []), ("rtx1.7", [])])
def test_weights_in_a_file_of_their_own_are_read_from_7_1_on(target: str, codes: list[str]) -> None:
    tensor = TensorProto(name="w", dims=[2], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    assert found(relu_beside(tensor), target) == codes


@pytest.mark.parametrize(("target", "codes"), [("trt5.1", []), ("trt6.0", ["OFX204"]), ("trt7.0", ["OFX204"])])
def test_an_element_type_is_read_up_to_7_0_only_from_the_fields_that_the_parser_knows(target: str, codes: list[str]) -> None:
    typed = helper.make_tensor("w", TensorProto.DOUBLE, [2], [1.0, 2.0])
    assert list(typed.double_data)
    assert found(relu_beside(typed), target) == codes
    assert found(relu_beside(helper.make_tensor("w", TensorProto.STRING, [1], [b"a"])), target) == codes
    assert found(relu_beside(onnx.numpy_helper.from_array(np.array([1.0, 2.0]), "w")), target) == []


@pytest.mark.parametrize("target", ["trt6.0-fulldims", "trt8.6", "trt10.1", "rtx1.7"])
def test_a_tensor_has_eight_axes_at_most(target: str) -> None:
    ones = "1,1,1,1,1,1,1,1"
    head = '<ir_version: 7, opset_import: ["" : 11]> '
    text = head + f"g (float[{ones},2] x) => (float[{ones},2] y) {{ y = Relu (x) }}"
    assert "OFX301" in found(onnx.parser.parse_model(text), target)
    eight = text.replace(ones, ones[2:])
    assert "OFX301" not in found(onnx.parser.parse_model(eight), target)


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ("trt7.0", "blocked"),
        ("trt7.1", "blocked"),
        ("trt7.2", "likely"),
        ("trt8.6", "likely"),
        ("trt10.16", "likely"),
        ("trt11.0", "blocked"),
    ],
)
def test_a_plugin_is_taken_by_the_releases_that_bring_it(target: str, verdict: str) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, 4, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("LReLU_TRT", ["x"], ["y"], negSlope=0.1)], "g", values[:1], values[1:])
    view = ModelView(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6))
    assert verdict_of(lint(view, Facts(view), find_target(target))) is Verdict(verdict)

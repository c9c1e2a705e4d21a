"""A model is made small without losing what it shows."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import helper, numpy_helper

from onnxfix.cli.reduce import command
from onnxfix.errors import MissingToolError, UsageError
from onnxfix.model.load import load_model
from onnxfix.reducing import Failure, NothingShownError, failure_test, reduce_model

needs_rtx = pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is None, reason="tensorrt_rtx is not installed: pip install 'onnxfix[tensorrt-rtx]'"
)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty element-wise nodes and Convs around one operator that nobody has, and a cast that builders refuse."""
    monkeypatch.chdir(tmp_path)
    weights = numpy_helper.from_array(np.ones((3, 3, 1, 1), np.float32), "w")
    nodes, x = [], "x"
    for index in range(20):
        op = "Spin" if index == 12 else ("Conv" if index % 5 == 0 else "Relu")
        inputs = [x, "w"] if op == "Conv" else [x]
        nodes.append(helper.make_node(op, inputs, [f"v{index}"], f"n{index}", domain="com.acme" if op == "Spin" else ""))
        x = f"v{index}"
    info = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3, 8, 8]) for name in ("x", x, "v12")]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:2], [weights], value_info=info[2:])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.acme", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def run(*words: Any) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


def test_one_node_is_left_of_a_refusal(model: Path) -> None:
    done = run(model, "-t", "rtx1.7", "--until", "blocked", "-o", "small.onnx")
    assert done.exit_code == 0, done.output
    small = onnx.load("small.onnx")
    assert [node.op_type for node in small.graph.node] == ["Spin"]
    assert [value.name for value in small.graph.input] == ["v11"]
    assert [value.name for value in small.graph.output] == ["v12"]
    assert not small.graph.initializer
    assert "Spin" in done.output


def test_what_needs_several_nodes_keeps_them(model: Path) -> None:
    def shows(proto: onnx.ModelProto) -> Failure | None:
        names = {node.name for node in proto.graph.node}
        return Failure("both", "n3 and n17") if {"n3", "n17"} <= names else None

    found = reduce_model(load_model(model), shows)
    proto = onnx.load_from_string(found.data)
    assert {node.name for node in proto.graph.node} == {"n3", "n17"}
    assert found.minimal
    assert found.tests < 60


def test_another_failure_is_not_taken_for_the_same(model: Path) -> None:
    def shows(proto: onnx.ModelProto) -> Failure | None:
        return Failure("whole" if len(proto.graph.node) == 20 else "part", "")

    found = reduce_model(load_model(model), shows)
    assert found.nodes == 20


def test_the_tests_may_run_out(model: Path) -> None:
    def shows(proto: onnx.ModelProto) -> Failure | None:
        return Failure("odd", "") if {"n0", "n7", "n19"} <= {node.name for node in proto.graph.node} else None

    found = reduce_model(load_model(model), shows, most=4)
    assert (found.tests, found.minimal) == (4, False)
    assert shows(onnx.load_from_string(found.data)) is not None


def test_constants_that_are_cut_off_stay_constants(tmp_path: Path) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[3,2] y) '
        "{ s = Shape (x)  i = Constant <value_ints = [1, 0]> ()  r = Gather (s, i)  y = Reshape (x, r) }"
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")

    def shows(proto: onnx.ModelProto) -> Failure | None:
        return Failure("r", "") if any(node.op_type == "Reshape" for node in proto.graph.node) else None

    found = reduce_model(load_model(tmp_path / "m.onnx"), shows)
    proto = onnx.load_from_string(found.data)
    assert [node.op_type for node in proto.graph.node] == ["Reshape"]
    assert {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in proto.graph.initializer} == {"r": [3, 2]}


def test_what_does_not_fail_is_not_reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = '<ir_version: 8, opset_import: ["" : 13]> g (float[4] x) => (float[4] y) { y = Relu (x) }'
    onnx.save(onnx.parser.parse_model(text), "m.onnx")
    done = run("m.onnx", "-t", "trt8.6")
    assert isinstance(done.exception, NothingShownError)
    assert done.exception.exit_code == 1
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        ((), UsageError, "no target"),
        (("-t", "trt5.1..trt7.0"), UsageError, "one release at a time"),
        (("-t", "trt5.1", "-o", "m.onnx"), UsageError, "is the model itself"),
        (("-t", "trt5.1", "--until", "refused"), MissingToolError, "is not installed here; --until blocked"),
    ],
)
def test_what_cannot_be_is_one_line(model: Path, words: tuple[str, ...], kind: type[Exception], said: str) -> None:
    done = run("m.onnx", *words)
    assert isinstance(done.exception, kind)
    assert said in str(done.exception)


def test_a_wrong_way_to_fail_is_refused(tmp_path: Path) -> None:
    until: Any = "never"
    with pytest.raises(UsageError, match="must be one of blocked, refused, build, differs"):
        failure_test(until, "trt5.1", tmp_path, 1.0)


@needs_rtx
def test_the_real_parser_and_builder_refuse_what_is_left(model: Path, tmp_path: Path) -> None:
    done = run(model, "-t", "rtx1.7", "-f", "json")
    assert done.exit_code == 0, done.output
    reduced = json.loads(done.output)["models"][0]["reduced"]
    assert (reduced["until"], reduced["nodes_before"], reduced["nodes"]) == ("refused", 20, 1)
    text = (
        '<ir_version: 10, opset_import: ["" : 21]> g (float[4] x) => (float[4] y) '
        "{ a = Relu (x)  b = Neg (a)  [bad] q = Cast <to = 17> (b)  c = Cast <to = 1> (q)  y = Abs (c) }"
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "b.onnx")
    done = run("b.onnx", "-t", "rtx1.7", "-f", "json")
    reduced = json.loads(done.output)["models"][0]["reduced"]
    assert (reduced["until"], reduced["nodes"]) == ("build", 1)
    assert [node.op_type for node in onnx.load("b.reduced.onnx").graph.node] == ["Cast"]

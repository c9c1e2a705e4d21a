"""Element types that importers refuse: bytes above all, which a network takes as input and gives to a Cast, and to little else."""

from __future__ import annotations

import onnx
import pytest

from onnxfix.checks.limits import broken
from onnxfix.errors import UsageError
from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.report.reference import limit_text
from onnxfix.rules.engine import lint
from onnxfix.targets import find_target
from onnxfix.targets._files import Table
from onnxfix.targets.support import limit_of


def codes(inputs: str, outputs: str, nodes: str, target: str, opset: int = 18, stored: str = "") -> list[str]:
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {stored} {{ {nodes} }}'
    view = ModelView(onnx.parser.parse_model(text))
    return [finding.code for finding in lint(view, Facts(view), find_target(target)) if finding.refuses]


# As TensorRT-RTX 1.7 answers.
REFUSED = [
    ("uint8[1,8,8,3] x", "float[1,3,8,8] y", "t = Transpose <perm = [0, 3, 1, 2]> (x) y = Cast <to = 1> (t)"),
    ("uint8[1,3,8,8] x", "float[3,64] y", "t = Reshape (x, s) y = Cast <to = 1> (t)"),
    ("uint8[1,3,8,8] x", "float[1,6,8,8] y", "t = Concat <axis = 1> (x, x) y = Cast <to = 1> (t)"),
    ("int32[2,2] x", "int32[2,2] y", "y = MatMul (x, x)"),
    ("int32[2,2] x", "int32[2,2] y", "y = Gemm (x, x)"),
    ("bool[1,4,2,2] x", "bool[1,1,4,4] y", "y = DepthToSpace <blocksize = 2> (x)"),
    ("int32[2,3] x", "int32[2,1] y", "y = ReduceLogSum (x, one)"),
    ("float[2] x", "float[2] y", "y = Mod <fmod = 0> (x, x)"),
    ("int8[2] x, int8 low", "int8[2] y", "y = Clip (x, low)"),
]
STORED = "<int64[2] s = {3, 64}, int64[1] one = {1}, int8 zero = {0}>"
TAKEN = [
    ("uint8[1,8,8,3] x", "float[1,3,8,8] y", "t = Cast <to = 1> (x) y = Transpose <perm = [0, 3, 1, 2]> (t)"),
    ("float[2] x", "float[2] y", "y = Mod <fmod = 1> (x, x)"),
    ("int8[2] x", "int8[2] y", "y = Clip (x, zero)"),
    ("double[2] x", "double[2] y", "y = Clip (x)"),
    ("double[1,1,4,4] x", "double[1,1,2,2] y", "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)"),
]


@pytest.mark.parametrize("model", REFUSED, ids=lambda model: model[2])
def test_refused(model: tuple[str, str, str]) -> None:
    assert codes(*model, "rtx1.7", stored=STORED)[:1] == ["OFX201"]


@pytest.mark.parametrize("model", TAKEN, ids=lambda model: model[2])
def test_taken(model: tuple[str, str, str]) -> None:
    assert codes(*model, "rtx1.7", stored=STORED) == []


@pytest.mark.parametrize("target", ["trt8.5", "trt8.6", "trt9.3", "trt10.1", "trt11.5"])
def test_bytes_in_releases_of_tensorrt(target: str) -> None:
    """notInvalidType of their importers."""
    for nodes in ("t = Slice (x, a, b, c)", "t = Concat <axis = 0> (x, x)", "t = Tile (x, a)"):
        stored = "<int64[1] a = {1}, int64[1] b = {2}, int64[1] c = {0}>"
        assert "OFX201" in codes("uint8[4] x", "float[n] y", f"{nodes} y = Cast <to = 1> (t)", target, 13, stored)


def test_bytes_that_are_weights_are_integers() -> None:
    """convertOnnxWeights makes them INT32; so an importer that refuses bytes takes them, and one that refuses INT32 does not."""
    text = '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) <uint8[2] w = {1, 2}> { y = Tile (w, x) }'
    view = ModelView(onnx.parser.parse_model(text))
    (node,) = view.nodes()
    from onnxfix.checks import Context
    from onnxfix.checks.parser_values import ParserValues

    facts, target = Facts(view).of(view.main), find_target("rtx1.7")
    context = Context(node, facts, ParserValues(view.main, facts, target), target, {})
    for refused, problem in ((["UINT8"], False), (["INT32"], True)):
        limit = limit_of(Table({"input": 0, "refused": refused}, "here"), "OFX201")
        assert bool(broken(limit, context)) is problem


def test_limits_in_words() -> None:
    def limit(**data: object) -> str:
        return limit_text(limit_of(Table({"input": 0, **data}, "here"), "OFX201"))

    assert limit(refused=["UINT8", "BOOL"]) == "input 0 is not BOOL, UINT8"
    assert limit(folded=True) == limit(constant=True) == "input 0 is a constant"
    assert limit(tensor=True) == "input 0 is no constant"
    with pytest.raises(UsageError, match="exactly one of"):
        limit(refused=["UINT8"], types=["FLOAT"])


def test_outputs_as_they_are_declared() -> None:
    """convertDtype of the declared type in ModelImporter.cpp of every release; a tensor of INT32 stays one."""
    undeclared = codes("float[2] x", "y", "y = Relu (x)", "rtx1.7")
    assert undeclared == codes("float[2] x", "y", "y = Relu (x)", "trt7.1", 9) == ["OFX205"]
    assert codes("int32[2] x", "float[2] y", "y = Abs (x)", "rtx1.7") == ["OFX205"]
    assert codes("int32[2] x", "int64[2] y", "y = Abs (x)", "rtx1.7") == ["OFX205"]
    assert codes("int64[2] x", "int32[2] y", "y = Abs (x)", "rtx1.7") == []


@pytest.mark.parametrize(("op", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent_layers_need_their_size(op: str, gates: int) -> None:
    """ONNX lets hidden_size be left out; importers read it without a default."""
    inputs = f"float[2,1,3] x, float[1,{4 * gates},3] w, float[1,{4 * gates},4] r"
    for target in ("rtx1.7", "trt10.1"):
        assert "OFX405" in codes(inputs, "float[2,1,1,4] y", f"y = {op} (x, w, r)", target, 14)
        assert "OFX405" not in codes(inputs, "float[2,1,1,4] y", f"y = {op} <hidden_size = 4> (x, w, r)", target, 14)

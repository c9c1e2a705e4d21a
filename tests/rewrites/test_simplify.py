"""--simplify: a simplifier's result is proven like any other change, else left out (shown with a stand-in of the tool)."""

import sys
import types
from collections.abc import Callable

import numpy as np
import onnx
import pytest

from onnxfix.errors import MissingToolError
from onnxfix.rewrites import _simplify

from .harness import ops, parse, repair

TEXT = """
<ir_version: 3, opset_import: ["" : 9], producer_name: "pytorch">
g (float[1,3,4,4] x, float[3,1,1] k) => (float[1,3,4,4] y) <float[3,1,1] k = {1, 2, 3}> {
  a = Identity (x)
  b = Identity (a)
  y = Mul (b, k)
}
"""


def without_identities(model: onnx.ModelProto) -> onnx.ModelProto:
    del model.graph.node[:2]
    model.graph.node[0].input[0] = "x"
    model.producer_name = "slim"
    return model


def install(patch: pytest.MonkeyPatch, slim: Callable[[onnx.ModelProto], onnx.ModelProto | None]) -> None:
    module = types.ModuleType("onnxslim")
    module.slim = slim  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "onnxslim", module)
    patch.setattr(_simplify.importlib.metadata, "version", lambda name: "0.1.98")


def test_what_is_equal_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, without_identities)
    report, result = repair(parse(TEXT), "trt5.1", simplify=True)
    assert report.status == "repaired"
    assert report.notes == ("simplified by onnxslim 0.1.98: 3 nodes to 1, proven equal",)
    assert result is not None
    assert ops(result) == ["Mul"]
    assert result.producer_name == "pytorch"


def wrong_number(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([[[1]], [[2]], [[4]]], np.float32), "k"))
    return model


def another_input(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.input[0].name = "other"
    model.graph.node[0].input[0] = "other"
    return model


def broken(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.node[0].input[0] = "nowhere"
    return model


def fails(model: onnx.ModelProto) -> onnx.ModelProto:
    raise ValueError("no such thing\nat all")


def nothing(model: onnx.ModelProto) -> None:
    return None


@pytest.mark.parametrize(
    ("slim", "reason"),
    [
        (wrong_number, "is not equal: y: "),
        (another_input, "is not equal: the second model has no input x"),
        (broken, "the checker refuses what onnxslim makes"),
        (fails, "onnxslim fails: ValueError: no such thing"),
        (nothing, "onnxslim gives nothing"),
    ],
)
def test_what_is_not_is_left_out_and_the_rest_goes_on(
    slim: Callable[[onnx.ModelProto], onnx.ModelProto | None], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, slim)
    model = parse(TEXT)
    report, result = repair(model, "trt5.1", simplify=True)
    assert report.status == "clean"
    (note,) = report.notes
    assert note.startswith("not simplified: ")
    assert reason in note
    assert result is not None
    assert ops(result) == ["Identity", "Identity", "Mul"]


def test_where_only_exact_changes_are_allowed_it_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, fails)
    report, _ = repair(parse(TEXT), "trt5.1", simplify=True, allow="exact")
    assert report.notes == ("not simplified: what onnxslim does is equivalent, not exact",)


def test_where_it_is_not_installed_the_machine_lacks_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxslim", None)
    with pytest.raises(MissingToolError, match="pip install") as error:
        repair(parse(TEXT), "trt5.1", simplify=True)
    assert error.value.exit_code == 4

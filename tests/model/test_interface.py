"""Inputs with defaults: what a repair takes from the caller is told."""

import onnx
import pytest

from onnxfix.model.interface import lost_overrides

HEAD = '<ir_version: {ir}, opset_import: ["" : 11]> g (float[2, 3] x, int64[2] t, float[3] w) => (float[a, b] y)'
INITIALIZERS = "<int64[2] t = {{-1, 3}}, float[3] w = {{1, 2, 3}}{more}>"
NODES = "{{ s = Mul (w, w)  u = Add (x, s)  k = Shape (u)  m = Neg (t)  p = Neg (m)  y = Reshape (u, {shape}) }}"


def model(ir: int = 4, more: str = "", shape: str = "p", listed: str = "float[3] w") -> onnx.ModelProto:
    text = (HEAD + INITIALIZERS + NODES).format(ir=ir, more=more, shape=shape)
    return onnx.parser.parse_model(text.replace("float[3] w)", listed + ")", 1))


def test_an_input_that_no_longer_reaches_a_value_is_told() -> None:
    after = model(more=", int64[2] c = {-1, 3}", shape="c")
    assert lost_overrides(model(), model()) == []
    assert lost_overrides(model(), after) == ["input t, which had a default, is a constant now"]


def test_below_ir_4_a_listed_initializer_has_no_other_value() -> None:
    assert lost_overrides(model(ir=3), model(ir=3, shape="k")) == []


def test_a_shape_depends_on_no_value() -> None:
    after = model(more=", int64[2] c = {2, 3}", shape="c")
    assert lost_overrides(model(shape="k"), after) == []


@pytest.mark.parametrize("ir", [3, 4])
def test_a_repair_reports_it(ir: int) -> None:
    from tests.rewrites.harness import repair

    text = f'<ir_version: {ir}, opset_import: ["" : 11]> g (float[2, 3] x, int64[2] t) => (float[a, b] y) '
    text += "<int64[2] t = {-1, 3}> { p = Identity (t)  y = Reshape (x, p) }"
    report, result = repair(onnx.parser.parse_model(text))
    assert result is not None
    assert report.fidelity is not None
    assert report.fidelity.interface_changes == (("input t, which had a default, is a constant now",) if ir >= 4 else ())

"""A rewrite that cannot start from a node is not offered for it."""

import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rules.engine import lint
from onnxfix.targets import find_target

NON_ZERO = '<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (int64[1,"N"] y) { y = NonZero (x) }'
CELU = '<ir_version: 8, opset_import: ["" : 12]> g (float[3] x) => (float[3] y) { y = Celu (x) }'
DOUBLE = '<ir_version: 8, opset_import: ["" : 13]> g (double[3] x) => (double[3] y) { y = Sin (x) }'


@pytest.mark.parametrize(
    ("text", "target", "absent"),
    [
        (NON_ZERO, "trt7.1", {"inline_function", "fold_constant", "fold_parameter", "double_to_float", "schema_body"}),
        (CELU, "trt7.1", {"inline_function", "fold_constant", "fold_parameter"}),
        (DOUBLE, "trt7.1", {"inline_function", "fold_constant", "fold_parameter"}),
    ],
)
def test_what_cannot_start_from_the_node_is_not_among_its_fixes(text: str, target: str, absent: set[str]) -> None:
    view = ModelView(onnx.parser.parse_model(text))
    found = [finding for finding in lint(view, Facts(view), find_target(target)) if finding.location.op_type]
    assert found
    assert not absent.intersection(*(finding.fixes for finding in found))


def test_a_refused_operator_without_any_rewrite_is_not_called_repairable() -> None:
    view = ModelView(onnx.parser.parse_model(NON_ZERO))
    (refused,) = [finding for finding in lint(view, Facts(view), find_target("trt7.1")) if finding.code == "OFX101"]
    assert refused.fixes == ()

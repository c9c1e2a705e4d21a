"""What a builder refuses of what its parser takes is a warning with the builder's words, and blocks nothing."""

from pathlib import Path

import onnx
import pytest

from onnxfix.api import lint_model
from onnxfix.model.load import load_model
from onnxfix.rules.finding import Finding, Verdict

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
ADD = "(int8[4] x) => (int8[4] y) <int8[4] c = {1, 2, 3, 4}> { [n] y = Add (x, c) }"


def warned(folder: Path, text: str, target: str = "rtx1.7") -> list[Finding]:
    onnx.save(onnx.parser.parse_model(HEAD + text), folder / "m.onnx")
    (report,) = lint_model(load_model(folder / "m.onnx"), [target]).targets
    assert report.verdict is Verdict.LIKELY
    return [finding for finding in report.findings if finding.code == "OFX704"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ADD, "Add with an INT8 constant is parsed, and the builder refuses it"),
        ("(float[4] x) => (float8e4m3fn[4] y) { [n] y = Cast <to = 17> (x) }", "Cast to FLOAT8E4M3FN is parsed"),
        ("(float[4] x, float s, int8 z) => (int8[4] y) { [n] y = QuantizeLinear (x, s, z) }", "QuantizeLinear"),
        ("(float[1,9,4] b, float[1,2,9] s) => (int64[n,3] y) { [n] y = NonMaxSuppression (b, s) }", "no engine of rtx1.7"),
    ],
)
def test_the_builder_is_quoted(tmp_path: Path, text: str, words: str) -> None:
    (finding,) = warned(tmp_path, text)
    assert words in finding.message
    assert finding.parser_message
    assert (finding.severity, finding.refuses) == ("warning", False)
    assert [item.kind for item in finding.evidence] == ["builder"]


@pytest.mark.parametrize(
    "text",
    [
        ADD.replace("int8", "int32"),
        "(int8[4] x, int8[4] c) => (int8[4] y) { [n] y = Add (x, c) }",
        "(float[4] x) => (bfloat16[4] y) { [n] y = Cast <to = 16> (x) }",
        "(float[4] x, float s) => (int8[4] y) <int8 z = {0}> { [n] y = QuantizeLinear (x, s, z) }",
    ],
)
def test_what_builds_is_not_warned_of(tmp_path: Path, text: str) -> None:
    assert warned(tmp_path, text) == []


def test_other_releases_are_not_judged_by_it(tmp_path: Path) -> None:
    assert warned(tmp_path, ADD, "rtx1.6") == []

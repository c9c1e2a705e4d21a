"""The parser's own word is joined with lint's: taken is *parsed*, refused is *blocked*, silence is *unknown*."""

from pathlib import Path
from typing import Any

import onnx
import pytest
from click.testing import CliRunner

from onnxfix import asking
from onnxfix.api import lint_model
from onnxfix.cli.repair import command as repair
from onnxfix.engines import ParserError, ParseResult, ParseVerdict
from onnxfix.errors import MissingToolError
from onnxfix.model.load import load_model
from onnxfix.results import LintReport
from onnxfix.rules.finding import Severity

from .conftest import needs_rtx

GOOD = '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y) { [n] y = Relu (x) }'
BAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y) { [n] h = Relu (x) [d] y = NoSuchOp (h) }'


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a parser of rtx1.7 answers, for tests to set."""
    given: dict[str, Any] = {}

    def parse(path: Path, engine: str, timeout: float) -> ParseResult:
        return ParseResult(engine=engine, version="1.7.0", **given)

    monkeypatch.setattr(asking, "parse", parse)
    monkeypatch.setattr(asking, "tool_of", lambda target: asking.tool("tensorrt-rtx") if target == "rtx1.7" else None)
    return given


def linted(folder: Path, text: str, *targets: str) -> tuple[LintReport, Path]:
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return lint_model(load_model(path), targets or ("rtx1.7",)), path


def test_a_model_that_the_parser_takes_is_parsed_and_what_lint_had_against_it_is_only_told(
    tmp_path: Path, answer: dict[str, Any]
) -> None:
    answer["verdict"] = ParseVerdict.PARSED
    (target,) = asking.ask_parsers(*linted(tmp_path, BAD)).targets
    assert target.verdict == "parsed"
    assert [(finding.code, finding.severity) for finding in target.findings] == [("OFX101", Severity.INFO)]
    assert target.findings[0].message.endswith("the installed parser takes the model all the same")


def test_a_model_that_the_parser_refuses_is_blocked_in_the_parsers_words(tmp_path: Path, answer: dict[str, Any]) -> None:
    answer |= {"verdict": ParseVerdict.REFUSED, "errors": (ParserError(0, "n", "Relu", "UNSUPPORTED_NODE", "no, thanks", "f"),)}
    (target,) = asking.ask_parsers(*linted(tmp_path, GOOD)).targets
    (finding,) = target.findings
    assert (target.verdict, finding.code, finding.location.path, finding.location.op_type) == (
        "blocked",
        "OFX006",
        "graph/node[0]",
        "Relu",
    )
    assert (finding.message, finding.parser_message) == ("TensorRT-RTX 1.7.0 refuses Relu", "no, thanks")


@pytest.mark.parametrize(
    ("verdict", "wanted", "words"),
    [(ParseVerdict.CRASHED, "blocked", "died"), (ParseVerdict.TIMEOUT, "unknown", "did not answer in time")],
)
def test_a_parser_that_dies_blocks_and_one_that_is_silent_leaves_the_model_unknown(
    tmp_path: Path, answer: dict[str, Any], verdict: ParseVerdict, wanted: str, words: str
) -> None:
    answer |= {"verdict": verdict, "messages": ("signal 11",)}
    (target,) = asking.ask_parsers(*linted(tmp_path, GOOD)).targets
    assert target.verdict == wanted
    assert words in target.findings[0].message
    assert target.findings[0].parser_message == "signal 11"


def test_other_targets_stay_as_they_are_and_none_at_all_is_an_error(tmp_path: Path, answer: dict[str, Any]) -> None:
    answer["verdict"] = ParseVerdict.PARSED
    report, path = linted(tmp_path, BAD, "trt8.6", "rtx1.7")
    asked = asking.ask_parsers(report, path)
    assert [target.verdict for target in asked.targets] == ["blocked", "parsed"]
    assert asked.targets[0] is report.targets[0]
    assert asking.installed_targets() == ("rtx1.7",)
    with pytest.raises(MissingToolError, match=r"no parser of trt8\.6 is installed here"):
        asking.ask_parsers(*linted(tmp_path, GOOD, "trt8.6"))


def test_nothing_installed_is_said_with_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "tool_of", lambda target: None)
    with pytest.raises(MissingToolError, match="pip install"):
        asking.installed_targets()


OLD = '<ir_version: 6, opset_import: ["" : 11]> g (float[2,1,3] x) => (float[2,3] y) { [n] y = Squeeze (x) }'


def test_repair_writes_nothing_that_the_installed_parser_refuses(
    tmp_path: Path, answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "choose", lambda name: asking.tool("tensorrt-rtx"))
    model, output = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(onnx.parser.parse_model(OLD), model)
    words = [str(model), "--target", "trt7.1", "--ask-parser", "-o", str(output)]
    answer |= {"verdict": ParseVerdict.REFUSED, "errors": (ParserError(0, "n", "Reshape", "UNSUPPORTED_NODE", "no, thanks", "f"),)}
    refused = CliRunner().invoke(repair, words)
    assert refused.exit_code == 3
    assert "unproven: TensorRT-RTX 1.7.0 refuses Reshape: no, thanks; nothing written" in refused.output
    assert not output.exists()
    answer.clear()
    answer["verdict"] = ParseVerdict.PARSED
    taken = CliRunner().invoke(repair, words)
    assert taken.exit_code == 0
    assert "note: the parser of TensorRT-RTX 1.7.0 takes the result" in taken.output
    assert output.exists()
    # a model that has nothing to repair is no exception
    answer |= {"verdict": ParseVerdict.REFUSED, "errors": (ParserError(0, "n", "Relu", "UNSUPPORTED_NODE", "no, thanks", "f"),)}
    again = CliRunner().invoke(repair, [str(output), "--target", "trt7.1", "--ask-parser", "-o", str(tmp_path / "again.onnx")])
    assert again.exit_code == 3
    assert not (tmp_path / "again.onnx").exists()


@needs_rtx
def test_the_real_parser_takes_a_relu_and_refuses_an_operator_that_does_not_exist(tmp_path: Path) -> None:
    target = asking.installed_targets()[-1]
    assert asking.ask_parsers(*linted(tmp_path, GOOD, target)).targets[0].verdict == "parsed"
    (bad,) = asking.ask_parsers(*linted(tmp_path, BAD, target)).targets
    assert bad.verdict == "blocked"
    assert {"OFX006", "OFX101"} <= {finding.code for finding in bad.findings}

"""lint, repair and lint again through the command line, with the real linter, rewrites and proof."""

from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest

from .conftest import SCHEMA, digest, save
from .test_lint import closed

# What PyTorch writes for x.view(x.size(0), -1), with weights that are not listed among the inputs.
FLATTEN = """<ir_version: 6, opset_import: ["" : 11], producer_name: "pytorch">
g (float["N",3,4,4] x) => (float["N",48] y) <float[1,3,1,1] w = {1, 2, 3}> {
  [scaled] h = Mul (x, w)
  [zero] zero = Constant <value = int64 {0}> ()
  [rest] minus = Constant <value = int64[1] {-1}> ()
  [shape] shape = Shape (h)
  [size] batch = Gather <axis = 0> (shape, zero)
  [lift] batch1 = Unsqueeze <axes = [0]> (batch)
  [sizes] target = Concat <axis = 0> (batch1, minus)
  [view] y = Reshape (h, target)
}"""


@pytest.fixture
def model(folder: Path) -> Path:
    save(folder / "m.onnx", FLATTEN)
    return folder / "m.onnx"


def test_lint_names_node_operator_reason_and_fix(run: Any, model: Path) -> None:
    result = run("lint", "-t", "trt5.1", "m.onnx")
    assert (result.code, result.err) == (1, "")
    for words in (
        "m.onnx  trt5.1",
        "OFX302 batch-axis",
        "size\n  Gather works along axis 0",
        "the parser says: Assertion failed: axis >= 0 && axis < nbDims",
        "at graph/node[4]",
        "[exact]",
        "Verdict: blocked",
        "Try: onnxfix repair m.onnx --target trt5.1 --diff",
    ):
        assert words in result.out, words


def test_repair_writes_a_proven_model_that_is_clean(run: Any, model: Path) -> None:
    before = digest(model)
    result = run("repair", "-t", "trt5.1", "m.onnx")
    assert (result.code, result.err) == (0, "")
    assert "verify    8 samples, seed 0, N = " in result.out
    assert "equal to the bit" in result.out
    assert "0 errors remaining, 0 introduced" in result.out
    assert "written to m.fixed.onnx" in result.out
    assert digest(model) == before
    onnx.checker.check_model(onnx.load(model.parent / "m.fixed.onnx"))
    assert run("lint", "-t", "trt5.1", "m.fixed.onnx").code == 0
    assert run("verify", "m.onnx", "m.fixed.onnx").code == 0


def test_repairing_again_changes_nothing_and_runs_agree(run: Any, model: Path) -> None:
    run("repair", "-t", "trt5.1", "m.onnx", "-o", "one.onnx")
    run("repair", "-t", "trt5.1", "m.onnx", "-o", "two.onnx")
    run("repair", "-t", "trt5.1", "one.onnx", "-o", "three.onnx")
    assert digest(model.parent / "one.onnx") == digest(model.parent / "two.onnx") == digest(model.parent / "three.onnx")


def test_diff_shows_the_nodes_and_writes_nothing(run: Any, model: Path) -> None:
    result = run("repair", "-t", "trt5.1", "m.onnx", "--diff")
    assert result.code == 1
    assert "--- m.onnx\n+++ m.fixed.onnx\n" in result.out
    assert any(line.startswith("-") and "Gather" in line for line in result.out.splitlines())
    assert [path.name for path in model.parent.glob("*.onnx")] == ["m.onnx"]


def test_the_matrix_names_the_oldest_release_that_is_likely(run: Any, model: Path) -> None:
    result = run("lint", "m.onnx")
    assert result.code == 0
    assert "oldest release likely to take it: trt7.1" in result.out
    assert run("targets", "--for", "m.onnx", "-f", "json").json["oldest_likely"] == "trt7.1"


def test_verify_reports_as_the_other_commands_do(run: Any, model: Path) -> None:
    report = run("verify", "m.onnx", "m.onnx", "-f", "json", "--samples", "1", "--shape", "x:1x3x4x4").json
    jsonschema.validate(report, closed(SCHEMA))
    assert set(report["run"]) == set(run("lint", "m.onnx", "-f", "json").json["run"])


@pytest.mark.parametrize("command", ["lint", "repair"])
def test_json_reports_hold_what_the_schema_describes(run: Any, model: Path, command: str) -> None:
    report = run(command, "-t", "trt5.1", "m.onnx", "-f", "json").json
    jsonschema.validate(report, closed(SCHEMA))
    entry = report["models"][0]
    assert {finding["rule"] for finding in entry["findings"]} >= {"OFX010", "OFX302"}
    if command == "repair":
        assert entry["repair"]["status"] == "repaired"
        assert all(finding["fix"]["applied"] for finding in entry["findings"])
        assert entry["verify"]["passed"]
        assert entry["repair"]["fidelity"]["nodes_before"] == 8


def test_what_may_not_be_fixed_is_declined_with_the_reason_and_no_file(run: Any, model: Path) -> None:
    result = run("repair", "-t", "trt5.1", "m.onnx", "--skip", "OFX010")
    assert result.code == 1
    assert "left for trt5.1: blocked" in result.out
    assert "nothing written" in result.out
    assert not (model.parent / "m.fixed.onnx").exists()

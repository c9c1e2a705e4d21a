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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ignore", "OFX302"], "hidden by ignore: OFX302"),
        (
            ["--ignore", "OFX010,OFX1,OFX2,OFX3,OFX4"],
            "Verdict: likely (4 errors hidden by ignore: OFX010, OFX201, OFX302, OFX308).",
        ),
        (["--select", "OFX7"], "Verdict: likely (4 errors hidden by select: OFX010, OFX201, OFX302, OFX308)."),
    ],
)
def test_lint_says_what_a_selection_hides(run: Any, model: Path, words: list[str], said: str) -> None:
    result = run("lint", "-t", "trt5.1", "m.onnx", *words)
    assert result.code == int("blocked" in result.out)
    assert said in result.out
    assert "nothing known against it" not in result.out
    for form in ("concise", "grouped"):
        shown = run("lint", "-t", "trt5.1", "m.onnx", "-f", form, *words)
        assert "trt5.1: " in (shown.out if form == "grouped" else shown.err)
        assert "hidden by" in shown.out + shown.err
    report = run("lint", "-t", "trt5.1", "m.onnx", "-f", "json", *words).json
    jsonschema.validate(report, closed(SCHEMA))
    assert report["models"][0]["targets"][0]["hidden"]["OFX302"] > 0


def test_repair_does_not_send_a_model_on_whose_errors_a_selection_hides(
    run: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONNXFIX_IGNORE", "OFX2,OFX3")
    result = run("repair", "-t", "trt5.1", "m.onnx")
    assert result.code == 0
    assert "0 errors remaining (3 errors hidden by ignore: OFX201, OFX302, OFX308)" in result.out
    assert "trtexec" not in result.out
    monkeypatch.setenv("ONNXFIX_IGNORE", "ALL")
    result = run("repair", "-t", "trt5.1", "m.onnx")
    assert "nothing to repair: 4 errors hidden by ignore" in result.out
    assert "trtexec" not in result.out


def test_repair_says_which_option_leaves_an_error_out(run: Any, model: Path) -> None:
    assert "left out by --only" in run("repair", "-t", "trt5.1", "m.onnx", "--only", "OFX010", "--dry-run").out
    assert "left out by --skip" in run("repair", "-t", "trt5.1", "m.onnx", "--skip", "OFX010", "--dry-run").out


def test_a_fault_that_needs_consent_is_told_where_nothing_else_is_wrong(run: Any, folder: Path) -> None:
    model = Path(__file__).parents[2] / "fixtures" / "seedmodels" / "torch1.3.1_nearest_size_256x192_opset11.onnx"
    (folder / "m.onnx").write_bytes(model.read_bytes())
    result = run("repair", "-t", "trt7.1", "m.onnx")
    assert result.code == 0
    assert "declined  OFX701 resize_sizes_keep_batch" in result.out
    assert "nothing to repair: 2 warnings left; nothing written" in result.out
    assert (
        "Next: onnxfix repair m.onnx --target trt7.1 --allow OFX701, if you agree with it\nor:   where TensorRT 7.1" in result.out
    )
    assert "3 of 3 errors may be repairable, of which 1 with --allow OFX701." in run("lint", "-t", "trt5.1", "m.onnx").out


def test_one_sample_is_no_plural(run: Any, model: Path) -> None:
    assert ": 1 sample, seed 0" in run("verify", "m.onnx", "m.onnx", "--samples", "1").out


def test_the_matrix_names_the_oldest_release_that_is_likely(run: Any, model: Path) -> None:
    result = run("lint", "m.onnx")
    assert result.code == 0
    assert "oldest release likely to take it: trt7.0" in result.out
    assert run("targets", "--for", "m.onnx", "-f", "json").json["oldest_likely"] == "trt7.0"


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


def test_asking_the_parser_needs_the_file_as_it_is(run: Any, model: Path) -> None:
    result = run("lint", "-t", "rtx1.7", "--ask-parser", "--shape", "x:1x3x4x4", "m.onnx")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "leave --shape out" in result.err


def test_asking_for_a_release_that_is_not_installed_is_exit_4(run: Any, model: Path) -> None:
    result = run("lint", "-t", "trt5.1", "--ask-parser", "m.onnx")
    assert result.code == 4
    assert "no parser of trt5.1 is installed here" in result.err


def test_the_next_step_after_an_operator_that_nobody_knows_is_a_page_that_exists(run: Any, folder: Path) -> None:
    save(folder / "odd.onnx", '<ir_version: 3, opset_import: ["" : 9]> g (float[1,3] x) => (float[1,3] y) { y = NoSuchOp (x) }')
    result = run("repair", "odd.onnx", "-t", "rtx1.7")
    assert result.out.endswith("Next: onnxfix explain OFX101\n")
    assert run("explain", "OFX101").code == 0


def test_inputs_that_show_a_difference_are_kept(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from onnxfix.rewrites import prelu_to_relu

    def wrong(region: Any, facts: Any, target: Any) -> None:
        region.replace(region.layer("Relu", "out", [region.node.inputs[0]]))

    text = """<ir_version: 3, opset_import: ["" : 9]>
    g (float[1,3,4,4] x, float[3,1,1] k) => (float[1,3,4,4] y) <float[3,1,1] k = {0.1, 0.2, 0.3}> { [n] y = PRelu (x, k) }"""
    save(folder / "m.onnx", text)
    monkeypatch.setattr(prelu_to_relu, "rewrite", wrong)
    result = run("repair", "-t", "trt5.1", "m.onnx", "-o", "out.onnx")
    assert result.code in (1, 3)
    assert not (folder / "out.onnx").exists()
    assert "inputs that show it, for --inputs: out.failing.npz" in result.out
    assert np.load(folder / "out.failing.npz")["x"].shape == (1, 3, 4, 4)
    again = run("repair", "-t", "trt5.1", "m.onnx", "-o", "out.onnx", "--inputs", "out.failing.npz")
    assert again.code == result.code
    assert not (folder / "out.failing2.npz").exists()
    dry = run("repair", "-t", "trt5.1", "m.onnx", "--dry-run")
    assert "failing" not in dry.out

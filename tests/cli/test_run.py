"""`onnxfix run` and `repair --build`: all steps on a real export, as far as this machine goes."""

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest
from click.testing import CliRunner, Result

from onnxfix.cli.repair import command as repair_command
from onnxfix.cli.run import command
from onnxfix.errors import UsageError

SEEDS = Path(__file__).parents[2] / "fixtures" / "seedmodels"
DECODER = "torch1.7.1_decoder_nearest_dynamic_batch_opset11.onnx"
QUICK = ("--duration", "0.05", "--samples", "2")
needs_rtx = pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is None, reason="tensorrt_rtx is not installed: pip install 'onnxfix[tensorrt-rtx]'"
)


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for module in ("engines.tool", "engines.choice", "engines.settle", "engines.ask"):
        monkeypatch.setattr(f"onnxfix.{module}.gpu_present", lambda: False)
    monkeypatch.setattr("onnxfix.bench.measure._PATIENCE", 0)
    shutil.copy(SEEDS / DECODER, tmp_path / "m.onnx")
    return "m.onnx"


def run(*words: Any) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


@needs_rtx
def test_one_command_lints_repairs_proves_parses_builds_for_two_gpus_and_measures(seed: str, tmp_path: Path) -> None:
    done = run(seed, "-t", "rtx1.7", *QUICK, "--report", "r.json")
    assert done.exit_code == 0, done.output
    assert "lint    m.onnx for TensorRT-RTX 1.7" in done.output
    assert "parsed by TensorRT-RTX 1." in done.output
    assert "for compute capability 8.6, 12.0" in done.output
    assert "GPU times need an NVIDIA GPU" in done.output
    assert " on the CPU: " in done.output
    assert "GPU compute" not in done.output
    assert (tmp_path / "m.engine").is_file()
    report = json.loads((tmp_path / "r.json").read_text())
    (model,) = report["models"]
    assert (model["build"]["verdict"], model["build"]["sm"]) == ("built", ["86", "120"])
    assert report["bench"]["device"] == "cpu"
    assert [text.split(":")[0] for text in model["not_done"]] == ["gpu"]


@needs_rtx
def test_what_rtx_refuses_is_repaired_proven_and_built_and_an_original_that_nothing_runs_left_out(
    seed: str, tmp_path: Path
) -> None:
    shutil.copy(SEEDS / "torch1.7.1_adaptive_pool_14x14_aten_opset11.onnx", tmp_path / "p.onnx")
    done = run("p.onnx", "-t", "rtx1.7", *QUICK)
    assert done.exit_code == 0, done.output
    assert "blocked, 1 error" in done.output
    assert "written to p.fixed.onnx" in done.output
    assert "prove   2 samples, seed 0: " in done.output
    assert "built p.fixed.engine: " in done.output
    assert "left out p: onnxruntime does not run it" in done.output


@needs_rtx
def test_times_of_what_was_changed_by_consent_say_so(seed: str, tmp_path: Path) -> None:
    shutil.copy(SEEDS / "torch1.3.1_nearest_size_256x192_opset11.onnx", tmp_path / "n.onnx")
    done = run("n.onnx", "-t", "rtx1.7", "--allow", "OFX701", *QUICK)
    assert done.exit_code == 0, done.output
    assert "by your consent (OFX701) the repaired model computes something else than the original" in done.output
    assert "n.fixed against n: " in done.output


def test_a_release_that_is_not_here_ends_the_way_with_the_line_for_its_device(seed: str, tmp_path: Path) -> None:
    done = run(seed, "-t", "trt5.1", *QUICK, "--workspace", "64")
    assert done.exit_code == 0, done.output
    assert "lint    m.onnx for TensorRT 5.1, opset up to 9: blocked, 10 errors" in done.output
    assert "written to m.fixed.onnx" in done.output
    assert "prove   2 samples, seed 0: equal to the bit" in done.output
    assert "trtexec --onnx=m.fixed.onnx --batch=1 --workspace=64 --saveEngine=m.fixed.engine" in done.output
    assert "m.fixed against m: " in done.output
    assert (tmp_path / "m.fixed.bench.json").is_file()
    assert not list(tmp_path.glob("*.engine"))


def test_what_cannot_be_repaired_ends_the_way_with_exit_1(seed: str, tmp_path: Path) -> None:
    text = '<ir_version: 6, opset_import: ["" : 11]> g (float[1,3,8,8] x) => (float[1,3,8,8] y) { [d] y = Det (x) }'
    onnx.save(onnx.parser.parse_model(text.replace("Det", "Hardmax")), tmp_path / "bad.onnx")
    done = run("bad.onnx", "-t", "trt5.1", *QUICK, "-f", "json")
    assert done.exit_code == 1
    report = json.loads(done.output)
    assert report["models"][0]["repair"]["status"] == "declined"
    assert report["models"][0]["fault"]["whose"] == "parser"
    assert "bench" not in report
    assert [file.name for file in tmp_path.glob("bad*")] == ["bad.onnx"]


def test_what_waits_for_consent_is_the_exporters_fault(seed: str, tmp_path: Path) -> None:
    shutil.copy(SEEDS / "torch1.3.1_nearest_size_256x192_opset11.onnx", tmp_path / "n.onnx")
    done = run("n.onnx", "-t", "trt5.1", *QUICK)
    assert done.exit_code == 1
    assert "fault   at fault: exporter: it likely wrote something that was not meant (OFX701)" in done.output
    assert "--allow OFX701" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "no target"), (("-t", "trt5.1..trt7.1"), "one release at a time")],
)
def test_it_needs_one_release(seed: str, words: tuple[str, ...], said: str) -> None:
    done = run(seed, *words)
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)


def repair(*words: str) -> Result:
    return CliRunner().invoke(repair_command, list(words))


@needs_rtx
def test_repair_builds_what_it_wrote(seed: str, tmp_path: Path) -> None:
    done = repair(seed, "-t", "rtx1.7", "--build", "--sm", "86", "--shape", "image:1x3x64x48..2x3x64x48", "--report", "r.json")
    assert done.exit_code == 0, done.output
    assert "built m.engine: " in done.output
    built = json.loads((tmp_path / "r.json").read_text())["models"][0]["build"]
    assert (built["verdict"], built["sm"]) == ("built", ["86"])
    both = repair(seed, "-t", "trt5.1", "--build", "--sm", "86", "--shape", "image:2x3x64x48", "--samples", "2")
    assert both.exit_code == 0, both.output
    assert "built m.fixed.engine: " in both.output


def test_a_range_and_a_dry_run_do_not_go_with_each_other(seed: str) -> None:
    for words, said in ((["--shape", "image:1x3x64x48..2x3x64x48"], "add --build"), (["--build", "--diff"], "leave out --diff")):
        done = repair(seed, "-t", "trt5.1", *words)
        assert isinstance(done.exception, UsageError)
        assert said in str(done.exception)


def test_an_error_on_the_way_is_the_end_of_it(seed: str) -> None:
    done = run(seed, "-t", "trt5.1", "--shape", "nothing:1x2")
    assert done.exit_code == 2
    assert "end     stopped by the error above" in done.output
    assert "every step" not in done.output
    assert isinstance(run("-", "-t", "trt5.1").exception, UsageError)

"""`onnxfix bench`: on onnxruntime for real, and on a GPU that is a fake."""

import importlib.util
import json
import sys
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from onnxfix.bench import check, run
from onnxfix.bench.measure import Plan
from onnxfix.bench.raw import load
from onnxfix.cli.bench import command
from onnxfix.engines.options import BuildOptions
from onnxfix.engines.result import BuildResult, BuildVerdict, ParseResult, ParseVerdict
from onnxfix.errors import MissingToolError, UsageError
from onnxfix.report.bench_text import bench_entry, bench_lines, build_spread
from onnxfix.report.console import plain

from .fakes import FakeCuda, FakeNvml, FakeTensorRT

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[n, 4] x) => (float[n, 4] y) '
QUICK = Plan(rounds=2, duration=0.0, iterations=4, warm_up=0.0)
FAST = ["--rounds", "2", "--duration", "0.02", "--iterations", "6", "--warm-up", "0"]


@pytest.fixture
def save(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(body, name):
        onnx.save(onnx.parser.parse_model(HEAD + body), tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def pair(save):
    return save("{ y = Relu(x) }", "a.onnx"), save("{ t = Neg(x)  u = Neg(t)  y = Relu(u) }", "b.onnx")


def bench(*words):
    return CliRunner().invoke(command, [str(word) for word in words])


def test_models_are_compared_on_onnxruntime_under_a_cpu_heading(pair, tmp_path):
    done = bench(*pair, "--engine", "onnxruntime", *FAST, "--shape", "x:2x4")
    assert done.exit_code == 0, done.output
    first, *rest = done.output.splitlines()
    assert first.startswith("onnxruntime ")
    assert " on the CPU: " in first
    assert "these are times of the CPU and say nothing about a GPU" in rest
    assert "GPU compute" not in done.output
    assert "inputs x 2x4; " in rest[0]
    assert any(line.startswith("b against a: ") and "% host latency [" in line for line in rest)
    saved = load(tmp_path / "bench.json")
    assert [variant.name for variant in saved.variants] == ["a", "b"]
    assert all(len(one.samples["hostLatencyMs"]) >= 3 for variant in saved.variants for one in variant.rounds)


def test_the_report_is_made_anew_from_the_raw_samples(pair):
    before = bench(*pair, "--engine", "onnxruntime", *FAST, "--save", "raw.json").output
    again = bench("--from", "raw.json").output
    assert again == before.replace("raw samples: raw.json\n", "")
    report = json.loads(bench("--from", "raw.json", "-f", "json").output)
    (comparison,) = report["bench"]["comparisons"]
    assert (comparison["name"], comparison["against"]) == ("b", "a")
    assert set(report["bench"]["variants"][0]["times"]["hostLatencyMs"]["percentiles"]) == {"90", "95", "99"}


@pytest.mark.parametrize(
    "damage",
    [{"headline": None}, {"settings": [1]}, {"before": None}, {"left_out": None}, {"variants": []}, {"headline": "other"}],
    ids=lambda damage: str(damage),
)
def test_a_damaged_file_is_said_to_be_damaged(pair, tmp_path, damage):
    bench(*pair, "--engine", "onnxruntime", *FAST, "--save", "raw.json")
    path = tmp_path / "raw.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **damage}))
    with pytest.raises(UsageError, match="is damaged"):
        load(path)


def test_samples_that_are_empty_are_damage(pair, tmp_path):
    bench(*pair, "--engine", "onnxruntime", *FAST, "--save", "raw.json")
    path = tmp_path / "raw.json"
    data = json.loads(path.read_text())
    data["variants"][1]["rounds"][0]["samples"]["hostLatencyMs"] = []
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="is damaged: b lacks samples of hostLatencyMs"):
        load(path)


@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_a_picture_is_drawn(pair, tmp_path, kind):
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed: pip install 'onnxfix[plot]'")
    bench(*pair, "--engine", "onnxruntime", *FAST)
    for name in ("one", "two"):
        assert bench("--from", "bench.json", "--export", f"{name}.{kind}").exit_code == 0
    data = (tmp_path / f"one.{kind}").read_bytes()
    assert data == (tmp_path / f"two.{kind}").read_bytes()
    assert data.startswith({"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!doctype html>"}[kind])
    if kind != "png":
        assert b"host latency (ms)" in data
    if kind == "html":
        assert b"these are times of the CPU and say nothing about a GPU" in data
        assert data.count(b"<svg") == 1


def test_wrong_outputs_are_not_measured(pair, monkeypatch):
    from onnxfix.bench.onnxruntime import OnnxRuntimeRunner

    right = OnnxRuntimeRunner.outputs
    calls = []

    def outputs(self):
        calls.append(self)
        found = right(self)
        return {name: value + 1 for name, value in found.items()} if len(calls) == 2 else found

    monkeypatch.setattr(OnnxRuntimeRunner, "outputs", outputs)
    done = bench(*pair, "--engine", "onnxruntime", *FAST)
    assert done.exit_code == 1
    assert "left out b: output y is wrong" in done.output
    assert "against" not in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no model or engine given"),
        (["a.onnx", "--from", "bench.json"], "--from reports samples that were saved"),
        (["none.onnx", "--engine", "onnxruntime"], "none.onnx: no such file"),
        (["a.onnx", "--engine", "onnxruntime", "--save", "a.onnx"], "a.onnx: is an input"),
        (["a.onnx", "--engine", "onnxruntime", "--export", "a.pdf"], "no picture of format 'pdf'"),
        (["a.engine", "--engine", "onnxruntime"], "is an engine, which onnxruntime does not run"),
        (["a.onnx", "c.onnx", "--engine", "onnxruntime"], "has an input z, which a.onnx has not"),
        (["--from", "a.onnx"], "cannot be read"),
        (["--from", "other.json"], "holds no samples of `onnxfix bench`"),
    ],
)
def test_what_cannot_be_is_one_line(pair, tmp_path, words, said):
    (tmp_path / "a.engine").write_bytes(b"")
    (tmp_path / "other.json").write_text("{}")
    text = '<ir_version: 8, opset_import: ["" : 13]> g (float[4] z) => (float[4] y) { y = Relu(z) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "c.onnx")
    done = bench(*words)
    assert isinstance(done.exception, UsageError), done.output
    assert said in str(done.exception)


def test_without_a_gpu_gpu_times_are_exit_4_with_the_reason(pair, monkeypatch):
    monkeypatch.setattr("onnxfix.engines.tool.gpu_present", lambda: False)
    for words in ([], ["--engine", "tensorrt-rtx"]):
        done = bench(*pair, *words)
        assert isinstance(done.exception, MissingToolError)
        assert done.exception.exit_code == 4
        assert "need an NVIDIA GPU" in str(done.exception)
        assert "--engine onnxruntime" in str(done.exception)


def test_a_change_for_the_worse_can_fail_a_pipeline(pair, tmp_path):
    bench(*pair, "--engine", "onnxruntime", *FAST)
    saved = tmp_path / "bench.json"
    data = json.loads(saved.read_text())
    for variant, factor in zip(data["variants"], (1.0, 1.5), strict=True):
        for one in variant["rounds"]:
            one["samples"]["hostLatencyMs"] = [factor] * 5
    saved.write_text(json.dumps(data))
    assert bench("--from", "bench.json", "--fail-above", "60").exit_code == 0
    assert bench("--from", "bench.json", "--fail-above", "40").exit_code == 1
    assert "+50.0 %" in bench("--from", "bench.json").output


@pytest.fixture
def gpu(monkeypatch):
    """A GPU, a TensorRT and a CUDA that are fakes; engines give zeros, which Relu of negative inputs gives too."""
    fake = FakeCuda()
    trt = FakeTensorRT(fake.calls, layers=("relu",))

    def build(path, output, options, *, engine, timeout):
        parsed = ParseResult(ParseVerdict.PARSED, engine, "1.7")
        fake.profiles = options.profiles
        if "refused" in path.name:
            return BuildResult(BuildVerdict.FAILED, parsed, messages=("no kernel",))
        output.write_bytes(b"engine")
        return BuildResult(BuildVerdict.BUILT, parsed, output=output, size=6, seconds=0.5)

    monkeypatch.setattr("onnxfix.engines.tool.gpu_present", lambda: True)
    tool = SimpleNamespace(name="tensorrt-rtx", title="TensorRT-RTX", module="fake_trt", version=lambda: "1.7")
    monkeypatch.setattr("onnxfix.engines.choice.choose", lambda name: tool)
    monkeypatch.setattr("onnxfix.engines.build", build, raising=False)
    monkeypatch.setattr("onnxfix.bench.cuda.runtime", lambda: fake)
    monkeypatch.setattr("onnxfix.bench.gpu_state.library", lambda: FakeNvml((1500, 1300)))
    monkeypatch.setattr("onnxfix.bench.run.make_feeds", lambda model, reference, options: {"x": -np.ones((2, 4), np.float32)})
    monkeypatch.setitem(sys.modules, "fake_trt", trt)
    return fake


def test_engines_are_built_checked_and_measured_on_the_gpu(save, gpu):
    found = run.bench(
        [save("{ y = Relu(x) }", "a.onnx"), save("{ y = Neg(x) }", "wrong.onnx"), save("{ y = Relu(x) }", "refused.onnx")],
        run.BenchOptions(plan=QUICK, repeat=2, layers=True),
    )
    assert found.left_out["wrong"].startswith("output y is wrong")
    assert "at fault: builder: an engine in float32" in found.left_out["wrong"]
    assert found.left_out["refused"] == "TensorRT-RTX does not build it (failed): no kernel"
    (variant,) = found.variants
    assert (variant.name, variant.bytes, variant.build_seconds) == ("a", (6, 6), (0.5, 0.5))
    assert [one.build for one in variant.rounds] == [0, 1]
    assert build_spread(variant, "computeMs") == 0.0
    text = plain(bench_lines(found))
    assert "TensorRT-RTX 1.7 on the GPU: NVIDIA A10, sm 86, driver 580.65, cuda 13.0" in text
    assert "throttled: the SM clock moved from 1500 to 1300 MHz" in text
    assert "GPU compute ms (median [95 % CI])" in text
    assert "slowest layers of a" in text
    assert "CUDA graph on, data transfers on" in text
    assert gpu.memory == {}
    assert gpu.profiles["x"].min == gpu.profiles["x"].max == (2, 4)
    assert bench_entry(found)["throttled"]


def test_an_engine_needs_the_record_of_its_model(save, gpu, tmp_path):
    engine = tmp_path / "a.engine"
    engine.write_bytes(b"engine")
    with pytest.raises(UsageError, match="no record of how it was made is beside it"):
        run.bench([engine], run.BenchOptions(plan=QUICK))
    model = save("{ y = Relu(x) }", "a.onnx")
    profiles = {"x": {"min": [1, 4], "opt": [2, 4], "max": [4, 4]}}
    record = {"model": {"path": "elsewhere/a.onnx", "sha256": "0"}, "options": {"precision": ["fp16"], "profiles": profiles}}
    (tmp_path / "a.engine.json").write_text(json.dumps(record))
    with pytest.raises(UsageError, match="was built from another"):
        run.bench([engine], run.BenchOptions(plan=QUICK))
    from onnxfix.model.load import load_model

    record["model"]["sha256"] = load_model(model).sha256
    (tmp_path / "a.engine.json").write_text(json.dumps(record))
    found = run.bench([engine], run.BenchOptions(plan=QUICK, build=BuildOptions()))
    assert "allowed for fp16" in found.variants[0].check


def test_the_tolerance_is_that_of_the_coarsest_type():
    wanted = {"y": np.array([1.0, 100.0], np.float32)}
    off = {"y": np.array([1.5, 100.0], np.float32)}
    assert check.coarsest(()) == "fp32"
    assert check.coarsest({"fp16", "bf16"}) == "bf16"
    assert check.check_outputs(wanted, off, {"fp16"})[0]
    assert not check.check_outputs(wanted, off, ())[0]
    assert check.check_outputs(wanted, {}, ()) == (False, "output y is missing")
    assert not check.check_outputs(wanted, {"y": np.array([np.nan, 100.0], np.float32)}, {"int8"})[0]

"""What a build may be told: what reaches the library, what is refused, and what is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnx.numpy_helper
import pytest

from onnxfix import engines
from onnxfix.engines import _worker
from onnxfix.engines.half import HalfError
from onnxfix.engines.tool import Tool
from onnxfix.errors import MissingToolError, UsageError

from .conftest import needs_rtx

MODEL = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 4] x) => (float[1, 4] y) { y = Relu(x) }'
DENSE = '<ir_version: 8, opset_import: ["" : 13]> g (float[n, 64] x) => (float[n, 64] y) { t = MatMul(x, w)  y = Relu(t) }'


def options(**given):
    return engines.BuildOptions(**given)


def record(folder, name="m.engine"):
    return json.loads((folder / f"{name}.json").read_text())


@pytest.mark.usefixtures("tensorrt")
def test_flags_level_and_timing_cache_reach_the_builder(save, tmp_path):
    cache = tmp_path / "cache"
    given = options(precision=frozenset({"fp16", "tf32"}), strip=True, opt_level=5, timing_cache=cache, version_compatible=True)
    assert engines.build(save(MODEL), tmp_path / "m.engine", given).verdict == "built"
    written = record(tmp_path)
    assert written["settings"]["flags"] == ["FP16", "TF32", "REFIT", "STRIP_PLAN", "VERSION_COMPATIBLE"]
    assert written["settings"]["builder_optimization_level"] == 5
    assert written["options"]["precision"] == ["fp16", "tf32"]
    first = cache.read_bytes()
    engines.build(save(MODEL), tmp_path / "m.engine", options(timing_cache=cache))
    assert len(cache.read_bytes()) > len(first) > 0


@pytest.mark.usefixtures("tensorrt")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"precision": frozenset({"fp9"})}, "unknown precision 'fp9'"),
        ({"precision": frozenset({"bf16"})}, r"--bf16: TensorRT 10\.9\.0\.34 has no such option"),
        ({"precision": frozenset({"int8"})}, r"--int8: the model has no QuantizeLinear .* python -m modelopt\.onnx\.quantization"),
        ({"precision": frozenset({"fp16"}), "strongly_typed": True}, "--fp16 and --strongly-typed exclude each other"),
        ({"hardware_compatible": "all"}, "unknown hardware level 'all'"),
    ],
)
def test_options_that_cannot_be_are_refused_with_the_way_out(save, tmp_path, given, said):
    with pytest.raises(UsageError, match=said):
        engines.build(save(MODEL), tmp_path / "m.engine", options(**given))
    assert not (tmp_path / "m.engine").exists()


@pytest.mark.usefixtures("tensorrt")
def test_a_plugin_library_that_does_not_load_is_a_missing_tool(save, tmp_path):
    good, broken = tmp_path / "good.so", tmp_path / "broken.so"
    good.write_bytes(b"")
    broken.write_bytes(b"")
    assert engines.build(save(MODEL), tmp_path / "m.engine", options(plugins=(good,))).verdict == "built"
    with pytest.raises(MissingToolError, match=r"--plugin-library: .*broken\.so: no library of plugins"):
        engines.build(save(MODEL), tmp_path / "m.engine", options(plugins=(broken,)))
    with pytest.raises(MissingToolError, match=r"broken\.so"):
        engines.parse(save(MODEL), plugins=[broken])
    with pytest.raises(UsageError, match=r"none\.so: no such file"):
        engines.parse(save(MODEL), plugins=[tmp_path / "none.so"])


@pytest.mark.usefixtures("tensorrt")
def test_from_tensorrt_11_on_the_flag_of_a_type_converts_the_model(save, tmp_path, monkeypatch):
    monkeypatch.setattr(Tool, "version", lambda self: "11.0.1")
    result = engines.build(save(MODEL), tmp_path / "m.engine", options(precision=frozenset({"fp16"})))
    assert (tmp_path / "m.engine").read_bytes().startswith(b"engine of float16")
    assert "the model was converted to float16" in result.notes[0]
    with pytest.raises(UsageError, match=r"--bf16: .* onnxfix converts to float16 only"):
        engines.build(save(MODEL), tmp_path / "m.engine", options(precision=frozenset({"bf16"})))


@pytest.mark.usefixtures("tensorrt")
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_build_leaves_neither_engine_nor_temporary_files_nor_a_process(save, tmp_path, monkeypatch, stop):
    temporary, pid = tmp_path / "tmp", tmp_path / "tmp" / "pid"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("STAND_IN_PID", str(pid))
    path = save(MODEL, "build-hang.onnx")
    code = (
        "import sys; from onnxfix.engines import choice, ask, settle\n"
        "for module in (choice, ask, settle): module.gpu_present = lambda: True\n"
        "ask.build(sys.argv[1], sys.argv[2])"
    )
    child = subprocess.Popen([sys.executable, "-c", code, path, tmp_path / "m.engine"], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    worker = int(pid.read_text())
    child.send_signal(stop)
    child.wait(30)
    while Path(f"/proc/{worker}").exists() and "State:\tZ" not in Path(f"/proc/{worker}/status").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["build-hang.onnx", "tmp"]
    assert [file.name for file in temporary.iterdir()] == ["pid"]


def test_the_monitor_tells_the_phase_and_how_far_it_is():
    said = []
    monitor = _worker._monitor(SimpleNamespace(IProgressMonitor=type("Base", (), {})), said.append)
    monitor.phase_start("Building engine", None, 6)
    assert monitor.step_complete("Building engine", 0)
    monitor.told = 0.0
    monitor.step_complete("Building engine", 1)
    monitor.phase_finish("Building engine")
    assert said == [
        {"step": "progress", "phase": "Building engine", "done": 0, "of": 6},
        {"step": "progress", "phase": "Building engine", "done": 2, "of": 6},
    ]
    assert _worker._monitor(SimpleNamespace(), said.append) is None


@pytest.fixture
def dense(tmp_path):
    def write(scale=1.0):
        weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) * np.float32(scale)
        model = onnx.parser.parse_model(DENSE)
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
        onnx.save(model, tmp_path / "m.onnx")
        return tmp_path / "m.onnx"

    return write


PROFILE = {"x": engines.ShapeRange((1, 64), (2, 64), (8, 64))}


@needs_rtx
def test_fp16_for_rtx_converts_the_model_and_proves_it(dense, tmp_path):
    path = dense()
    plain = engines.build(path, tmp_path / "a.engine", options(sm=("86",), profiles=PROFILE), engine="tensorrt-rtx")
    half = engines.build(
        path,
        tmp_path / "b.engine",
        options(sm=("86",), profiles=PROFILE, precision=frozenset({"fp16"})),
        engine="tensorrt-rtx",
    )
    assert (plain.verdict, half.verdict) == ("built", "built")
    assert {tensor["dtype"] for layer in plain.network for tensor in layer["outputs"]} == {"FLOAT"}
    assert "HALF" in {tensor["dtype"] for layer in half.network for tensor in layer["outputs"]}
    assert [tensor.dtype for tensor in (*half.parse.inputs, *half.parse.outputs)] == ["FLOAT", "FLOAT"]
    assert record(tmp_path, "b.engine")["model"]["sha256"] == record(tmp_path, "a.engine")["model"]["sha256"]


@needs_rtx
def test_a_model_that_float16_cannot_hold_is_not_built(dense, tmp_path):
    with pytest.raises(HalfError, match="in float16 output y differs") as caught:
        engines.build(
            dense(scale=1e5),
            tmp_path / "m.engine",
            options(sm=("86",), profiles=PROFILE, precision=frozenset({"fp16"})),
            engine="tensorrt-rtx",
        )
    assert caught.value.exit_code == 3
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]


@needs_rtx
def test_what_rtx_does_not_have_is_said(save, tmp_path):
    path, out = save(MODEL), tmp_path / "m.engine"
    with pytest.raises(UsageError, match="--sm 86,89,120 makes one engine for several GPUs"):
        engines.build(path, out, options(hardware_compatible="ampere+"), engine="tensorrt-rtx")
    given = options(sm=("86",), timing_cache=tmp_path / "cache", strongly_typed=True)
    result = engines.build(path, out, given, engine="tensorrt-rtx")
    assert [note.split()[0] for note in result.notes] == ["--timing-cache", "--strongly-typed"]
    assert not (tmp_path / "cache").exists()


@needs_rtx
def test_the_record_beside_an_engine_says_how_it_was_made(save, tmp_path):
    path = save(MODEL)
    result = engines.build(path, tmp_path / "m.engine", options(sm=("86", "120"), refit=True, opt_level=1), engine="tensorrt-rtx")
    written = record(tmp_path)
    assert written["schema"] == "onnxfix-engine/1"
    assert written["engine"] == {"file": "m.engine", "bytes": result.size, "sha256": result.sha256}
    assert written["built_for"] == ["86", "120"]
    assert "REFIT" in written["settings"]["flags"]
    assert written["settings"]["builder_optimization_level"] == 1
    assert [layer["type"] for layer in written["network_layers"]] == ["ACTIVATION"]
    if written["engine_layers"] is None:
        assert "GPU" in written["no_engine_layers"]
    assert os.path.getsize(tmp_path / "m.engine") == result.size

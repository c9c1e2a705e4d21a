"""TensorRT proper, against a stand-in for its module; nothing here was run on a GPU."""

import os

import numpy as np
import onnx
import onnx.numpy_helper
import pytest

from onnxfix import engines
from onnxfix.__main__ import main
from onnxfix.errors import MissingToolError, UsageError

pytestmark = pytest.mark.usefixtures("tensorrt")
MODEL = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 4] x) => (float[1, 4] y) { y = Relu(x) }'


def test_tensorrt_is_preferred_where_a_gpu_is(save):
    result = engines.parse(save(MODEL))
    assert (result.verdict, result.engine, result.version) == ("parsed", "tensorrt", "10.9.0.34")
    assert result.layers == 3


def test_an_engine_is_built_and_the_workspace_limit_reaches_the_builder(save, tmp_path):
    result = engines.build(save(MODEL), tmp_path / "m.engine", options=engines.BuildOptions(workspace=64))
    assert result.verdict == "built"
    assert (tmp_path / "m.engine").read_bytes() == f"engine of m with {64 << 20}".encode()
    assert result.size == (tmp_path / "m.engine").stat().st_size


def test_a_refusal_of_an_old_parser_still_names_the_node(save):
    result = engines.parse(save(MODEL, "refused.onnx"))
    (error,) = result.errors
    assert result.verdict == "refused"
    assert (error.node, error.name, error.op_type, error.code) == (2, "", "", "UNSUPPORTED_NODE")
    assert (error.message, error.function) == ("no importer", "parseGraph")


@pytest.mark.parametrize("name", ["parse-crash", "build-crash"])
def test_a_crash_of_the_library_is_a_verdict_and_leaves_the_old_engine(save, tmp_path, name):
    old = tmp_path / "m.engine"
    old.write_bytes(b"old")
    result = engines.build(save(MODEL, f"{name}.onnx"), old)
    assert result.verdict == "crashed"
    assert result.parse.verdict == ("crashed" if name == "parse-crash" else "parsed")
    said = result.parse.messages if name == "parse-crash" else result.messages
    assert said[0] == "the process died of SIGABRT"
    if name == "parse-crash":
        assert "double free or corruption" in said
    assert old.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"{name}.onnx", "m.engine"])


def test_a_parser_that_hangs_is_stopped(save):
    result = engines.parse(save(MODEL, "hang.onnx"), timeout=3)
    assert result.verdict == "timeout"
    assert result.messages == ("stopped after 3 seconds",)


def test_a_builder_that_fails_gives_its_words(save, tmp_path):
    result = engines.build(save(MODEL, "no-kernel.onnx"), tmp_path / "m.engine")
    assert result.verdict == "failed"
    assert any("no implementation for node y" in message for message in result.messages)
    assert not (tmp_path / "m.engine").exists()


def test_open_sizes_ask_for_a_profile(save, tmp_path):
    path = save(MODEL, "dynamic.onnx")
    with pytest.raises(UsageError, match="--min-shape x:Nx4"):
        engines.build(path, tmp_path / "m.engine")
    shapes = engines.ShapeRange((1, 4), (2, 4), (8, 4))
    assert engines.build(path, tmp_path / "m.engine", engines.BuildOptions(profiles={"x": shapes}, workspace=1)).verdict == "built"


def test_architectures_are_for_tensorrt_rtx(save, tmp_path):
    with pytest.raises(UsageError, match="--sm is for TensorRT-RTX"):
        engines.build(save(MODEL), tmp_path / "m.engine", engines.BuildOptions(sm=("86",)), engine="tensorrt")


def test_a_driver_that_does_not_work_is_a_missing_tool(save, tensorrt):
    tensorrt.setenv("STAND_IN_BROKEN_DRIVER", "1")
    with pytest.raises(MissingToolError, match=r"TensorRT cannot be used here: .*nullptr") as caught:
        engines.parse(save(MODEL), "tensorrt")
    assert caught.value.exit_code == 4


def test_an_engine_does_not_replace_a_device_or_pipe(save, tmp_path):
    path, pipe = save(MODEL), tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="device, pipe or socket"):
        engines.build(path, pipe)
    assert pipe.is_fifo()


def test_an_engine_does_not_replace_the_external_data(save, tmp_path):
    path = save(MODEL)
    proto = onnx.load(path)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(4, np.float32), "w"))
    onnx.save(proto, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    with pytest.raises(UsageError, match="external data"):
        engines.build(path, tmp_path / "weights.bin")
    assert (tmp_path / "weights.bin").read_bytes() == bytes(16)


@pytest.mark.parametrize(
    ("name", "said"), [("build-crash", "the process died of SIGABRT"), ("build-hang", "stopped after 3 seconds")]
)
def test_the_command_tells_of_a_crash_or_a_hang_in_one_line_and_exits_2(save, tmp_path, name, said, capsys, tensorrt):
    tensorrt.setenv("STAND_IN_PID", str(tmp_path / "pid"))
    path = save(MODEL, f"{name}.onnx")
    code = main(["build", str(path), "--engine", "tensorrt", "--timeout", "3", "-o", str(tmp_path / "m.engine")])
    printed = capsys.readouterr()
    assert code == 2
    assert "the builder " in printed.out
    assert "at fault: builder: " in printed.out
    assert f"error: {path}: {said}" in printed.err
    assert (tmp_path / "m.engine.log").exists()
    assert not (tmp_path / "m.engine").exists()

"""The table of other tools beside ours: what each gives is linted and compared, and a tool that fails or dies costs one row."""

import os
import time
from pathlib import Path

import onnx
import pytest

table = pytest.importorskip("benchmarks.peer_table", reason="benchmarks/ does not come with the source archive")
processes = pytest.importorskip("benchmarks.processes")

TEXT = """<ir_version: 8, opset_import: ["" : 11]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
<float one = {1}, float two = {2}> { t = Add (one, two)  y = Clip (x, one, t) }"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return path


def give_up() -> None:
    os._exit(3)


def test_each_tools_model_is_linted_for_every_release(model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    here = Path("m.onnx")
    options = table.RepairOptions(samples=1)
    targets = ("trt5.1", "trt7.0", "trt8.2")
    rows = [table.row_of(here, tool, targets, options) for tool in ("onnxruntime", "onnxfix")]
    assert rows == [table.Row("m.onnx", "onnxruntime", ("trt7.0", "trt8.2")), table.Row("m.onnx", "onnxfix", targets)]
    assert table.taken_by(table.load_model(here), targets) == ("trt8.2",)
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
    lines = table.table([table.Row("m.onnx", table.AS_IS, ("trt8.2",)), *rows], (table.AS_IS, "onnxruntime", "onnxfix"), targets)
    assert lines[0] == "| of 1 models | as it is | onnxruntime | onnxfix |"
    assert lines[2:] == [
        "| trt5.1 | 0 | 0 | 1 |",
        "| trt7.0 | 0 | 1 | 1 |",
        "| trt8.2 | 1 | 1 | 1 |",
        "| wrong | 0 | 0 | 0 |",
        "| other outputs, allowed | 0 | 0 | 0 |",
        "| failed | 0 | 0 | 0 |",
    ]


def test_a_wrong_answer_and_a_failure_are_told_from_each_other(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(given: onnx.ModelProto) -> onnx.ModelProto:
        given.graph.node[1].op_type = "Max"
        return given

    def broken(given: onnx.ModelProto) -> onnx.ModelProto:
        given.graph.node[1].input[0] = "nowhere"
        return given

    def fails(given: onnx.ModelProto) -> onnx.ModelProto:
        raise RuntimeError("cannot\ndo it")

    monkeypatch.setattr(table, "TOOLS", {"wrong": wrong, "broken": broken, "fails": fails})
    rows = {tool: table.row_of(model, tool, ("trt8.2",), table.RepairOptions()) for tool in table.TOOLS}
    assert rows["wrong"].wrong.startswith("y: differs by")
    assert rows["broken"].wrong.startswith("does not run: ")
    assert rows["fails"] == table.Row("m.onnx", "fails", ("trt8.2",), failed="RuntimeError: cannot")


def test_a_process_that_dies_or_hangs_ends_one_call() -> None:
    process = processes.Process(5.0)
    try:
        with pytest.raises(processes.EndedError, match="died"):
            process.call(give_up)
        assert process.call(abs, -2) == 2
        process.timeout = 0.2
        with pytest.raises(processes.EndedError, match=r"more than 0\.2 s"):
            process.call(time.sleep, 60)
        process.timeout = 20.0
        with pytest.raises(TypeError):
            process.call(abs, "x")
    finally:
        process.close()

"""Bad input: one clear line, the right exit code, no traceback, and the input as it was."""

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

from .conftest import CLEAN, CYCLE, FakeApi, digest, save
from .test_lint import POINTER
from .test_repair import with_external_data

UNSHAPED = '<ir_version: 7, opset_import: ["" : 9]> g (float[1,3,4,4] x) => (y) { [act] y = Relu (x) }'
CUSTOM = """<ir_version: 7, opset_import: ["" : 9, "com.acme" : 1]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
{ [own] y = com.acme.Frobnicate (x) }"""
NEWER = '<ir_version: 7, opset_import: ["" : 999]> g (float[1,3,4,4] x) => (float[1,3,4,4] y) { [act] y = Relu (x) }'
TWICE = '<ir_version: 7, opset_import: ["" : 9]> g (float[4] x) => (float[4] y) { y = Relu (x) y = Abs (x) }'


def unreadable(folder: Path) -> dict[str, str]:
    """Files that are no models, with words that the error must have."""
    whole = save(folder / "whole.onnx")
    contents = {
        "empty.onnx": (b"", "is empty"),
        "text.onnx": (b"this is no model at all\n" * 5, "not an ONNX model"),
        "cut.onnx": (whole[:-7], "not an ONNX model, or cut short"),
        "pointer.onnx": (POINTER, "git lfs pull"),
        "zip.onnx": (b"PK\x03\x04" + bytes(100), "not an ONNX model"),
        "tensor.onnx": (onnx.numpy_helper.from_array(np.zeros(3), "t").SerializeToString(), "not an ONNX model"),
    }
    for name, (data, _) in contents.items():
        (folder / name).write_bytes(data)
    save(folder / "cycle.onnx", CYCLE)
    save(folder / "twice.onnx", TWICE)
    save(folder / "newer.onnx", NEWER)
    words = {name: text for name, (_, text) in contents.items()}
    return words | {
        "missing.onnx": "no such file",
        "cycle.onnx": "cyclic",
        "twice.onnx": "made twice",
        "newer.onnx": "opset 999 is newer than",
    }


NAMES = [
    "empty.onnx",
    "text.onnx",
    "cut.onnx",
    "pointer.onnx",
    "zip.onnx",
    "tensor.onnx",
    "cycle.onnx",
    "twice.onnx",
    "missing.onnx",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["lint", "repair", "targets"])
def test_a_file_that_is_no_model(run: Any, folder: Path, command: str, name: str) -> None:
    words = unreadable(folder)
    before = {path.name: digest(path) for path in folder.glob("*.onnx")}
    arguments = ["targets", "--for", name] if command == "targets" else [command, "-t", "trt5.1", name]
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert name in result.err
    assert words[name] in result.err
    assert {path.name: digest(path) for path in folder.glob("*.onnx")} == before


def test_the_path_of_a_folder_without_models(run: Any, folder: Path) -> None:
    result = run("repair", "-t", "trt5.1", ".")
    assert (result.code, result.err) == (2, "error: .: the folder holds no .onnx file\n")


@pytest.mark.parametrize("command", ["lint", "repair"])
def test_unknown_target(run: Any, folder: Path, command: str) -> None:
    save(folder / "m.onnx")
    result = run(command, "-t", "trt51", "m.onnx")
    assert result.code == 2
    assert result.err.startswith("error: unknown target 'trt51'; did you mean 'trt5.1'?")
    assert result.err.count("\n") == 1


def test_lint_needs_no_external_data_and_repair_names_what_is_missing(run: Any, folder: Path) -> None:
    with_external_data(folder / "m.onnx")
    (folder / "weights.bin").unlink()
    before = digest(folder / "m.onnx")
    assert run("lint", "-t", "trt7.1", "m.onnx").code in (0, 1)
    result = run("repair", "-t", "trt5.1", "m.onnx")
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert "weights.bin" in result.err
    assert "external data is missing" in result.err
    assert [path.name for path in folder.glob("*.onnx")] == ["m.onnx"]
    assert digest(folder / "m.onnx") == before


@pytest.mark.parametrize(("text", "lint_code", "rule"), [(UNSHAPED, 1, "OFX205"), (CUSTOM, 1, "OFX")], ids=["unshaped", "custom"])
@pytest.mark.parametrize("target", ["trt5.1", "trt7.1", "rtx1.7"])
def test_a_strange_model_gets_findings_and_no_crash(
    run: Any, folder: Path, text: str, lint_code: int, rule: str, target: str
) -> None:
    save(folder / "m.onnx", text)
    before = digest(folder / "m.onnx")
    result = run("lint", "-t", target, "m.onnx")
    assert result.err == ""
    assert "Verdict: " in result.out
    assert result.code == lint_code
    assert rule in result.out
    repaired = run("repair", "-t", target, "m.onnx", "-o", "out.onnx")
    assert repaired.code in (0, 1, 3)
    assert "internal error" not in repaired.err
    assert (folder / "out.onnx").exists() == (repaired.code == 0)
    assert digest(folder / "m.onnx") == before


def test_unwritable_outputs_leave_everything_as_it_was(run: Any, folder: Path) -> None:
    save(folder / "m.onnx")
    (folder / "file").write_text("kept")
    before = digest(folder / "m.onnx")
    for output in ("file/out.onnx", "nowhere/deep/out.onnx", "m.onnx", "./m.onnx"):
        result = run("repair", "-t", "trt5.1", "m.onnx", "-o", output)
        assert result.code == 2, output
        assert result.err.startswith("error: ")
        assert result.err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == [".git", "file", "m.onnx"]
    assert digest(folder / "m.onnx") == before


@pytest.mark.parametrize(
    "arguments", [("repair", "-o"), ("lint", "-o"), ("repair", "-o", "out.onnx", "--report")], ids=["repair", "lint", "report"]
)
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "loop", "long name"])
def test_an_output_that_is_no_file_is_refused_before_any_work(
    run: Any, folder: Path, fake_api: FakeApi, arguments: tuple[str, ...], kind: str
) -> None:
    save(folder / "m.onnx")
    os.mkfifo(folder / "pipe")
    (folder / "link to a pipe").symlink_to("pipe")
    (folder / "loop").symlink_to("loop")
    command, *options = arguments
    result = run(command, "-t", "trt5.1", "m.onnx", *options, kind if kind != "long name" else 300 * "n")
    assert result.code == 2
    assert "cannot be written" in result.err
    assert result.err.count("\n") == 1
    assert not fake_api.calls
    assert (folder / "pipe").is_fifo()
    assert sorted(path.name for path in folder.iterdir()) == [".git", "link to a pipe", "loop", "m.onnx", "pipe"]


@pytest.mark.parametrize("output", ["./e.onnx", "weights.bin", "onnxfix.toml"])
def test_a_report_of_lint_does_not_replace_what_lint_reads(run: Any, folder: Path, fake_api: FakeApi, output: str) -> None:
    with_external_data(folder / "e.onnx")
    (folder / "onnxfix.toml").write_text("")
    before = digest(folder / output)
    result = run("lint", "-t", "trt5.1", "e.onnx", "-o", output)
    assert result.code == 2
    assert result.err == f"error: {output}: is a file that this run reads or writes itself; write the report to another\n"
    assert digest(folder / output) == before
    assert not fake_api.calls


@pytest.mark.parametrize(
    "arguments",
    [
        ("repair", "-t", "trt5.1", "", "--in-place"),
        ("repair", "-t", "trt5.1", "m.onnx", "-o", ""),
        ("repair", "-t", "trt5.1", "m.onnx", "--report", ""),
        ("repair", "-t", "trt5.1", "m.onnx", "--inputs", ""),
        ("lint", ""),
        ("lint", "m.onnx", ""),
        ("lint", "m.onnx", "-o", ""),
        ("targets", "--for", ""),
        ("verify", "m.onnx", ""),
        ("build", ""),
        ("build", "m.onnx", "-o", ""),
    ],
)
def test_an_empty_path_is_not_the_current_folder(run: Any, folder: Path, fake_api: FakeApi, arguments: tuple[str, ...]) -> None:
    save(folder / "m.onnx")
    result = run(*arguments)
    assert result.code == 2
    assert "empty path" in result.err
    assert result.err.count("\n") == 1
    assert not fake_api.calls
    assert sorted(path.name for path in folder.iterdir()) == [".git", "m.onnx"]


@pytest.mark.parametrize("command", ["lint", "repair"])
def test_a_name_that_is_too_long_is_an_error_of_its_own_file(run: Any, folder: Path, fake_api: FakeApi, command: str) -> None:
    save(folder / "m.onnx")
    result = run(command, "-t", "trt5.1", 300 * "n", "m.onnx")
    assert result.code == 2
    assert result.err == f"error: {300 * 'n'}: cannot be read: File name too long\n"
    assert "m.onnx" in result.out


@pytest.mark.parametrize("location", [300 * "n", "zero\0byte"])
def test_external_data_whose_name_no_file_can_have(run: Any, folder: Path, location: str) -> None:
    with_external_data(folder / "e.onnx")
    proto = onnx.load(folder / "e.onnx", load_external_data=False)
    proto.graph.initializer[0].external_data[0].value = location
    (folder / "e.onnx").write_bytes(proto.SerializeToString())
    assert run("lint", "-t", "trt5.1", "e.onnx").code in (0, 1)
    result = run("repair", "-t", "trt5.1", "e.onnx", "--report", "report.json")
    assert result.code == 2
    assert "external data" in result.err
    assert "internal error" not in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("name", ["one.npy", "text.npz", "broken.npz", "text"])
def test_inputs_that_are_no_named_arrays(run: Any, folder: Path, name: str) -> None:
    save(folder / "m.onnx")
    np.save(folder / "one.npy", np.zeros(3))
    with zipfile.ZipFile(folder / "text.npz", "w") as archive:
        archive.writestr("x", "no array")
    (folder / "broken.npz").write_bytes((folder / "text.npz").read_bytes()[:40])
    (folder / "text").write_text("no array")
    result = run("repair", "-t", "trt5.1", "m.onnx", "--inputs", name)
    assert result.code == 2
    assert result.err.startswith(f"error: {name}: ")
    assert "internal error" not in result.err


def test_a_file_whose_name_has_control_characters_is_named_once(run: Any, folder: Path) -> None:
    assert run("lint", "-t", "trt5.1", "a\nb.onnx").err == "error: a\\nb.onnx: no such file\n"


def test_a_name_of_full_length_can_be_written(run: Any, folder: Path, fake_api: FakeApi) -> None:
    save(folder / "m.onnx")
    name = 255 * "n"
    assert run("repair", "-t", "trt5.1", "m.onnx", "-o", name).code == 0
    assert (folder / name).is_file()


def test_names_with_control_characters_stay_on_their_line(run: Any, folder: Path) -> None:
    proto = onnx.parser.parse_model(CLEAN)
    proto.graph.node[0].name = "a\x1b[2J\nerror: forged"
    proto.graph.node[0].op_type = "Rel\x07u"
    (folder / "m.onnx").write_bytes(proto.SerializeToString())
    for command in (["lint"], ["repair", "-o", "out.onnx"]):
        result = run(*command, "-t", "trt5.1", "m.onnx")
        assert not any(ch in result.out + result.err for ch in "\x1b\x07")
        assert "\nerror: forged" not in result.out

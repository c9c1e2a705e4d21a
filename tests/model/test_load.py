"""Opening by reference and writing atomically: bad files give one line, and a failed write leaves no trace."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxfix.errors import ModelError, UsageError
from onnxfix.model import load
from onnxfix.model.load import (
    PointerFileError,
    check_external,
    copy_external,
    external_file,
    external_locations,
    load_model,
    serialize,
    without_weights,
    write_bytes,
)

TEXT = '<ir_version: 7, opset_import: ["" : 11]> g (float[1,3] x) => (float[1,3] y) <float[3] w = {1, 2, 3}> { y = Mul (x, w) }'


def model(location: str | None = None) -> onnx.ModelProto:
    proto: onnx.ModelProto = onnx.parser.parse_model(TEXT)
    if location is not None:
        tensor = proto.graph.initializer[0]
        del tensor.float_data[:]
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
    return proto


def save(path: Path, proto: onnx.ModelProto | None = None) -> Path:
    path.write_bytes((proto or model()).SerializeToString())
    return path


def complaint(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        load_model(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text


class TestReading:
    def test_the_bytes_and_their_digest_come_with_the_model(self, tmp_path: Path) -> None:
        path = save(tmp_path / "m.onnx")
        loaded = load_model(path)
        assert loaded.data == path.read_bytes()
        assert len(loaded.sha256) == 64
        assert loaded.base_dir == tmp_path
        assert loaded.proto == model()

    def test_external_data_is_not_touched(self, tmp_path: Path) -> None:
        assert external_locations(load_model(save(tmp_path / "m.onnx", model("absent.bin"))).proto) == ["absent.bin"]

    def test_a_missing_file_a_folder_and_an_empty_file(self, tmp_path: Path) -> None:
        assert "no such file" in complaint(tmp_path / "none.onnx")
        (tmp_path / "folder").mkdir()
        assert "is a folder" in complaint(tmp_path / "folder")
        (tmp_path / "empty.onnx").touch()
        assert "the file is empty" in complaint(tmp_path / "empty.onnx")

    def test_a_git_lfs_pointer(self, tmp_path: Path) -> None:
        path = tmp_path / "m.onnx"
        path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12345\n")
        assert "is a Git LFS pointer, not a model; run `git lfs pull`" in complaint(path)
        with pytest.raises(PointerFileError):
            load_model(path)

    def test_a_file_that_was_cut_short_anywhere_is_refused_or_lacks_its_graph(self, tmp_path: Path) -> None:
        data, path = model().SerializeToString(), tmp_path / "m.onnx"
        for length in range(1, len(data) - 1):
            path.write_bytes(data[:length])
            try:
                proto = load_model(path).proto
            except ModelError:
                assert "not an ONNX model" in complaint(path)
            else:  # cut between the graph and the opset imports, which is seen later
                assert not proto.opset_import

    @pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n" + bytes(64), b"hello\n", b"PK\x03\x04" + bytes(40), b"{}", bytes(10)])
    def test_other_formats(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "m.onnx").write_bytes(data)
        assert "not an ONNX model" in complaint(tmp_path / "m.onnx")

    def test_a_message_that_is_no_model_says_what_it_lacks(self, tmp_path: Path) -> None:
        assert "it has no graph" in complaint(save(tmp_path / "m.onnx", onnx.ModelProto(ir_version=7)))
        headless = model()
        headless.ClearField("ir_version")
        assert "it has no IR version" in complaint(save(tmp_path / "n.onnx", headless))

    def test_a_file_beyond_the_limit_is_refused_before_it_is_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = save(tmp_path / "m.onnx")
        monkeypatch.setattr(load, "MAX_BYTES", 10)
        assert "ONNX allows 2 GiB" in complaint(path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads files of any mode")
    def test_a_file_that_may_not_be_read(self, tmp_path: Path) -> None:
        path = save(tmp_path / "m.onnx")
        path.chmod(0)
        assert "cannot be read: Permission denied" in complaint(path)

    def test_the_text_of_an_error_is_one_line_without_control_characters(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError) as caught:
            load_model(tmp_path / "a\nb\x1b[31m.onnx")
        assert str(caught.value) == f"{tmp_path}/a\\nb\\x1b[31m.onnx: no such file"


class TestExternalData:
    @pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "a/../../w.bin", "link.bin", "sub/link"])
    def test_nothing_outside_the_models_folder_is_opened(self, tmp_path: Path, location: str) -> None:
        (tmp_path / "w.bin").write_bytes(b"x")
        folder = tmp_path / "folder"
        (folder / "sub").mkdir(parents=True)
        (folder / "link.bin").symlink_to(tmp_path / "w.bin")
        (folder / "sub" / "link").symlink_to(tmp_path / "w.bin")
        with pytest.raises(ModelError, match="lies outside the model's folder"):
            external_file(folder, location)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"w\.bin: external data is missing"):
            check_external(model("w.bin"), tmp_path)

    @pytest.mark.parametrize("location", ["", ".", "sub"])
    def test_a_folder_is_no_data(self, tmp_path: Path, location: str) -> None:
        (tmp_path / "sub").mkdir()
        with pytest.raises(ModelError, match="is missing"):
            external_file(tmp_path, location)

    def test_tensors_in_attributes_subgraphs_and_functions_count(self) -> None:
        proto = onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (bool c) => (float[1] y) '
            "{ y = If (c) <then_branch = t () => (float[1] u) { u = Constant <value = float[1] {1}> () }, "
            "else_branch = e () => (float[1] v) { v = l.f (c) }> } "
            '<domain: "l", opset_import: ["" : 13]> f (a) => (b) { b = Constant <value = float[1] {1}> () }'
        )
        tensors = list(load.all_tensors(proto))
        assert len(tensors) == 2
        for name, tensor in zip("ab", tensors, strict=True):
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=name)
        assert sorted(external_locations(proto)) == ["a", "b"]

    def test_copying_brings_the_files_along_with_their_folders(self, tmp_path: Path) -> None:
        source, target = tmp_path / "a", tmp_path / "b"
        (source / "sub").mkdir(parents=True)
        target.mkdir()
        (source / "sub" / "w.bin").write_bytes(b"123")
        copy_external(model("sub/w.bin"), source, target)
        assert (target / "sub" / "w.bin").read_bytes() == b"123"
        copy_external(model("sub/w.bin"), source, target)  # the same content is there: nothing to do
        (target / "sub" / "w.bin").write_bytes(b"456")
        with pytest.raises(UsageError, match="exists with other content"):
            copy_external(model("sub/w.bin"), source, target)
        assert (target / "sub" / "w.bin").read_bytes() == b"456"

    def test_copying_within_one_folder_does_nothing(self, tmp_path: Path) -> None:
        copy_external(model("absent.bin"), tmp_path, tmp_path / "." / "")
        assert list(tmp_path.iterdir()) == []
        file = tmp_path / "w.bin"
        file.write_bytes(b"123")
        before = file.stat().st_mtime_ns
        copy_external(model("w.bin"), tmp_path, tmp_path / "sub" / "..")
        assert list(tmp_path.iterdir()) == [file]
        assert (file.read_bytes(), file.stat().st_mtime_ns) == (b"123", before)


class TestWriting:
    def test_a_new_file_gets_the_mode_of_the_umask(self, tmp_path: Path) -> None:
        old = os.umask(0o027)
        try:
            write_bytes(tmp_path / "m.onnx", b"data")
        finally:
            os.umask(old)
        assert stat.S_IMODE((tmp_path / "m.onnx").stat().st_mode) == 0o640

    def test_an_old_file_keeps_its_mode(self, tmp_path: Path) -> None:
        path = save(tmp_path / "m.onnx")
        path.chmod(0o604)
        write_bytes(path, b"data")
        assert path.read_bytes() == b"data"
        assert stat.S_IMODE(path.stat().st_mode) == 0o604

    @pytest.mark.parametrize("name", ["write_bytes", "replace", "chmod"])
    def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        path = save(tmp_path / "m.onnx")
        before = path.read_bytes()

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, name, full)
        with pytest.raises(UsageError, match=r"m\.onnx: cannot be written: No space left on device"):
            write_bytes(path, b"data")
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["m.onnx"]

    def test_an_interrupt_leaves_the_old_file_and_nothing_else(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = save(tmp_path / "m.onnx")

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Path, "write_bytes", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_bytes(path, b"data")
        monkeypatch.undo()
        assert path.read_bytes() == model().SerializeToString()
        assert os.listdir(tmp_path) == ["m.onnx"]

    def test_a_folder_that_is_not_there_and_a_folder_in_the_files_place(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"m\.onnx: cannot be written: there is no folder"):
            write_bytes(tmp_path / "none" / "m.onnx", b"data")
        (tmp_path / "m.onnx").mkdir()
        with pytest.raises(UsageError, match="it is a folder"):
            write_bytes(tmp_path / "m.onnx", b"data")
        assert os.listdir(tmp_path) == ["m.onnx"]

    def test_two_serialisations_are_the_same_bytes(self) -> None:
        proto = model()
        for key in "cab":
            proto.metadata_props.add(key=key, value=key)
        assert serialize(proto) == serialize(proto)
        assert serialize(onnx.ModelProto.FromString(serialize(proto))) == serialize(proto)


@pytest.mark.parametrize(("ir_version", "listed", "left"), [(8, False, []), (8, True, []), (3, True, []), (3, False, ["w"])])
def test_large_weights_become_inputs_where_the_numbers_do_not_matter(ir_version: int, listed: bool, left: list[str]) -> None:
    text = '<ir_version: 8, opset_import: ["" : 11]> g (float[4096] x) => (float[4096] y) <float[2] s = {1, 2}> { y = Add (x, w) }'
    model = onnx.parser.parse_model(text)
    model.ir_version = ir_version
    weights = np.arange(4096, dtype=np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    if listed:
        model.graph.input.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [4096]))
    light = without_weights(model)
    assert [tensor.name for tensor in light.graph.initializer] == ["s", *left]
    assert [value.name for value in light.graph.input] == ["x", "w"][: 1 if left else 2]
    light.graph.ClearField("initializer")
    light.graph.ClearField("input")
    model.graph.ClearField("initializer")
    model.graph.ClearField("input")
    assert light == model

"""Open a model by reference (weights in external files stay there) and write one atomically."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from onnxfix.errors import ModelError, UsageError
from onnxfix.model.files import check_output
from onnxfix.model.structure import StructureError, check_structure

if TYPE_CHECKING:
    from collections.abc import Iterator

LFS_HEADER = b"version https://git-lfs.github.com/spec/"
# The wire format's own limit for one message.
MAX_BYTES = 2**31 - 1
# Weights of fewer elements are no burden.
MIN_LARGE = 1 << 12
_FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16}
# How much of a file's name a temporary name repeats: a file system takes 255 bytes.
_SHOWN = 40


class PointerFileError(ModelError):
    """The file is a Git LFS pointer, not a model."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model as it lies on disk.

    `proto` holds no bytes of external data; `data` is the file's content, of which `sha256` is the hexadecimal digest.
    """

    proto: onnx.ModelProto
    path: Path
    data: bytes
    sha256: str

    @property
    def base_dir(self) -> Path:
        """The folder that external data files are relative to."""
        return self.path.parent


def load_model(path: str | os.PathLike[str]) -> LoadedModel:
    """Read the model at `path` without its external data.

    Raises:
        ModelError: the file is missing, empty, a Git LFS pointer (PointerFileError), too large, truncated or no ONNX model.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"a {type(path).__name__} is no path; write the model to a file first, onnx.save(model, path)")
    file = Path(path)
    try:
        if file.is_dir():
            raise ModelError(f"{file}: is a folder; name the .onnx file inside it")
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise ModelError(f"{file}: {size} bytes in one file; ONNX allows 2 GiB, keep the weights in external data")
        data = file.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{file}: no such file") from None
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror or error}") from None
    return LoadedModel(parse_model(data, str(file)), file, data, hashlib.sha256(data).hexdigest())


def parse_model(data: bytes, name: str) -> onnx.ModelProto:
    """Decode `data`; `name` says in errors which file it is.

    Raises:
        ModelError: as `load_model`.
    """
    if not data:
        raise ModelError(f"{name}: the file is empty; export it again")
    if data.startswith(LFS_HEADER):
        raise PointerFileError(f"{name}: is a Git LFS pointer, not a model; run `git lfs pull`")
    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(data)
    except Exception as error:  # DecodeError, whose module differs between protobuf implementations
        if type(error).__name__ != "DecodeError":
            raise
        raise ModelError(f"{name}: not an ONNX model, or cut short ({_first_line(error)})") from None
    if not model.HasField("graph") or not model.ir_version:
        raise ModelError(f"{name}: not an ONNX model (it has no {'graph' if model.ir_version else 'IR version'})")
    try:
        check_structure(model)
    except StructureError as error:
        raise ModelError(f"{name}: not a valid ONNX model: {error}") from None
    return model


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def all_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor that may refer to external data: initializers and tensor attributes, subgraphs and functions included."""

    def of_nodes(nodes: object) -> Iterator[onnx.TensorProto]:
        for node in nodes:  # type: ignore[attr-defined]
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors
                if attribute.HasField("g"):
                    yield from of_graph(attribute.g)
                for graph in attribute.graphs:
                    yield from of_graph(graph)

    def of_graph(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield sparse.values
            yield sparse.indices
        yield from of_nodes(graph.node)

    yield from of_graph(model.graph)
    for function in model.functions:
        yield from of_nodes(function.node)


def is_external(tensor: onnx.TensorProto) -> bool:
    """True where the tensor's bytes lie in another file."""
    return tensor.data_location == onnx.TensorProto.EXTERNAL


def external_locations(model: onnx.ModelProto) -> list[str]:
    """The external data files that the model names, each once, in order of first use."""
    locations: dict[str, None] = {}
    for tensor in all_tensors(model):
        if is_external(tensor):
            for entry in tensor.external_data:
                if entry.key == "location":
                    locations[entry.value] = None
    return list(locations)


def external_file(base_dir: Path, location: str) -> Path:
    """Where external data `location` lies.

    Raises:
        ModelError: the location leaves the model's folder, or nothing is there.
    """
    file = base_dir / location
    if "\0" in location:
        raise ModelError(f"external data {location!r}: no file can have this name")
    if Path(location).is_absolute() or not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(base_dir)):
        raise ModelError(f"external data {location!r} lies outside the model's folder; move it beside the model")
    if not os.path.isfile(file):
        raise ModelError(f"{file}: external data is missing; copy it beside the model")
    return file


def check_external(model: onnx.ModelProto, base_dir: Path) -> None:
    """Raise ModelError where a file that the model's external data needs is missing or outside its folder."""
    for location in external_locations(model):
        external_file(base_dir, location)


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary file in the folder of `target` that replaces it when the block ends well, else leaves no trace."""
    check_output(target)
    file = target.resolve()  # a link stays, the file behind it is replaced
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name[:_SHOWN]}.", dir=file.parent)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files private; a model gets the mode that the user's umask gives, or keeps the old one.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(file.stat().st_mode & 0o777 if file.exists() else 0o666 & ~umask)
        temporary.replace(file)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(target: Path, data: bytes) -> None:
    """Write `data` to `target`, whole or not at all.

    Raises:
        UsageError: the folder or the file cannot be written.
    """
    with replacing(target) as temporary:
        temporary.write_bytes(data)


def serialize(message: onnx.ModelProto | onnx.NodeProto | onnx.AttributeProto) -> bytes:
    """The bytes of a model or a part of it; two calls give the same bytes."""
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def is_large(tensor: onnx.TensorProto) -> bool:
    """True for weights whose numbers no shape depends on: MIN_LARGE floats or more, as raw data in the model itself."""
    return tensor.data_type in _FLOATS and tensor.HasField("raw_data") and math.prod(tensor.dims) >= MIN_LARGE


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without its large weights, for what does not read their numbers: they are inputs of the main graph there."""
    copy = onnx.ModelProto()
    _merge(copy, model, but="graph")
    _merge(copy.graph, model.graph, but="initializer")
    listed = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        # below IR version 4 one that is not listed is a fault, and stays one
        if not is_large(tensor) or (tensor.name not in listed and model.ir_version < 4):
            copy.graph.initializer.append(tensor)
        elif tensor.name not in listed:
            dims = list(tensor.dims)
            copy.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, dims))
    return copy


def _merge(copy: onnx.ModelProto | onnx.GraphProto, source: onnx.ModelProto | onnx.GraphProto, but: str) -> None:
    """Fill an empty message with the fields of another, all but one: that may be hundreds of megabytes."""
    for field, value in source.ListFields():
        if field.name == but:
            continue
        if hasattr(value, "extend"):
            getattr(copy, field.name).extend(value)
        elif field.message_type is not None:
            getattr(copy, field.name).CopyFrom(value)
        else:
            setattr(copy, field.name, value)


def copy_external(model: onnx.ModelProto, source: Path, target: Path) -> None:
    """Bring the model's external data files from folder `source` to folder `target`; nothing to do in the same folder.

    Raises:
        ModelError: a file is missing. UsageError: another file of that name is there, or it cannot be written.
    """
    if source.resolve() == target.resolve():
        return
    for location in external_locations(model):
        origin, copy = external_file(source, location), target / location
        if copy.exists():
            if not copy.is_file() or not _same_content(origin, copy):
                raise UsageError(f"{copy}: exists with other content; choose another output folder")
            continue
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{copy}: cannot be written: {error.strerror or error}") from None
        with replacing(copy) as temporary:
            shutil.copyfile(origin, temporary)


def _same_content(left: Path, right: Path) -> bool:
    if left.stat().st_size != right.stat().st_size:
        return False
    with left.open("rb") as a, right.open("rb") as b:
        return hashlib.file_digest(a, "sha256").digest() == hashlib.file_digest(b, "sha256").digest()

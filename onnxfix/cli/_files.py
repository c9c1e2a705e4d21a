"""What the commands do with several files: find them, open them, and join their exit codes."""

from __future__ import annotations

import glob
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix.cli._state import internal_error, is_of_stream
from onnxfix.errors import ModelError, OnnxfixError, UsageError, escape
from onnxfix.results import STDIN_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnxfix.cli._state import State
    from onnxfix.model.load import LoadedModel

STDIN = "-"
# Which code wins over several files: trouble first, then what a machine lacks, a failed proof, findings.
_PRECEDENCE = (2, 4, 3, 1, 0)


class ReportError(UsageError):
    """The file of the report is wrong, which concerns the whole run."""


def worst(codes: Iterable[int]) -> int:
    """The exit code of a run over several files."""
    return min(codes, key=_PRECEDENCE.index, default=0)


def expand(paths: Iterable[str], *, skip_suffix: str = "") -> Iterator[str | UsageError]:
    """The files that `paths` name, each once: files as they are, folders and globs as what they hold.

    Args:
        paths: files, folders (every `*.onnx` below, but not below hidden folders), glob patterns, or `-`.
        skip_suffix: names with this ending are left out of folders.

    Yields:
        A file, `-`, or the error of a folder or pattern that holds none.
    """
    seen: set[str] = set()
    for path in paths:
        found = list(_expand_one(path, skip_suffix))
        if not found:
            what = "no file matches" if glob.has_magic(path) else "the folder holds no .onnx file"
            yield UsageError(f"{path}: {what}")
        for file in found:
            if file not in seen:
                seen.add(file)
                yield file


def _expand_one(path: str, skip_suffix: str) -> Iterator[str]:
    file = Path(path)
    if path == STDIN or os.path.isfile(file):  # Path.is_file raises for a name that is too long
        yield path
    elif os.path.isdir(file):
        for model in sorted(file.rglob("*.onnx")):
            hidden = any(part.startswith(".") for part in model.relative_to(file).parts)
            if model.is_file() and not hidden and not (skip_suffix and model.name.endswith(skip_suffix)):
                yield str(model)
    elif glob.has_magic(path):
        yield from (name for name in sorted(glob.glob(path, recursive=True)) if Path(name).is_file())
    else:
        yield path


def about(file: object, error: Exception) -> str:
    """The error's text, with the file's name in front where it says only which node or value of the model is meant."""
    text = str(error) if isinstance(error, OnnxfixError) else internal_error(error)
    name = STDIN_NAME if file == STDIN else str(file)
    return text if isinstance(error, UsageError) or escape(name) in text else f"{name}: {text}"


def failed(file: object, error: Exception, state: State) -> tuple[str, int]:
    """Say what stopped the work on one file, so that the others can go on; the line and the exit code.

    Raises:
        Exception: `error` itself, where it concerns the whole run or its traceback was asked for.
    """
    ours = state.traceback and not isinstance(error, OnnxfixError)
    if ours or state.interrupts or is_of_stream(error) or isinstance(error, ReportError):
        raise error
    text = about(file, error)
    state.error(text)
    return text, error.exit_code if isinstance(error, OnnxfixError) else 2


def check_report(report: str, files: Iterable[Path]) -> None:
    """Refuse a report in the place of one of `files`, which the run reads or writes.

    Raises:
        ReportError: as said.
    """
    from onnxfix.model.files import same_file

    for file in files:
        if same_file(Path(report), file):
            raise ReportError(f"{report}: is a file that this run reads or writes itself; write the report to another")


def files_of(loaded: LoadedModel) -> list[Path]:
    """The files that a model was, and its weights are, read from."""
    from onnxfix.model.load import external_locations

    return [loaded.path, *(loaded.base_dir / location for location in external_locations(loaded.proto))]


def open_model(path: str) -> LoadedModel:
    """The model in the file, or on standard input for `-`.

    Raises:
        ModelError: it cannot be read, or is no model.
    """
    from onnxfix.model.load import LoadedModel, load_model, parse_model

    if path != STDIN:
        return load_model(path)
    import hashlib

    if sys.stdin is None:  # so is it in a process that was started without
        raise ModelError(f"{STDIN_NAME}: standard input is closed")
    try:
        data = sys.stdin.buffer.read()
    except OSError as error:
        raise ModelError(f"{STDIN_NAME}: cannot be read: {error.strerror or error}") from None
    return LoadedModel(parse_model(data, STDIN_NAME), Path(STDIN_NAME), data, hashlib.sha256(data).hexdigest())


def open_or_skip(path: str, state: State, *, skip_pointers: bool) -> LoadedModel | None:
    """`open_model`; None, with a note, for a Git LFS pointer that is to be skipped.

    Raises:
        ModelError: as `open_model`.
    """
    from onnxfix.model.load import PointerFileError

    try:
        return open_model(path)
    except PointerFileError as error:
        if not skip_pointers:
            raise
        state.note(f"note: {error}; skipped")
        return None

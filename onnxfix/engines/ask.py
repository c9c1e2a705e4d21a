"""Asks a parser or builder, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxfix.engines.choice import choose
from onnxfix.engines.result import (
    BuildResult,
    BuildVerdict,
    NetworkTensor,
    ParserError,
    ParseResult,
    ParseVerdict,
    ShapeRange,
)
from onnxfix.engines.tool import Tool, gpu_present
from onnxfix.errors import MissingToolError, UsageError
from onnxfix.model.files import check_output, same_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TIMEOUT = 600.0
_MEBIBYTE = 1 << 20
# How much of what a dying process printed is kept.
_LAST_LINES = 3
# How much of the engine file's name a temporary name repeats: a file system takes 255 bytes.
_SHOWN = 40


def parse(path: str | os.PathLike[str], engine: str | None = None, timeout: float = TIMEOUT) -> ParseResult:
    """Ask the parser whether it takes the model at `path`.

    Args:
        path: the model; the parser reads it, and external data beside it, itself.
        engine: `tensorrt` or `tensorrt-rtx`, by default whichever can be used here.
        timeout: seconds after which the parser is stopped.

    Raises:
        MissingToolError: neither is installed, or the one that is needs a GPU.
        ModelError: there is no model at `path`.
        UsageError: there is no engine of that name.
    """
    _check_model(path)
    tool = choose(engine)
    answers, end = _ask(tool, {"model": str(Path(path).resolve()), "output": None}, timeout)
    return _parse_result(tool, answers.get("parse"), end)


def build(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    engine: str | None = None,
    sm: Sequence[str] = (),
    workspace: int | None = None,
    profiles: Mapping[str, ShapeRange] | None = None,
    timeout: float = TIMEOUT,
) -> BuildResult:
    """Parse the model at `path` and build an engine into the file `output`, which is replaced whole or not at all.

    Args:
        path: the model.
        output: the engine file.
        engine: `tensorrt` or `tensorrt-rtx`, by default whichever can be used here.
        sm: GPU architectures to build for, such as `86` and `120`; TensorRT-RTX only. By default the GPU of this
            machine, or `86` where there is none.
        workspace: limit of the builder's scratch memory, in MiB.
        profiles: shapes of inputs with sizes given at run time.
        timeout: seconds after which the builder is stopped.

    Raises:
        MissingToolError: neither is installed, or the one that is needs a GPU.
        ModelError: there is no model at `path`.
        UsageError: an input lacks a profile, an architecture is unknown, or `output` cannot be written.
    """
    _check_model(path, output)
    tool = choose(engine)
    model, target = Path(path).resolve(), Path(output)
    architectures, note = _architectures(tool, sm)
    with _part_of(target) as part:
        request = {
            "model": str(model),
            "output": str(part.resolve()),
            "sm": architectures,
            "workspace": workspace * _MEBIBYTE if workspace is not None else None,
            "profiles": {n: {"min": p.min, "opt": p.opt, "max": p.max} for n, p in (profiles or {}).items()},
        }
        answers, end = _ask(tool, request, timeout)
        parsed = _parse_result(tool, answers.get("parse"), end)
        if parsed.verdict is not ParseVerdict.PARSED:
            return BuildResult(BuildVerdict(parsed.verdict), parsed, sm=tuple(architectures), note=note)
        _check_profiles(parsed, profiles or {})
        answer = answers.get("build")
        if answer is None:
            dead = BuildVerdict.TIMEOUT if end.timeout else BuildVerdict.CRASHED
            return BuildResult(dead, parsed, sm=tuple(architectures), messages=end.words, note=note)
        if answer["verdict"] == "no-profile":
            raise UsageError(_profile_wanted(answer["inputs"]))
        if answer["verdict"] == "no-architecture":
            known = ", ".join(answer["known"])
            raise UsageError(f"--sm {','.join(sm)}: {tool.title} {parsed.version} builds for {known}")
        built = answer["verdict"] == "built"
        if built:
            part.replace(target)
        return BuildResult(
            BuildVerdict(answer["verdict"]),
            parsed,
            output=target if built else None,
            size=answer.get("bytes", 0),
            seconds=answer["seconds"],
            sm=tuple(architectures),
            messages=tuple(answer["messages"]),
            note=note,
        )


class _End:
    """How the child process ended."""

    def __init__(self, code: int | None, printed: str, limit: float) -> None:
        self.timeout = code is None
        if code is None:
            how = f"stopped after {limit:g} seconds"
        elif code < 0:
            try:
                how = f"the process died of {signal.Signals(-code).name}"
            except ValueError:
                how = f"the process died of signal {-code}"
        else:
            how = f"the process ended with code {code}"
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        self.words = (how, *lines[-_LAST_LINES:])


def _ask(tool: Tool, request: Mapping[str, Any], limit: float) -> tuple[dict[str, dict[str, Any]], _End]:
    """The child's answers by step, and how it ended."""
    package_home = str(Path(__file__).parents[2])
    environment = {**os.environ, **tool.environment}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), package_home]))
    with tempfile.TemporaryDirectory(prefix="onnxfix-") as folder:
        reply = Path(folder) / "reply.jsonl"
        whole: dict[str, Any] = {
            "home": f"onnxfix.engines.{tool.name.replace('-', '_')}",
            "module": tool.module,
            "reply": str(reply),
            "sm": [],
            "workspace": None,
            "profiles": {},
        }
        # -P: a file of the folder we were called in must not stand in for a module.
        command = [sys.executable, "-P", "-m", "onnxfix.engines._worker"]
        try:
            done = subprocess.run(
                command,
                input=json.dumps({**whole, **request}),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=environment,
                timeout=limit,
                check=False,
            )
            end = _End(done.returncode, done.stdout, limit)
        except subprocess.TimeoutExpired:
            end = _End(None, "", limit)
        answers = {}
        if reply.exists():
            for line in reply.read_text(encoding="utf-8").splitlines():
                # A process killed while it wrote leaves half a line, which is no answer.
                with contextlib.suppress(json.JSONDecodeError):
                    answer = json.loads(line)
                    answers[answer["step"]] = answer
    return answers, end


def _parse_result(tool: Tool, answer: dict[str, Any] | None, end: _End) -> ParseResult:
    if answer is None:
        verdict = ParseVerdict.TIMEOUT if end.timeout else ParseVerdict.CRASHED
        return ParseResult(verdict, tool.name, tool.version(), messages=end.words)
    if answer["verdict"] == "unavailable":
        raise MissingToolError(f"{tool.title} cannot be used here: {' | '.join(answer['messages'])}")
    return ParseResult(
        ParseVerdict(answer["verdict"]),
        tool.name,
        answer["version"],
        tuple(ParserError(**error) for error in answer["errors"]),
        answer["layers"],
        _tensors(answer["inputs"]),
        _tensors(answer["outputs"]),
        answer["seconds"],
        tuple(answer["messages"]),
    )


def _tensors(items: Sequence[Mapping[str, Any]]) -> tuple[NetworkTensor, ...]:
    return tuple(
        NetworkTensor(item["name"], item["dtype"], tuple(item["shape"]) if item["shape"] is not None else None) for item in items
    )


def _architectures(tool: Tool, sm: Sequence[str]) -> tuple[list[str], str]:
    """The architectures to build for (none for the GPU of this machine), and what to say about the choice."""
    if not tool.architectures:
        if sm:
            raise UsageError(f"--sm is for TensorRT-RTX; {tool.title} builds for the GPU of this machine")
        return [], ""
    if sm:
        return list(sm), ""
    if gpu_present():
        return [], ""
    from onnxfix.engines.tensorrt_rtx import DEFAULT_ARCHITECTURE

    note = f"no GPU here and no --sm: built for compute capability {DEFAULT_ARCHITECTURE[0]}.{DEFAULT_ARCHITECTURE[1]}"
    return [DEFAULT_ARCHITECTURE], note


def _check_model(path: str | os.PathLike[str], output: str | os.PathLike[str] | None = None) -> None:
    # A parser takes an empty file for an empty network, and says of others only that it failed.
    from onnxfix.model.load import check_external, external_locations, load_model

    model = load_model(path)
    check_external(model.proto, model.base_dir)
    for file in [model.path, *(model.base_dir / location for location in external_locations(model.proto))]:
        if output is not None and same_file(Path(output), file):
            raise UsageError(f"{output}: is the model itself or its external data; choose another output")


def _check_profiles(parsed: ParseResult, profiles: Mapping[str, ShapeRange]) -> None:
    inputs = {tensor.name: tensor for tensor in parsed.inputs}
    for name, shapes in profiles.items():
        if name not in inputs:
            raise UsageError(f"a shape is given for {name}, which is no input; the inputs are {', '.join(inputs) or 'none'}")
        expected = inputs[name].shape
        for shape in (shapes.min, shapes.opt, shapes.max):
            if expected is not None and (
                len(shape) != len(expected) or any(size not in (-1, given) for size, given in zip(expected, shape, strict=True))
            ):
                raise UsageError(f"input {name}: the shape {_words(shape)} does not fit {_words(expected)}")
        if not all(low <= middle <= high for low, middle, high in zip(shapes.min, shapes.opt, shapes.max, strict=True)):
            raise UsageError(f"input {name}: shapes must grow from --min-shape over --opt-shape to --max-shape")


def _profile_wanted(inputs: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for item in inputs:
        example = "x".join(str(size) if size >= 0 else "N" for size in item["shape"] or [])
        parts.append(f"{item['name']}:{example}")
    options = " ".join(f"--{kind}-shape {part}" for part in parts for kind in ("min", "opt", "max"))
    fixed = " ".join(f"--shape {part}" for part in parts)
    names = ", ".join(item["name"] for item in inputs)
    return f"sizes of {names} are open: pass {options}, or {fixed} for one size, with numbers for N"


def _words(shape: Sequence[int]) -> str:
    return "x".join(str(size) if size >= 0 else "?" for size in shape) or "scalar"


@contextlib.contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """A new file beside `target` to write into; gone at the end unless it was moved to `target`."""
    check_output(target)
    part = target.with_name(f".{target.name[:_SHOWN]}.{os.getpid()}.part")
    try:
        part.touch(exist_ok=False)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from None
    try:
        yield part
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)

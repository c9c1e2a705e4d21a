"""Asks a parser or builder, in a process of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxfix.engines._worker import LARGEST_LOG
from onnxfix.engines.choice import choose
from onnxfix.engines.options import BuildOptions
from onnxfix.engines.result import BuildResult, BuildVerdict, NetworkTensor, ParserError, ParseResult, ParseVerdict
from onnxfix.engines.settle import settle
from onnxfix.engines.tool import gpu_present
from onnxfix.errors import MissingToolError, UsageError
from onnxfix.model.files import check_output, same_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import IO

    from onnxfix.engines.options import ShapeRange
    from onnxfix.engines.tool import Tool
    from onnxfix.model.load import LoadedModel

TIMEOUT = 600.0
_MEBIBYTE = 1 << 20
# How much of what a dying process printed is kept.
_LAST_LINES = 3
# How often the child is asked how far it is, in seconds.
_POLL = 0.2


def parse(
    path: str | os.PathLike[str], engine: str | None = None, timeout: float = TIMEOUT, plugins: Sequence[Path] = ()
) -> ParseResult:
    """Ask the parser whether it takes the model at `path`.

    Args:
        path: the model; the parser reads it, and external data beside it, itself.
        engine: `tensorrt` or `tensorrt-rtx`, by default whichever can be used here.
        timeout: seconds after which the parser is stopped.
        plugins: libraries of plugins to load first.

    Raises:
        MissingToolError: neither is installed, or the one that is needs a GPU.
        ModelError: there is no model at `path`.
        UsageError: there is no engine of that name.
    """
    _check_model(path)
    _check_plugins(plugins)
    tool = choose(engine)
    answers, end = _ask(
        tool, {"model": str(Path(path).resolve()), "plugins": [str(Path(one).resolve()) for one in plugins]}, timeout
    )
    return _parse_result(tool, answers.get("parse"), end)


def build(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: BuildOptions | None = None,
    *,
    engine: str | None = None,
    timeout: float = TIMEOUT,
    progress: Callable[[str], None] | None = None,
) -> BuildResult:
    """Parse the model at `path` and build an engine into the file `output`, which is replaced whole or not at all.

    Beside it goes a JSON file with how it was made, `output` with `.json` added (see `onnxfix.engines.record`).

    Args:
        path: the model.
        output: the engine file.
        options: shapes, types and the like.
        engine: `tensorrt` or `tensorrt-rtx`, by default whichever can be used here.
        timeout: seconds after which parser and builder are stopped.
        progress: called with the builder's phase as it goes on, where the release has a progress monitor.

    Raises:
        MissingToolError: neither is installed, or the one that is needs a GPU.
        ModelError: there is no model at `path`.
        UsageError: an input lacks a profile, an option does not fit this release, or `output` cannot be written.
    """
    from onnxfix.engines.half import in_half
    from onnxfix.engines.record import record_path, write_record

    options = options or BuildOptions()
    source = _check_model(path, output)
    _check_plugins(options.plugins)
    tool = choose(engine)
    target = Path(output)
    settled, notes = settle(tool, options, source.proto)
    for file in (target, record_path(target), *([options.timing_cache] if options.timing_cache is not None else [])):
        check_output(file)
    with contextlib.ExitStack() as stack:
        model = Path(path).resolve()
        if settled.converts:
            if progress is not None:
                progress("converting the model to float16")
            model, note = stack.enter_context(in_half(source, settled.options.profiles))
            notes.append(note)
        request = {
            "model": str(model),
            "gpu": gpu_present(),
            "verbose": True,
            **_as_request(settled.options),
        }
        with _nameless(target) as data:
            answers, end = _ask(tool, request, timeout, data, progress)
            result = _build_result(tool, answers, end, settled.options, tuple(notes))
            if result.verdict is BuildVerdict.BUILT:
                _publish(data, target)
                result = dataclasses.replace(result, output=target)
                write_record(result, source, options, tool)
    return result


def _build_result(
    tool: Tool, answers: Mapping[str, dict[str, Any]], end: _End, options: BuildOptions, notes: tuple[str, ...]
) -> BuildResult:
    """What the child's answers say; the engine is not at its place yet.

    Raises:
        MissingToolError: the library cannot be used here. UsageError: it needs other options.
    """
    parsed = _parse_result(tool, answers.get("parse"), end)
    if parsed.verdict is not ParseVerdict.PARSED:
        return BuildResult(BuildVerdict(parsed.verdict), parsed, sm=options.sm, notes=notes)
    _check_profiles(parsed, options.profiles)
    answer = answers.get("build")
    if answer is None:
        dead = BuildVerdict.TIMEOUT if end.timeout else BuildVerdict.CRASHED
        return BuildResult(dead, parsed, sm=options.sm, messages=end.words, notes=notes)
    if answer["verdict"] == "no-profile":
        raise UsageError(_profile_wanted(answer["inputs"]))
    if answer["verdict"] == "no-architecture":
        known = ", ".join(answer["known"])
        raise UsageError(f"--sm {','.join(options.sm)}: {tool.title} {parsed.version} builds for {known}")
    if answer["verdict"] == "no-option":
        raise UsageError(f"{', '.join(answer['lacking'])}: {tool.title} {parsed.version} has no such option")
    return BuildResult(
        BuildVerdict(answer["verdict"]),
        parsed,
        size=answer.get("bytes", 0),
        seconds=answer["seconds"],
        sm=options.sm,
        messages=tuple(answer["messages"]),
        notes=notes,
        settings=answer.get("settings", {}),
        network=tuple(answer.get("network", ())),
        layers=tuple(answer["layers"]) if answer.get("layers") is not None else None,
        no_layers=answer.get("no_layers", ""),
        sha256=answer.get("sha256", ""),
    )


def _as_request(options: BuildOptions) -> dict[str, Any]:
    return {
        "sm": list(options.sm),
        "profiles": {name: {"min": each.min, "opt": each.opt, "max": each.max} for name, each in options.profiles.items()},
        "precision": sorted(options.precision),
        "strongly_typed": options.strongly_typed,
        "workspace": options.workspace * _MEBIBYTE if options.workspace is not None else None,
        "opt_level": options.opt_level,
        "timing_cache": str(options.timing_cache.resolve()) if options.timing_cache is not None else None,
        "version_compatible": options.version_compatible,
        "hardware_compatible": options.hardware_compatible,
        "plugins": [str(plugin.resolve()) for plugin in options.plugins],
        "refit": options.refit,
        "strip": options.strip,
    }


class _End:
    """How the child process ended, and what was printed in it, at most the last LARGEST_LOG bytes."""

    def __init__(self, code: int | None, printed: str, limit: float) -> None:
        self.timeout = code is None
        self.log = printed
        if code is None:
            how = f"stopped after {limit:g} seconds"
        elif code < 0:
            try:
                how = f"the process died of {signal.Signals(-code).name}"
            except ValueError:
                how = f"the process died of signal {-code}"
        else:
            how = f"the process ended with code {code}"
        lines = [line.strip() for line in printed.splitlines() if line.strip() and not line.startswith("[V]")]
        self.words = (how, *lines[-_LAST_LINES:])


def _ask(
    tool: Tool,
    request: Mapping[str, Any],
    limit: float,
    data: IO[bytes] | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[dict[str, dict[str, Any]], _End]:
    """The child's answers by step, and how it ended; an engine goes into `data`."""
    package_home = str(Path(__file__).parents[2])
    environment = {**os.environ, **tool.environment}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), package_home]))
    # Files without a name: whoever is killed, nothing is left.
    with tempfile.TemporaryFile() as reply, tempfile.TemporaryFile() as log:
        whole: dict[str, Any] = {
            "home": f"onnxfix.engines.{tool.name.replace('-', '_')}",
            "module": tool.module,
            "reply": reply.fileno(),
            "output": data.fileno() if data is not None else None,
            "gpu": False,
            "verbose": False,
            **_as_request(BuildOptions()),
            **request,
        }
        # -P: a file of the folder we were called in must not stand in for a module.
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "onnxfix.engines._worker"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=[file.fileno() for file in (reply, data) if file is not None],
        )
        try:
            code = _wait(child, json.dumps(whole).encode(), limit, reply, progress)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        log.seek(max(os.fstat(log.fileno()).st_size - LARGEST_LOG, 0))
        end = _End(code, log.read().decode("utf-8", "replace"), limit)
        return {answer["step"]: answer for answer in _answers(reply, 0)[0]}, end


def _wait(
    child: subprocess.Popen[bytes], request: bytes, limit: float, reply: IO[bytes], progress: Callable[[str], None] | None
) -> int | None:
    """Give the child its request and wait for its end: the exit code, None when the time is up."""
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it died before it read
        child.stdin.write(request)
        child.stdin.close()
    deadline = time.monotonic() + limit
    position = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(min(left, _POLL) if progress is not None else left)
        if progress is not None:
            answers, position = _answers(reply, position)
            for answer in answers:
                if answer["step"] == "progress":
                    of = f" {answer['done']} of {answer['of']}" if answer["of"] else ""
                    progress(f"{answer['phase'][:1].lower()}{answer['phase'][1:]}{of}")


def _answers(reply: IO[bytes], position: int) -> tuple[list[dict[str, Any]], int]:
    """The whole lines from `position` on, and where they end; a process killed while it wrote leaves half a line."""
    fresh = os.pread(reply.fileno(), os.fstat(reply.fileno()).st_size - position, position)
    lines, newline, _ = fresh.rpartition(b"\n")
    return [json.loads(line) for line in lines.splitlines()], position + len(lines) + len(newline)


def _parse_result(tool: Tool, answer: dict[str, Any] | None, end: _End) -> ParseResult:
    if answer is None:
        verdict = ParseVerdict.TIMEOUT if end.timeout else ParseVerdict.CRASHED
        return ParseResult(verdict, tool.name, tool.version(), messages=end.words, log=end.log)
    if answer["verdict"] == "unavailable":
        raise MissingToolError(f"{tool.title} cannot be used here: {' | '.join(answer['messages'])}")
    if answer["verdict"] == "no-plugin":
        raise MissingToolError(f"--plugin-library: {' | '.join(answer['messages'])}")
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
        end.log,
    )


def _tensors(items: Sequence[Mapping[str, Any]]) -> tuple[NetworkTensor, ...]:
    return tuple(
        NetworkTensor(item["name"], item["dtype"], tuple(item["shape"]) if item["shape"] is not None else None) for item in items
    )


def _check_model(path: str | os.PathLike[str], output: str | os.PathLike[str] | None = None) -> LoadedModel:
    # A parser takes an empty file for an empty network, and says of others only that it failed.
    from onnxfix.model.load import check_external, external_locations, load_model

    model = load_model(path)
    check_external(model.proto, model.base_dir)
    for file in [model.path, *(model.base_dir / location for location in external_locations(model.proto))]:
        if output is not None and same_file(Path(output), file):
            raise UsageError(f"{output}: is the model itself or its external data; choose another output")
    return model


def _check_plugins(plugins: Sequence[Path]) -> None:
    for plugin in plugins:
        if not Path(plugin).is_file():
            raise UsageError(f"--plugin-library {plugin}: no such file")


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
def _nameless(target: Path) -> Iterator[IO[bytes]]:
    """A file without a name in the folder of `target`, which is the file system that the engine goes to."""
    try:
        with tempfile.TemporaryFile(dir=target.parent) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from None


def _publish(data: IO[bytes], target: Path) -> None:
    """Copy the engine to `target`, which has it whole or stays as it was."""
    from onnxfix.model.load import replacing

    data.seek(0)
    with replacing(target) as temporary, temporary.open("wb") as file:
        shutil.copyfileobj(data, file, _MEBIBYTE)

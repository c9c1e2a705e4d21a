"""`onnxfix build MODEL`: build an engine with TensorRT or TensorRT-RTX."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._building import (
    ENGINES,
    as_json,
    build_options,
    device_line,
    exit_code_of,
    fault_lines,
    lines,
    options_of,
    profiles_of,
)
from onnxfix.cli._options import PathType
from onnxfix.cli._state import current_state
from onnxfix.errors import MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.engines import BuildOptions, BuildResult, ParseResult

# TensorRT is on the package index since this release.
_FIRST_PACKAGED = 8


@click.command(name="build", short_help="Build an engine from a model.")
@click.argument("model", metavar="MODEL", type=PathType(path_type=Path))
@click.option("-t", "--target", metavar="TARGET", help="The release to build with; it has to be the one installed.")
@click.option("-o", "--output", metavar="ENGINE", type=PathType(path_type=Path), help="[default: MODEL with .engine]")
@click.option("--engine", type=click.Choice(ENGINES), help="[default: whichever can be used here]")
@click.option("--parse-only", is_flag=True, help="Ask the parser and stop.")
@click.option(
    "--shape",
    "shapes",
    metavar="NAME:1x3x8..4x3x8",
    multiple=True,
    help="Smallest and largest shape of an input, or one shape.",
)
@click.option("--min-shape", "smallest", metavar="NAME:1x3x8", multiple=True, help="Smallest shape of an input.")
@click.option("--opt-shape", "usual", metavar="NAME:4x3x8", multiple=True, help="Shape of an input to be fastest at.")
@click.option("--max-shape", "largest", metavar="NAME:8x3x8", multiple=True, help="Largest shape of an input.")
@build_options
@click.option("--repeat", metavar="K", type=click.IntRange(min=1), default=1, help="Build K engines, to see how builds differ.")
@click.option("--log", "log_file", metavar="FILE", type=PathType(path_type=Path), help="All that the library says.  [if it fails]")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), default=600, show_default=True)
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    context: click.Context,
    /,
    model: Path,
    target: str | None,
    output: Path | None,
    engine: str | None,
    parse_only: bool,
    shapes: tuple[str, ...],
    smallest: tuple[str, ...],
    usual: tuple[str, ...],
    largest: tuple[str, ...],
    repeat: int,
    log_file: Path | None,
    timeout: float,
    output_format: str,
    **given: Any,
) -> None:
    """Ask the parser whether it takes MODEL, and build an engine from it, with a JSON file beside it that says how.

    Parser and builder run in a process of their own. Exit code 0: built (or parsed); 1: refused or failed; 2: crashed or
    stopped, a file that cannot be read, a wrong option; 4: neither TensorRT nor TensorRT-RTX can be used here.
    """
    from onnxfix import engines
    from onnxfix.engines.fault import fault_of
    from onnxfix.model.files import check_output

    options = options_of(given, profiles_of(shapes, smallest, usual, largest))
    engine = engine_of(target, engine, model, options)
    state = current_state()
    show = state.progress()
    output = output or model.with_suffix(".engine")
    if log_file is not None:
        check_output(log_file)
    if show is not None:
        show(f"{'parsing' if parse_only else 'building'} {model}")
    builds: list[BuildResult] = []
    try:
        if parse_only:
            parsed = engines.parse(model, engine, timeout, options.plugins)
        else:
            for number in range(1, repeat + 1):
                file = output if number == 1 else output.with_name(f"{output.stem}.{number}{output.suffix}")
                builds.append(engines.build(model, file, options, engine=engine, timeout=timeout, progress=show))
                if builds[-1].verdict != "built":
                    break
            parsed = builds[-1].parse
    finally:
        if show is not None:
            show("")
    built = builds[-1] if builds else None
    verdict = str(parsed.verdict if built is None else built.verdict)
    exit_code = exit_code_of(verdict)
    fault = fault_of(built or parsed, shlex.quote(str(model)))
    if fault is not None and log_file is None and not parse_only:
        log_file = output.with_name(f"{output.name}.log")
    if log_file is not None:
        from onnxfix.model.load import write_bytes

        write_bytes(log_file, parsed.log.encode())
    if output_format == "json":
        from onnxfix.report.json import document, dumps

        entry = _entry(verdict, parsed, builds)
        entry["fault"] = fault.as_json() if fault is not None else None
        click.echo(dumps(document([{"path": str(model), "build": entry}], exit_code=exit_code)), nl=False)
    else:
        said = lines(str(model), parsed, builds[0] if builds else None)
        for other in builds[1:]:
            said += lines(str(model), parsed, other)[1:]
        said += _spread(builds) if len(builds) > 1 else []
        if fault is not None:
            said += fault_lines(fault)
        state.out().lines((line,) for line in said)
        if fault is not None and log_file is not None:
            state.note(f"log: {log_file}")
        for note in built.notes if built is not None and built.verdict == "built" else ():
            state.note(f"note: {note}")
    if exit_code > 1:
        words = built.messages if built is not None and parsed.verdict == "parsed" else parsed.messages
        state.error(f"{model}: {' | '.join(words)}")
    context.exit(exit_code)


def engine_of(target: str | None, engine: str | None, model: Path, options: BuildOptions) -> str | None:
    """The engine that `target` asks for, checked against `--engine` and the release that is installed.

    What `model` and `options` are on a device where that release is, is part of the message.

    Raises:
        MissingToolError: that release is not installed here, or is no Python package at all.
        UsageError: `--engine` names another.
    """
    if target is None:
        return engine
    from onnxfix.engines.choice import NAMES, choose, tool
    from onnxfix.targets.target import find_target

    wanted = find_target(target)
    name = next(name for name in NAMES if tool(name).family == wanted.family)
    if engine not in (None, name):
        raise UsageError(f"--target {target} is a release of {name}, --engine says {engine}")
    release = wanted.id.removeprefix(wanted.family).split("-")[0]
    if wanted.family == "trt" and int(release.split(".")[0]) < _FIRST_PACKAGED:
        line = device_line(wanted, model, options)
        raise MissingToolError(f"TensorRT {release} is no Python package; on the device that has it: {line}")
    try:
        chosen = choose(name)
    except MissingToolError as error:
        if wanted.family == "rtx":
            raise
        raise MissingToolError(
            f"{error}; on the device that has TensorRT {release}: {device_line(wanted, model, options)}"
        ) from None
    if not chosen.is_release(wanted.id):
        hint = f"pip install '{chosen.name}=={release}.*', or leave --target out"
        raise MissingToolError(f"{chosen.title} {chosen.version()} is installed, not {release}; {hint}")
    return name


def _entry(verdict: str, parsed: ParseResult, builds: Sequence[BuildResult]) -> dict[str, Any]:
    entry = {"verdict": verdict, **as_json(parsed, builds[0] if builds else None)}
    if len(builds) > 1:
        entry["repeats"] = [as_json(built.parse, built) for built in builds[1:]]
    return entry


def _spread(builds: Sequence[BuildResult]) -> list[str]:
    """How engines of one model differ from build to build."""
    sizes = [built.size for built in builds]
    seconds = [built.seconds for built in builds]
    different = len({built.sha256 for built in builds})
    size = f"{sizes[0]} bytes each" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)} bytes"
    same = "all the same bytes" if different == 1 else f"{different} different files"
    return [f"{len(builds)} builds: {size}, {same}, {min(seconds):.2f} to {max(seconds):.2f} s"]

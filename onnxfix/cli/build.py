"""`onnxfix build MODEL`: build an engine with TensorRT or TensorRT-RTX."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._options import PathType, parse_shapes
from onnxfix.cli._state import current_state
from onnxfix.errors import MissingToolError, UsageError

if TYPE_CHECKING:
    from onnxfix.engines import BuildResult, ParseResult, ShapeRange

# TensorRT is on the package index since this release.
_FIRST_PACKAGED = 8


@click.command(name="build", short_help="Build an engine from a model.")
@click.argument("model", metavar="MODEL", type=PathType(path_type=Path))
@click.option("-t", "--target", metavar="TARGET", help="The release to build with; it has to be the one installed.")
@click.option("-o", "--output", metavar="ENGINE", type=PathType(path_type=Path), help="[default: MODEL with .engine]")
@click.option("--engine", type=click.Choice(["tensorrt", "tensorrt-rtx"]), help="[default: whichever can be used here]")
@click.option("--sm", metavar="86,89", help="GPU architectures to build for (TensorRT-RTX).  [default: the GPU here, else 86]")
@click.option("--parse-only", is_flag=True, help="Ask the parser and stop.")
@click.option("--workspace", metavar="MIB", type=click.IntRange(min=0), help="Limit of the builder's scratch memory.")
@click.option("--shape", "shapes", metavar="NAME:2x3x8", multiple=True, help="The one shape of an input of open sizes.")
@click.option("--min-shape", "smallest", metavar="NAME:1x3x8", multiple=True, help="Smallest shape of an input.")
@click.option("--opt-shape", "usual", metavar="NAME:4x3x8", multiple=True, help="Shape of an input to be fastest at.")
@click.option("--max-shape", "largest", metavar="NAME:8x3x8", multiple=True, help="Largest shape of an input.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), default=600, show_default=True)
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    context: click.Context,
    model: Path,
    target: str | None,
    output: Path | None,
    engine: str | None,
    sm: str | None,
    parse_only: bool,
    workspace: int | None,
    shapes: tuple[str, ...],
    smallest: tuple[str, ...],
    usual: tuple[str, ...],
    largest: tuple[str, ...],
    timeout: float,
    output_format: str,
) -> None:
    """Ask the parser whether it takes MODEL, and build an engine from it.

    Parser and builder run in a process of their own. Exit code 0: built (or parsed); 1: refused, failed, crashed or
    stopped; 2: a file that cannot be read or a wrong option; 4: neither TensorRT nor TensorRT-RTX can be used here.
    """
    from onnxfix import engines

    profiles = _profiles(parse_shapes(shapes), smallest, usual, largest)
    engine = _engine_of(target, engine, model)
    state = current_state()
    show = state.progress()
    if show is not None:
        show(f"{'parsing' if parse_only else 'building'} {model}")
    try:
        if parse_only:
            parsed, built = engines.parse(model, engine, timeout), None
        else:
            built = engines.build(
                model,
                output or model.with_suffix(".engine"),
                engine=engine,
                sm=[text.strip().replace(".", "") for text in sm.split(",")] if sm else (),
                workspace=workspace,
                profiles=profiles,
                timeout=timeout,
            )
            parsed = built.parse
    finally:
        if show is not None:
            show("")
    verdict = str(parsed.verdict if built is None else built.verdict)
    exit_code = 0 if verdict in ("parsed", "built") else 1
    if output_format == "json":
        from onnxfix.report.json import document, dumps

        entry = {"path": str(model), "build": {"verdict": verdict, **_as_json(parsed, built)}}
        click.echo(dumps(document([entry], exit_code=exit_code)), nl=False)
    else:
        state.out().lines((line,) for line in _lines(model, parsed, built))
        if built is not None and built.verdict == "built" and built.note:
            state.note(f"note: {built.note}")
    context.exit(exit_code)


def _engine_of(target: str | None, engine: str | None, model: Path) -> str | None:
    """The engine that `target` asks for, checked against `--engine` and the release that is installed."""
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
        onnx = shlex.quote(str(model))
        raise MissingToolError(f"TensorRT {release} is no Python package; on the device that has it: trtexec --onnx={onnx}")
    chosen = choose(name)
    if not chosen.is_release(wanted.id):
        hint = f"pip install '{chosen.name}=={release}.*', or leave --target out"
        raise MissingToolError(f"{chosen.title} {chosen.version()} is installed, not {release}; {hint}")
    return name


def _profiles(
    fixed: dict[str, tuple[int, ...]], smallest: tuple[str, ...], usual: tuple[str, ...], largest: tuple[str, ...]
) -> dict[str, ShapeRange]:
    from onnxfix.engines import ShapeRange

    low, middle, high = (
        parse_shapes(values, option)
        for values, option in ((smallest, "--min-shape"), (usual, "--opt-shape"), (largest, "--max-shape"))
    )
    profiles = {name: ShapeRange(shape, shape, shape) for name, shape in fixed.items()}
    for name in {**low, **middle, **high}:
        if name in fixed:
            raise UsageError(f"input {name}: give --shape, or --min-shape, --opt-shape and --max-shape, not both")
        if name not in low or name not in high:
            missing = "--min-shape" if name not in low else "--max-shape"
            raise UsageError(f"input {name}: {missing} is missing; give --min-shape, --max-shape and best --opt-shape")
        profiles[name] = ShapeRange(low[name], middle.get(name, high[name]), high[name])
    return profiles


def _as_json(parsed: ParseResult, built: BuildResult | None) -> dict[str, Any]:
    from dataclasses import asdict

    facts: dict[str, Any] = {"parse": asdict(parsed)}
    if built is not None:
        facts |= {
            "output": str(built.output) if built.output is not None else None,
            "bytes": built.size,
            "seconds": round(built.seconds, 3),
            "sm": list(built.sm),
            "messages": list(built.messages),
            "note": built.note,
        }
    return facts


def _lines(model: Path, parsed: ParseResult, built: BuildResult | None) -> list[str]:
    from onnxfix.engines.choice import tool

    title = f"{tool(parsed.engine).title} {parsed.version}".rstrip()
    if parsed.verdict != "parsed":
        how = {"refused": "refuses it", "crashed": "crashed on it", "timeout": "did not come to an end"}[parsed.verdict]
        lines = [f"{model}: the parser of {title} {how}"]
        for error in parsed.errors:
            where = f"graph/node[{error.node}] {error.op_type} {error.name}".rstrip() if error.node >= 0 else "model"
            lines.append(f"  {where}: {error.code} {error.message}")
        return lines if parsed.errors else lines + [f"  {message}" for message in parsed.messages]
    from onnxfix.report.text import count

    lines = [f"{model}: parsed by {title}, {count(parsed.layers, 'layer')}"]
    if built is None:
        return lines
    if built.verdict != "built":
        how = {"failed": "failed", "crashed": "crashed", "timeout": "did not come to an end"}[built.verdict]
        return [*lines, f"the builder {how}; no engine was written", *(f"  {message}" for message in built.messages)]
    home = "the GPU here" if not built.sm else "compute capability " + ", ".join(f"{s[:-1]}.{s[-1]}" for s in built.sm)
    lines.append(f"built {built.output}: {built.size} bytes in {built.seconds:.2f} s, for {home}")
    return lines

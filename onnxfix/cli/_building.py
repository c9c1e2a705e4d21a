"""The options of a build, which `build`, `repair --build`, `bench` and `run` share, and what they show of its result."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._options import PathType, parse_ranges, parse_shapes
from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnxfix.engines import BuildOptions, BuildResult, ParseResult, ShapeRange
    from onnxfix.engines.fault import Fault
    from onnxfix.targets import Target

ENGINES = ("tensorrt", "tensorrt-rtx")
_FILE = PathType(path_type=Path)
# The options that every command with a build has; `build` has more.
_COMMON = (
    click.option("--sm", metavar="86,89", help="GPU architectures to build for (TensorRT-RTX).  [the GPU here, else 86]"),
    click.option("--fp16", is_flag=True, help="Compute in float16 too; where types are those of the file, convert it first."),
    click.option("--bf16", is_flag=True, help="Compute in bfloat16 too."),
    click.option("--int8", is_flag=True, help="Compute in INT8 too; the model has to be quantized."),
    click.option("--fp8", is_flag=True, help="Compute in FP8 too; the model has to be quantized."),
    click.option("--tf32", is_flag=True, help="Compute float32 with ten bits of fraction."),
    click.option("--strongly-typed", is_flag=True, help="Compute in the types of the file, nothing else."),
    click.option("--workspace", metavar="MIB", type=click.IntRange(min=0), help="Limit of the builder's scratch memory."),
    click.option("--opt-level", metavar="0..5", type=click.IntRange(0, 5), help="How long to look for faster kernels."),
    click.option("--timing-cache", metavar="FILE", type=_FILE, help="Kernel timings, kept from build to build."),
    click.option("--version-compatible", is_flag=True, help="The engine also runs on later minor releases."),
    click.option(
        "--hardware-compatible",
        type=click.Choice(["ampere+", "same-compute-capability"]),
        default=None,
        help="GPUs that the engine runs on besides this one.",
    ),
    click.option(
        "--plugin-library", "plugins", metavar="FILE", type=_FILE, multiple=True, help="A library of plugins to load (repeatable)."
    ),
    click.option("--refit", is_flag=True, help="Weights can be replaced in the engine."),
    click.option("--strip", is_flag=True, help="Leave out the weights that a refit brings back."),
)
_NAMES = (
    "sm",
    "fp16",
    "bf16",
    "int8",
    "fp8",
    "tf32",
    "strongly_typed",
    "workspace",
    "opt_level",
    "timing_cache",
    "version_compatible",
    "hardware_compatible",
    "plugins",
    "refit",
    "strip",
)


def build_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a build; they arrive as keyword arguments for `options_of`."""
    for option in reversed(_COMMON):
        function = option(function)
    return function


def options_of(given: Mapping[str, Any], profiles: Mapping[str, ShapeRange]) -> BuildOptions:
    """The build options in a command's keyword arguments."""
    from onnxfix.engines import BuildOptions

    sm = given["sm"]
    return BuildOptions(
        sm=tuple(text.strip().replace(".", "") for text in sm.split(",")) if sm else (),
        profiles=profiles,
        precision=frozenset(name for name in ("fp16", "bf16", "int8", "fp8", "tf32") if given[name]),
        strongly_typed=given["strongly_typed"],
        workspace=given["workspace"],
        opt_level=given["opt_level"],
        timing_cache=given["timing_cache"],
        version_compatible=given["version_compatible"],
        hardware_compatible=given["hardware_compatible"] or "",
        plugins=given["plugins"],
        refit=given["refit"],
        strip=given["strip"],
    )


def profiles_of(
    shapes: tuple[str, ...],
    smallest: tuple[str, ...] = (),
    usual: tuple[str, ...] = (),
    largest: tuple[str, ...] = (),
) -> dict[str, ShapeRange]:
    """The optimization profile that `--shape`, `--min-shape`, `--opt-shape` and `--max-shape` give.

    Raises:
        UsageError: an input has no smallest or largest shape, or two ways at once.
    """
    from onnxfix.engines import ShapeRange

    whole = parse_ranges(shapes)
    low, middle, high = (
        parse_shapes(values, option)
        for values, option in ((smallest, "--min-shape"), (usual, "--opt-shape"), (largest, "--max-shape"))
    )
    profiles = {name: ShapeRange(given[0], given[len(given) // 2], given[-1]) for name, given in whole.items()}
    for name in {**low, **middle, **high}:
        if name in whole:
            raise UsageError(f"input {name}: give --shape, or --min-shape, --opt-shape and --max-shape, not both")
        if name not in low or name not in high:
            missing = "--min-shape" if name not in low else "--max-shape"
            raise UsageError(f"input {name}: {missing} is missing; give --min-shape, --max-shape and best --opt-shape")
        profiles[name] = ShapeRange(low[name], middle.get(name, high[name]), high[name])
    return profiles


def device_line(target: Target, model: Path, options: BuildOptions) -> str:
    """The trtexec command that does on a device what `options` ask for, with what that release cannot and what is not known."""
    from onnxfix.model.interface import open_inputs
    from onnxfix.model.load import load_model
    from onnxfix.targets.trtexec import Wishes, trtexec

    values: dict[str, str | bool | tuple[str, ...]] = {
        name.replace("_", "-"): True
        for name in ("strongly_typed", "version_compatible", "refit", "strip")
        if getattr(options, name)
    }
    for name, value in (
        ("workspace", options.workspace),
        ("opt-level", options.opt_level),
        ("timing-cache", options.timing_cache),
        ("hardware-compatible", options.hardware_compatible.replace("same-compute-capability", "sameComputeCapability") or None),
    ):
        if value is not None:
            values[name] = str(value)
    values["plugin"] = tuple(map(str, options.plugins))
    shapes = {name: (each.min, each.opt, each.max) for name, each in options.profiles.items()}
    line, lacking = trtexec(target, str(model), Wishes(shapes, options.precision, values, str(model.with_suffix(".engine"))))
    unknown = {} if target.implicit_batch else open_inputs(load_model(model).proto)
    missing = [f"{name} is {shape}: give --shape" for name, shape in unknown.items() if name not in options.profiles]
    return f"{line} ({'; '.join([*lacking, *missing])})" if lacking or missing else line


def exit_code_of(verdict: str) -> int:
    """0 for what was made, 1 for a refusal or a failure, 2 for a crash or where the time was up."""
    return {"parsed": 0, "built": 0, "refused": 1, "failed": 1}.get(verdict, 2)


def as_json(parsed: ParseResult, built: BuildResult | None) -> dict[str, Any]:
    """The facts of a build for a report; the layers stay in the engine's own record."""
    facts: dict[str, Any] = {"parse": {name: value for name, value in dataclasses.asdict(parsed).items() if name != "log"}}
    if built is not None:
        facts |= {
            "output": str(built.output) if built.output is not None else None,
            "bytes": built.size,
            "sha256": built.sha256 or None,
            "seconds": round(built.seconds, 3),
            "sm": list(built.sm),
            "messages": list(built.messages),
            "notes": list(built.notes),
            "settings": dict(built.settings),
        }
    return facts


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A build as a part of a longer command: what it showed, the exit code, and the entry of the report."""

    lines: tuple[str, ...]
    notes: tuple[str, ...]
    exit_code: int
    entry: dict[str, Any]
    output: Path | None


def build_step(
    model: Path, output: Path, options: BuildOptions, engine: str | None, timeout: float, progress: Callable[[str], None] | None
) -> Step:
    """Build one engine; where it fails, its log is saved beside where the engine would be.

    Raises:
        OnnxfixError: as `onnxfix.engines.build`.
    """
    import shlex

    from onnxfix import engines
    from onnxfix.engines.fault import fault_of
    from onnxfix.model.load import write_bytes

    built = engines.build(model, output, options, engine=engine, timeout=timeout, progress=progress)
    said = lines(str(model), built.parse, built)
    notes = list(built.notes) if built.verdict == "built" else []
    fault = fault_of(built, shlex.quote(str(model)))
    if fault is not None:
        log = output.with_name(f"{output.name}.log")
        write_bytes(log, built.parse.log.encode())
        said += fault_lines(fault)
        notes.append(f"log: {log}")
    entry = {"verdict": str(built.verdict), **as_json(built.parse, built), "fault": fault.as_json() if fault is not None else None}
    return Step(tuple(said), tuple(notes), exit_code_of(built.verdict), entry, built.output)


def frozen_and_ranges(shapes: tuple[str, ...]) -> tuple[dict[str, tuple[int, ...]], dict[str, ShapeRange]]:
    """`--shape` of a command that repairs and builds: one shape freezes the input, a range is a profile of the engine."""
    single = {name: given[0] for name, given in parse_ranges(shapes).items() if len(given) == 1}
    return single, {name: each for name, each in profiles_of(shapes).items() if name not in single}


def fault_lines(fault: Fault) -> list[str]:
    """Whose fault a failure is and what to do, in two lines."""
    return [f"at fault: {fault.whose}: {fault.why}", *(f"do: {step}" for step in fault.steps)]


def lines(model: str, parsed: ParseResult, built: BuildResult | None) -> list[str]:
    """What became of one build, for people."""
    from onnxfix.engines.choice import tool
    from onnxfix.report.text import count

    title = f"{tool(parsed.engine).title} {parsed.version}".rstrip()
    if parsed.verdict != "parsed":
        how = {"refused": "refuses it", "crashed": "crashed on it", "timeout": "did not come to an end"}[parsed.verdict]
        found = [f"{model}: the parser of {title} {how}"]
        for error in parsed.errors:
            where = f"graph/node[{error.node}] {error.op_type} {error.name}".rstrip() if error.node >= 0 else "model"
            found.append(f"  {where}: {error.code} {error.message}")
        return found if parsed.errors else found + [f"  {message}" for message in parsed.messages]
    found = [f"{model}: parsed by {title}, {count(parsed.layers, 'layer')}"]
    if built is None:
        return found
    if built.verdict != "built":
        how = {"failed": "failed", "crashed": "crashed", "timeout": "did not come to an end"}[built.verdict]
        return [*found, f"the builder {how}; no engine was written", *(f"  {message}" for message in built.messages)]
    home = "the GPU here" if not built.sm else "compute capability " + ", ".join(f"{s[:-1]}.{s[-1]}" for s in built.sm)
    found.append(f"built {built.output}: {built.size} bytes in {built.seconds:.2f} s, for {home}")
    return found

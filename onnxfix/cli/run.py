"""`onnxfix run MODEL`: lint, repair, prove, parse, build and bench in one command, as far as this machine goes."""

from __future__ import annotations

import dataclasses
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._building import build_options, build_step, device_line, fault_lines, frozen_and_ranges, options_of
from onnxfix.cli._files import STDIN, failed, open_or_skip
from onnxfix.cli._options import NAME
from onnxfix.cli._output import Output, check_written, finish
from onnxfix.cli._settings import chosen_rules, the_target
from onnxfix.cli._state import current_state
from onnxfix.cli.repair import allowed
from onnxfix.errors import MissingToolError, OnnxfixError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxfix.cli._state import State
    from onnxfix.engines import BuildOptions
    from onnxfix.engines.fault import Fault
    from onnxfix.model.load import LoadedModel
    from onnxfix.results import RepairReport
    from onnxfix.targets import Target

# Without a GPU: Ampere (RTX 30 series, A10) and Blackwell (RTX 50 series), the oldest and the newest that are common.
_ARCHITECTURES = ("86", "120")


@dataclasses.dataclass(slots=True)
class _Journey:
    """How far one run has come: what each step said, and the report's entry."""

    state: State
    show: bool
    entry: dict[str, Any] = dataclasses.field(default_factory=dict)
    ends: list[str] = dataclasses.field(default_factory=list)

    def say(self, step: str, *texts: str) -> None:
        """Print what a step has to say, the step's name before the first line."""
        if self.show:
            self.state.out().lines(((f"{step:<8}" if not index else " " * 8, "bold"), text) for index, text in enumerate(texts))

    def end(self, step: str, why: str) -> None:
        """Say that a step cannot be made here, and why."""
        self.ends.append(f"{step}: {why}")
        self.say(step, f"not done: {why}")


@click.command(name="run", short_help="All of it: lint, repair, prove, parse, build, bench.")
@click.argument("model", metavar="MODEL", type=NAME)
@click.option("-t", "--target", "targets", metavar="TARGET", multiple=True, help="The release to run on.")
@click.option("-o", "--output", metavar="FILE", type=NAME, help="The repaired model.  [MODEL.fixed.onnx]")
@click.option("--allow", metavar="LEVEL|CODE", multiple=True, help="Rewrites to allow, as `onnxfix repair` has it.")
@click.option("--samples", type=click.IntRange(min=1), default=8, show_default=True, help="Inputs to prove the repair on.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the inputs.")
@click.option(
    "--shape",
    "shapes",
    metavar="NAME:1x3x8..4x3x8",
    multiple=True,
    help="Freeze an input's shape; a range is the engine's profile.",
)
@build_options
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), default=600, help="For the build.")
@click.option("--no-bench", is_flag=True, help="Stop after the build.")
@click.option("--duration", metavar="SECONDS", type=click.FloatRange(min=0), default=3, show_default=True, help="To measure each.")
@click.option("--save", "saved", metavar="FILE", type=NAME, help="The raw samples.  [the repaired model's name with .bench.json]")
@click.option("--report", "report_file", metavar="FILE", type=NAME, help="Write the report as JSON too.")
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str,
    targets: tuple[str, ...],
    output: str | None,
    allow: tuple[str, ...],
    samples: int,
    seed: int,
    shapes: tuple[str, ...],
    timeout: float,
    no_bench: bool,
    duration: float,
    saved: str | None,
    report_file: str | None,
    output_format: str,
    **given: Any,
) -> None:
    """Lint MODEL, repair it, prove the result, let the parser take it, build an engine, and measure the old against the new.

    Each step says what came of it; where this machine ends, such as without a GPU, that is said and the rest left out. Exit
    code 0: all that this machine can do went well; 1: errors are left, the parser or builder refuses it, or outputs are wrong;
    2: a file or option is wrong, a library crashed; 3: the repair could not be proven.
    """
    from onnxfix.api import RepairOptions
    from onnxfix.model.files import check_output

    state = current_state()
    config = state.settings()
    target = the_target(targets, config, ": an engine is for one")
    frozen, ranges = frozen_and_ranges(shapes)
    level, consent = allowed(allow)
    options = RepairOptions(allow=level, consent=consent, selection=chosen_rules(config), samples=samples, seed=seed, shapes=frozen)
    if report_file is not None:
        check_output(Path(report_file))
    journey = _Journey(state, output_format == "text")
    if model == STDIN:
        raise UsageError("run reads a file, not standard input")
    begin = time.perf_counter()
    loaded = open_or_skip(model, state, skip_pointers=False)
    assert loaded is not None
    where = Output(output, in_place=False, backup=False, keep_external=False, stamp=False, dry="")
    try:
        code = _travel(loaded, target, options, where, options_of(given, ranges), journey, (timeout, no_bench, duration, saved))
    except OnnxfixError as error:
        text, code = failed(model, error, state)
        journey.entry["error"] = text
        journey.ends.append("stopped by the error above")
    journey.say(
        "end",
        *(journey.ends or ["every step was made" if not code else "not all steps were made"]),
        f"{time.perf_counter() - begin:.0f} s in all",
    )
    if output_format == "json" or report_file is not None:
        from onnxfix.model.load import write_bytes
        from onnxfix.report.json import document, dumps

        entry = {"path": model, **journey.entry, "not_done": journey.ends}
        bench = entry.pop("bench", None)
        whole = document([entry], exit_code=code, config_files=config.files)
        text = dumps(whole if bench is None else {**whole, "bench": bench})
        if report_file is not None:
            write_bytes(Path(report_file), text.encode())
        if output_format == "json":
            click.echo(text, nl=False)
    context.exit(code)


def _travel(
    loaded: LoadedModel,
    target: Target,
    options: Any,
    where: Output,
    build: BuildOptions,
    journey: _Journey,
    more: tuple[float, bool, float, str | None],
) -> int:
    """All steps in their order; the exit code."""
    from onnxfix.engines.profile import usual_profile

    timeout, no_bench, duration, saved = more
    progress = journey.state.progress()
    try:
        code, report, model = _repair(loaded, target, options, where, journey, progress)
        if code:
            return code
        proof = report.proof
        sizes = proof.bindings[0] if proof is not None and proof.bindings else None
        profiles = dict(build.profiles) or usual_profile(loaded.proto, sizes)
        build = dataclasses.replace(build, profiles=profiles)
        code = _build(model, target, build, timeout, journey, progress)
        if code or no_bench:
            return code
        return _bench(
            loaded, model, build, options.seed, duration, Path(saved or model.with_suffix(".bench.json")), journey, progress
        )
    finally:
        if progress is not None:
            progress("")


def _repair(
    loaded: LoadedModel,
    target: Target,
    options: Any,
    where: Output,
    journey: _Journey,
    progress: Callable[[str], None] | None,
) -> tuple[int, RepairReport, Path]:
    """Lint, repair and prove; the model that goes on is the repaired one, or the one given where nothing was to do."""
    from onnxfix.api import repair_model
    from onnxfix.report.json import repair_entry
    from onnxfix.report.repair_text import repair_lines
    from onnxfix.report.text import View, count

    file = str(loaded.path)
    path = where.of(file, several=False)
    check_written(loaded, path, where, [file])
    report, data = repair_model(loaded, (target,), options, progress)
    (before,) = report.before
    found = f"{count(before.count('error'), 'error')}, {count(before.count('warning'), 'warning')}"
    codes = ", ".join(dict.fromkeys(finding.code for finding in before.findings if finding.severity == "error"))
    # what the configuration hides is left out of the verdict, and the parser will see it all the same
    names = ", ".join(dict.fromkeys(finding.code for finding in before.hidden))
    hidden = f"; {count(len(before.hidden), 'finding')} hidden by the configuration ({names})" if before.hidden else ""
    journey.say("lint", f"{file} for {target.title}: {before.verdict}, {found}{f' ({codes})' if codes else ''}{hidden}")
    report, outcome = finish(loaded, report, data, path, where)
    journey.entry |= repair_entry(report)
    if report.status in ("clean", "repaired"):
        fixes = [fix.title for fix in report.applied]
        titles = [f"{title}{f' (x{fixes.count(title)})' if fixes.count(title) > 1 else ''}" for title in dict.fromkeys(fixes)]
        journey.say("repair", *(titles or ["nothing to repair"]), outcome)
        if report.applied:
            journey.say("prove", _proof_words(report))
        return 0, report, Path(report.output or file)
    journey.say("repair", f"{report.status}; {outcome}")
    if journey.show:
        journey.state.out().lines(repair_lines(report, View(), outcome=outcome))
    fault = _fault(report)
    journey.entry["fault"] = fault.as_json()
    journey.say("fault", *fault_lines(fault))
    return (3 if report.status == "unproven" else 1), report, path


def _fault(report: RepairReport) -> Fault:
    """Whose fault it is that the model was not repaired."""
    from onnxfix.engines.fault import Fault

    model, target = shlex.quote(report.model.path), report.before[0].target
    consents = list(dict.fromkeys((*report.faults, *(item.consent for item in report.declined if item.consent))))
    if consents:
        codes = ", ".join(consents)
        why = f"it likely wrote something that was not meant ({codes})"
        return Fault("repair", "exporter", why, (f"export with a newer version, or agree: --allow {consents[0]}",))
    if report.status == "unproven" and (report.detail or report.other_inputs):
        return Fault("numbers", "ONNX file", "the model runs nowhere, or not on the inputs that were made", ("pass --shape",))
    if report.status == "unproven":
        step = f"report it, with what `onnxfix reduce {model} -t {target} --until differs` leaves"
        return Fault("numbers", "onnxfix", "a rewrite gives other numbers; nothing was written", (step,))
    left = [finding for finding in report.after[0].findings if finding.severity == "error"]
    what = left[0].location.op_type or left[0].code if left else "a node"
    step = f"`onnxfix explain {left[0].code if left else 'OFX101'}`; export without it, or use a newer release"
    return Fault("repair", "parser", f"{target} does not take {what}, and there is no rewrite for it", (step,))


def _proof_words(report: RepairReport) -> str:
    proof = report.proof
    if proof is None or proof.kind == "structure":
        return "by the structure of both graphs; nothing ran"
    outputs = [output.figures for output in proof.outputs]
    alone = ", changed nodes alone" if proof.kind == "regions" else ""
    worst = "equal to the bit" if proof.exact else max(proof.outputs, key=lambda output: output.max_abs).figures
    return f"{proof.samples} samples, seed {proof.seed}{alone}: {worst if outputs else 'no outputs'}"


def _build(
    model: Path,
    target: Target,
    options: BuildOptions,
    timeout: float,
    journey: _Journey,
    progress: Callable[[str], None] | None,
) -> int:
    """Let the release's own parser take the model and its builder build it, where they are installed."""
    from onnxfix.engines.choice import tool_of
    from onnxfix.engines.tool import gpu_present

    tool = tool_of(target.id)
    if tool is None:
        line = "" if target.family == "rtx" else f"; where it is: {device_line(target, model, options)}"
        journey.end("build", f"the release {target.id} is not installed here, or has no GPU{line}")
        return 0
    if tool.architectures and not options.sm and not gpu_present():
        options = dataclasses.replace(options, sm=_ARCHITECTURES)
    step = build_step(model, model.with_suffix(".engine"), options, tool.name, timeout, progress)
    journey.say("build", *step.lines, *(f"note: {note}" for note in step.notes))
    if options.profiles and step.output is not None:
        shapes = ", ".join(f"{name}:{'x'.join(map(str, each.opt))}" for name, each in options.profiles.items())
        journey.say("", f"note: sizes that are open were built for {shapes}; --shape NAME:SMALLEST..LARGEST gives others")
    journey.entry["build"] = step.entry
    return step.exit_code


def _bench(
    loaded: LoadedModel,
    model: Path,
    build: BuildOptions,
    seed: int,
    duration: float,
    saved: Path,
    journey: _Journey,
    progress: Callable[[str], None] | None,
) -> int:
    """Measure the original against the repaired model: on the GPU where there is one, else on the CPU by onnxruntime."""
    from onnxfix.bench.measure import Plan
    from onnxfix.bench.raw import save
    from onnxfix.bench.run import BenchOptions, bench, names_of
    from onnxfix.engines.tool import gpu_present
    from onnxfix.report.bench_text import bench_entry, bench_lines

    changed = bool(journey.entry["repair"]["applied"])
    files = [Path(loaded.path), model] if changed else [model]
    engine = "onnxruntime"
    if gpu_present():
        engine = str(journey.entry["build"]["parse"]["engine"]) if "build" in journey.entry else engine
    if engine == "onnxruntime":
        journey.end("gpu", "GPU times need an NVIDIA GPU with the target's TensorRT; what follows was timed on the CPU")
    shapes = {name: each.opt for name, each in build.profiles.items()}
    try:
        found = bench(
            files,
            BenchOptions(engine=engine, plan=Plan(duration=duration), seed=seed, shapes=shapes, build=build),
            progress,
        )
    except MissingToolError as error:
        journey.end("bench", str(error))
        return 0
    save(found, saved)
    journey.entry["bench"] = bench_entry(found)
    if progress is not None:
        progress("")
    consents = sorted({fix["consent"] for fix in journey.entry["repair"]["applied"] if fix["consent"]})
    if consents:
        journey.say(
            "bench", f"by your consent ({', '.join(consents)}) the repaired model computes something else than the original"
        )
    if journey.show:
        journey.say("bench", f"raw samples: {saved}")
        journey.state.out().lines(bench_lines(found))
    # An original that this release does not take, or that nothing runs, is why it was repaired.
    return int(names_of(files)[-1] in found.left_out)

"""`onnxfix repair MODEL...`: rewrite what the target cannot parse, prove the result equal, write it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._building import ENGINES, build_options, build_step, frozen_and_ranges, options_of
from onnxfix.cli._files import STDIN, check_report, expand, failed, files_of, open_or_skip, worst
from onnxfix.cli._options import NAME, check_inputs, read_inputs
from onnxfix.cli._output import FIXED, Output, check_outputs, check_written, finish, keep_inputs, written
from onnxfix.cli._settings import NO_TARGET, chosen_rules, chosen_targets
from onnxfix.cli._state import State, current_state
from onnxfix.errors import OnnxfixError, UsageError

if TYPE_CHECKING:
    from onnxfix.api import RepairOptions
    from onnxfix.engines import BuildOptions
    from onnxfix.targets import Target

_LEVELS = ("exact", "equivalent", "approximate")


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """What is the same for all models of one run; `words` are the options that a suggested command repeats."""

    state: State
    targets: tuple[Target, ...]
    options: RepairOptions
    inputs_file: str | None
    output: Output
    models: tuple[str, ...]
    words: tuple[str, ...]
    skip_pointers: bool
    report: str | None
    show: bool
    ask_parser: bool
    build: _Build | None


@dataclasses.dataclass(frozen=True, slots=True)
class _Build:
    """The engine that each repaired model becomes."""

    engine: str | None
    options: BuildOptions
    timeout: float


@click.command(name="repair")
@click.argument("models", metavar="MODEL...", type=NAME, nargs=-1)
@click.option(
    "-o", "--output", metavar="FILE", type=NAME, help="Where to write: a file, or a folder for several models.  [MODEL.fixed.onnx]"
)
@click.option("--in-place", is_flag=True, help="Replace the model; the old one is kept as MODEL.bak.")
@click.option("--no-backup", is_flag=True, help="With --in-place, keep no MODEL.bak.")
@click.option(
    "-t", "--target", "targets", metavar="TARGET", multiple=True, help="The release to repair for; several: for all of them."
)
@click.option("--diff", is_flag=True, help="Show what would change and write nothing; exit with 1 if anything would.")
@click.option("--dry-run", is_flag=True, help="As --diff, without the differences.")
@click.option("--only", metavar="CODES", multiple=True, help="Repair only what rules that begin so find (repeatable).")
@click.option("--skip", metavar="CODES", multiple=True, help="Not what rules that begin so find (repeatable).")
@click.option(
    "--allow",
    metavar="LEVEL|CODE",
    multiple=True,
    help="Rewrites to allow: exact, equivalent (the default) or approximate; a rule's code consents to its fix.",
)
@click.option("--no-verify", is_flag=True, help="Write without running both models; the report says so.")
@click.option("--rtol", type=click.FloatRange(min=0), help="Relative error allowed.  [by element type]")
@click.option("--atol", type=click.FloatRange(min=0), help="Absolute error allowed.  [rtol * largest magnitude]")
@click.option("--samples", type=click.IntRange(min=1), default=8, show_default=True, help="Inputs to run both models on.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the inputs.")
@click.option("--shape", "shapes", metavar="NAME:1x3x8x8", multiple=True, help="Freeze an input's shape (repeatable).")
@click.option("--inputs", "inputs_file", metavar="FILE.npz", type=NAME, help="Run both models on these inputs instead.")
@click.option("--simplify", is_flag=True, help="Begin with what onnxslim makes of the model, where that is proven equal.")
@click.option("--max-passes", type=click.IntRange(min=1), default=100, show_default=True, help="When to stop trying.")
@click.option(
    "--external-data",
    type=click.Choice(["keep", "copy"]),
    default="copy",
    help="External weights: copy them to the output's folder where that is another, or keep them where they are.",
)
@click.option("--stamp/--no-stamp", default=False, help="Record version, targets and rules in the model's metadata.")
@click.option("--partial", is_flag=True, help="Write what was repaired and proven even where errors remain.")
@click.option("--ask-parser", is_flag=True, help="Write nothing that the TensorRT or TensorRT-RTX parser installed here refuses.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 when a model was changed, as a commit hook has to.")
@click.option("--skip-pointers", is_flag=True, help="Pass over Git LFS pointers instead of failing.")
@click.option("--build", "builds", is_flag=True, help="Build an engine of what was repaired; the options below are for it.")
@click.option("--engine", type=click.Choice(ENGINES), help="What builds.  [whichever can be used here]")
@build_options
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), default=600, help="For one build.")
@click.option("--report", "report_file", metavar="FILE", type=NAME, help="Write the report as JSON too.")
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    context: click.Context,
    /,
    models: tuple[str, ...],
    output: str | None,
    in_place: bool,
    no_backup: bool,
    targets: tuple[str, ...],
    diff: bool,
    dry_run: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    allow: tuple[str, ...],
    no_verify: bool,
    rtol: float | None,
    atol: float | None,
    samples: int,
    seed: int,
    shapes: tuple[str, ...],
    inputs_file: str | None,
    simplify: bool,
    max_passes: int,
    external_data: str,
    stamp: bool,
    partial: bool,
    ask_parser: bool,
    exit_non_zero_on_fix: bool,
    skip_pointers: bool,
    builds: bool,
    engine: str | None,
    timeout: float,
    report_file: str | None,
    output_format: str,
    **given: Any,
) -> None:
    """Rewrite what a TensorRT release cannot parse, prove the result equal by running both models, and write it.

    Nothing is written that was not proven, and the model itself is never changed without --in-place.
    """
    state = current_state()
    config = state.settings()
    if not models:
        raise UsageError("no model given (see `onnxfix repair --help`)")
    if output is not None and in_place:
        raise UsageError("--output and --in-place exclude each other")
    if no_backup and not in_place:
        raise UsageError("--no-backup has a meaning only with --in-place")
    chosen = chosen_targets(targets, config)
    if not chosen:
        raise UsageError(NO_TARGET)
    from onnxfix.api import RepairOptions
    from onnxfix.model.files import check_output
    from onnxfix.rules.select import check_prefixes

    level, consent = allowed(allow)
    frozen, ranges = frozen_and_ranges(shapes)
    if ranges and not builds:
        raise UsageError(f"--shape {next(iter(ranges))}:...: a range is a profile of an engine; add --build, or freeze one shape")
    if builds and (diff or dry_run):
        raise UsageError("--build builds what is written; leave out --diff and --dry-run")
    options = RepairOptions(
        allow=level,
        consent=consent,
        only=check_prefixes(only, "--only"),
        skip=check_prefixes(skip, "--skip"),
        selection=chosen_rules(config),
        verify=not no_verify,
        samples=samples,
        seed=seed,
        shapes=frozen,
        inputs=read_inputs(Path(inputs_file)) if inputs_file is not None else None,
        rtol=rtol,
        atol=atol,
        max_passes=max_passes,
        partial=partial,
        simplify=simplify,
    )
    dry = "--diff" if diff else "--dry-run" if dry_run else ""
    where = Output(output, in_place, not no_backup, external_data == "keep", stamp, dry)
    files = list(expand(models, skip_suffix=FIXED))
    names = [file for file in files if isinstance(file, str)]
    check_outputs(names, where)
    if report_file is not None:
        outputs = [where.of(name, several=len(names) > 1) for name in names]
        check_output(Path(report_file), makes_folder=Path(report_file).parent in [output.parent for output in outputs])
        others = (*names, *config.files, *([inputs_file] if inputs_file is not None else []))
        check_report(report_file, [*outputs, *map(Path, others)])

    repeated = (("--shape", shapes), ("--allow", allow), ("--only", only), ("--skip", skip))
    words = tuple(word for name, values in repeated for value in values for word in (name, value))
    words += ("--simplify",) * simplify + ("--ask-parser",) * ask_parser
    show = output_format == "text"
    build = _Build(engine, options_of(given, ranges), timeout) if builds else None
    run = _Run(state, chosen, options, inputs_file, where, tuple(names), words, skip_pointers, report_file, show, ask_parser, build)
    entries: list[dict[str, Any]] = []
    codes = []
    for file in files:
        try:
            if isinstance(file, OnnxfixError):
                raise file
            code, entry = _repair(file, run)
        except Exception as error:
            text, code = failed(file, error, state)
            entry = {"path": str(file), "error": text}
        if exit_non_zero_on_fix and code == 0 and entry is not None and entry["repair"]["output"] is not None:
            code = int(entry["repair"]["status"] != "clean")
        codes.append(code)
        if entry is not None:
            entries.append(entry)
    code = worst(codes)
    if run.show and len(entries) > 1 and not state.quiet:
        from onnxfix.report.text import summary

        outcomes = [entry["repair"]["status"] if "repair" in entry else "failed" for entry in entries]
        state.out().line((summary(len(entries), ["fine" if outcome == "clean" else outcome for outcome in outcomes]),))
    if output_format == "json" or report_file is not None:
        from onnxfix.model.load import write_bytes
        from onnxfix.report.json import document, dumps

        text = dumps(document(entries, exit_code=code, config_files=config.files))
        if report_file is not None:
            write_bytes(Path(report_file), text.encode("utf-8"))
        if output_format == "json":
            click.echo(text, nl=False)
    context.exit(code)


def allowed(values: tuple[str, ...]) -> tuple[Any, frozenset[str]]:
    """The most permissive level of `--allow`, and the rules whose fixes have the user's consent."""
    from onnxfix.rules.rule import rule_codes
    from onnxfix.targets._files import suggest

    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    levels = [word.lower() for word in words if word.lower() in _LEVELS]
    codes = {word.upper() for word in words if word.lower() not in _LEVELS}
    known = rule_codes()
    for code in sorted(codes):
        if code not in known:
            raise UsageError(
                f"--allow {code}: neither a level ({', '.join(_LEVELS)}) nor a rule's code{suggest(code, (*_LEVELS, *known))}"
            )
    return max(levels, key=_LEVELS.index, default="equivalent"), frozenset(codes)


def _repair(file: str, run: _Run) -> tuple[int, dict[str, Any] | None]:
    """Repair one model, write it, show the report; the exit code and the entry of the JSON report."""
    from onnxfix.api import repair_model
    from onnxfix.engines.choice import builds_for
    from onnxfix.report.json import repair_entry
    from onnxfix.report.repair_text import repair_lines
    from onnxfix.report.text import View

    state, output = run.state, run.output
    if file == STDIN:
        raise UsageError("repair reads files, not standard input; `onnxfix lint -` does")
    loaded = open_or_skip(file, state, skip_pointers=run.skip_pointers)
    if loaded is None:
        return 0, None
    target = output.of(file, several=len(run.models) > 1)
    if run.report is not None:
        check_report(run.report, [*files_of(loaded), *written(loaded, target, output)])
    if not output.dry:
        check_written(loaded, target, output, run.models)
    check_inputs(loaded.proto, run.options.inputs, run.inputs_file)
    progress = state.progress()
    try:
        report, data = repair_model(loaded, run.targets, run.options, progress)
        if run.ask_parser and data is not None:
            from onnxfix.asking import ask_of_result

            if progress is not None:
                progress("asking the parser")
            report, data = ask_of_result(report, data, loaded.base_dir)
    finally:
        if progress is not None:
            progress("")
    report, outcome = finish(loaded, report, data, target, output)
    if report.failing and report.status in ("unproven", "declined") and not output.dry and run.options.inputs is None:
        outcome += keep_inputs(report, target)
    if run.show:
        hiding = run.options.selection.words if run.options.selection is not None else ""
        builders = frozenset(target.id for target in run.targets if builds_for(target.id))
        view = View(verbose=state.verbose > 0, quiet=state.quiet, options=run.words, hiding=hiding, builders=builders)
        lines = repair_lines(report, view, outcome=outcome, diff_to=str(target) if output.dry == "--diff" else "")
        state.out().lines([*lines, ()] if len(run.models) > 1 else lines)
    changes = data is not None and data != loaded.data
    code = {"clean": 0, "repaired": 0, "unproven": 3}.get(report.status, 1)
    code, entry = code or int(bool(output.dry) and changes), repair_entry(report)
    if run.build is not None and code == 0:
        code, entry["build"] = _build(Path(report.output or file), run.build, run)
    return code, entry


def _build(model: Path, build: _Build, run: _Run) -> tuple[int, dict[str, Any]]:
    """Build the engine of a model that may be built from; its exit code and its entry in the report."""
    progress = run.state.progress()
    try:
        step = build_step(model, model.with_suffix(".engine"), build.options, build.engine, build.timeout, progress)
    finally:
        if progress is not None:
            progress("")
    if run.show:
        run.state.out().lines((line,) for line in step.lines)
        for note in step.notes:
            run.state.note(f"note: {note}")
    return step.exit_code, step.entry

"""`onnxfix lint PATH...`: say which nodes the target cannot parse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._files import STDIN, check_report, expand, failed, files_of, open_or_skip, worst
from onnxfix.cli._options import NAME, parse_shapes
from onnxfix.cli._settings import NO_TARGET, chosen_rules, chosen_targets
from onnxfix.cli._state import State, current_state
from onnxfix.errors import OnnxfixError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnxfix.config import Config
    from onnxfix.report.console import Line
    from onnxfix.report.text import View
    from onnxfix.results import LintReport
    from onnxfix.rules.select import Selection

_LEVELS = ("error", "warning", "info")
_FORMATS = ("text", "concise", "grouped", "json")


@click.command(name="lint")
@click.argument("paths", metavar="PATH...", type=NAME, nargs=-1)
@click.option(
    "-t",
    "--target",
    "targets",
    metavar="TARGET",
    multiple=True,
    help="A release: trt5.1, 5.1, jetpack4.2.2, trt5.1..trt7.1, or all (repeatable). Without one, all releases are shown.",
)
@click.option("--select", metavar="CODES", multiple=True, help="Only rules that begin so, e.g. OFX1,OFX401 (repeatable).")
@click.option("--ignore", metavar="CODES", multiple=True, help="Not the rules that begin so (repeatable).")
@click.option("--extend-select", metavar="CODES", multiple=True, help="These too, on top of --select or the configuration.")
@click.option("--severity", type=click.Choice(_LEVELS), default="info", help="Show findings from this level on.")
@click.option(
    "--fail-on",
    type=click.Choice([*_LEVELS, "never"]),
    default="error",
    show_default=True,
    help="Exit with 1 for findings from this level on.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found; files that cannot be read still give 2.")
@click.option("--shape", "shapes", metavar="NAME:1x3x8x8", multiple=True, help="Read an input with this shape (repeatable).")
@click.option("-f", "--output-format", type=click.Choice(_FORMATS), default=None, help="Default: text; for many targets: grouped.")
@click.option("-o", "--output", metavar="FILE", type=NAME, help="Write the report to FILE instead of standard output.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead of listing them.")
@click.option("--max-findings", metavar="N", type=click.IntRange(min=0), help="Show at most N for each model and target.")
@click.option("--skip-pointers", is_flag=True, help="Pass over Git LFS pointers instead of failing.")
@click.option("--ask-parser", is_flag=True, help="Also ask the installed TensorRT or TensorRT-RTX parser, for its own release.")
@click.option("--require-target", is_flag=True, help="Fail where no target is set, as a commit hook has to.")
@click.option("--show-config", is_flag=True, help="Print the settings that apply and where they come from, and stop.")
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[str, ...],
    targets: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    extend_select: tuple[str, ...],
    severity: str,
    fail_on: str,
    exit_zero: bool,
    shapes: tuple[str, ...],
    output_format: str | None,
    output: str | None,
    statistics: bool,
    max_findings: int | None,
    skip_pointers: bool,
    ask_parser: bool,
    require_target: bool,
    show_config: bool,
) -> None:
    """Say which nodes of the models a TensorRT release cannot parse, why, since when it can, and what fixes it.

    PATH is a file, a folder (every .onnx file below it), a glob pattern, or - for standard input. Weights in external
    files are not read.
    """
    state = current_state()
    config = state.settings()
    chosen = chosen_targets(targets, config)
    selection = chosen_rules(config, select, ignore, extend_select)
    if show_config:
        given = {"targets": tuple(target.id for target in chosen) if targets else ()}
        given |= {"select": selection.select if select or extend_select else (), "ignore": selection.ignore if ignore else ()}
        state.out().lines(_config_lines(config, given))
        return
    if not paths:
        raise UsageError("no path given; name a model, a folder, or - for standard input (see `onnxfix lint --help`)")
    if ask_parser and shapes:
        raise UsageError("--ask-parser asks about the file as it is; leave --shape out")
    matrix = not chosen
    if matrix and require_target:
        raise UsageError(NO_TARGET)
    if matrix:
        from onnxfix.targets import all_targets

        chosen = all_targets()

    from onnxfix.model.files import check_output
    from onnxfix.report.text import WIDE, View
    from onnxfix.rules.finding import Severity

    files = list(expand(paths))
    if output is not None:
        check_output(Path(output))
        check_report(output, [Path(file) for file in (*files, *config.files) if isinstance(file, str)])
    shape_of = parse_shapes(shapes)
    view = View(
        minimum=Severity(severity),
        verbose=state.verbose > 0,
        quiet=state.quiet,
        limit=max_findings,
        options=tuple(word for shape in shapes for word in ("--shape", shape)),
        hiding=selection.words,
    )
    printer = _Printer(state, view, output_format or ("grouped" if matrix or len(chosen) > WIDE else "text"), output, statistics)
    failing = None if fail_on == "never" or exit_zero or matrix else Severity(fail_on)
    codes = []
    for path in files:
        try:
            if isinstance(path, OnnxfixError):
                raise path
            report = _lint(path, state, chosen, selection, shape_of, skip_pointers, output)
            if ask_parser and report is not None:
                report = _answered(report, path, state)
        except Exception as error:
            text, code = failed(path, error, state)
            codes.append(code)
            printer.unreadable(str(path), text)
            continue
        if report is not None:
            found = [finding.severity.rank for target in report.targets for finding in target.findings]
            codes.append(int(failing is not None and any(rank >= failing.rank for rank in found)))
            printer.add(report)
    code = worst(codes)
    printer.end(code, config)
    if matrix and printer.reports:
        state.note("hint: no target is set, so all releases are shown and the exit code says nothing; choose with --target")
    context.exit(code)


def _lint(
    path: str,
    state: State,
    targets: tuple[Any, ...],
    selection: Selection,
    shapes: dict[str, tuple[int, ...]],
    skip_pointers: bool,
    output: str | None,
) -> LintReport | None:
    from onnxfix.api import lint_model

    loaded = open_or_skip(path, state, skip_pointers=skip_pointers)
    if loaded is None:
        return None
    if output is not None:
        check_report(output, files_of(loaded))
    return lint_model(loaded, targets, selection=selection, shapes=shapes or None)


def _answered(report: LintReport, path: str, state: State) -> LintReport:
    """The report with what the installed parser says of the file at `path`."""
    from onnxfix.asking import ask_parsers

    if path == STDIN:
        raise UsageError("--ask-parser needs a file, since the parser reads it itself; save standard input first")
    progress = state.progress()
    if progress is None:
        return ask_parsers(report, Path(path))
    progress(f"{path}: asking the parser")
    try:
        return ask_parsers(report, Path(path))
    finally:
        progress("")


class _Printer:
    """Shows each model's report as soon as it is there; JSON, statistics and files are written at the end."""

    def __init__(self, state: State, view: View, form: str, output: str | None, statistics: bool) -> None:
        self.reports: list[LintReport] = []
        self._state = state
        self._view = view
        self._form = form
        self._output = output
        self._statistics = statistics
        self._entries: list[dict[str, Any]] = []
        self._lines: list[Line] = []
        self._unreadable = 0

    def add(self, report: LintReport) -> None:
        """Show a model's report."""
        self.reports.append(report)
        if self._form == "json":
            from onnxfix.report.json import lint_entry

            self._entries.append(lint_entry(report))
        elif not self._statistics:
            lines = self._render()(report, self._view)
            apart: list[Line] = [()] if len(self.reports) > 1 and self._form != "concise" else []
            self._put(apart + lines)
        if self._form == "concise" or self._statistics:
            from onnxfix.report.text import hidden_lines

            for text in hidden_lines(report, self._view):
                self._state.note(f"note: {report.model.path}: {text}")

    def unreadable(self, path: str, error: str) -> None:
        """Count the file, and keep its place in JSON."""
        self._unreadable += 1
        if self._form == "json":
            from onnxfix.report.json import unreadable

            self._entries.append(unreadable(path, error))

    def end(self, exit_code: int, config: Config) -> None:
        """Write what was kept.

        Raises:
            UsageError: the file of `--output` cannot be written.
        """
        from onnxfix.report.console import plain

        if self._form == "json":
            from onnxfix.report.json import document, dumps
            from onnxfix.report.text import statistics

            report = document(self._entries, exit_code=exit_code, config_files=config.files)
            if self._statistics:
                report["statistics"] = statistics(self.reports, self._view)
            text = dumps(report)
        else:
            if self._statistics:
                from onnxfix.report.text import statistics_lines

                self._put(statistics_lines(self.reports, self._view))
            elif self._form != "concise" and not self._state.quiet:
                from onnxfix.report.text import lint_summary

                counts = lint_summary(self.reports, self._unreadable)
                self._put([(), *((line,) for line in counts)] if counts else [])
            text = plain(self._lines)
        if self._output is not None:
            from onnxfix.model.load import write_bytes

            write_bytes(Path(self._output), text.encode("utf-8"))
        elif self._form == "json":
            click.echo(text, nl=False)

    def _put(self, lines: list[Line]) -> None:
        if self._output is None:
            self._state.out().lines(lines)
        else:
            self._lines += lines

    def _render(self) -> Callable[[LintReport, View], list[Line]]:
        from onnxfix.report.text import concise_lines, grouped_lines, lint_lines

        return {"text": lint_lines, "concise": concise_lines, "grouped": grouped_lines}[self._form]


def _config_lines(config: Config, given: Mapping[str, tuple[str, ...]]) -> list[Line]:
    """Each setting with where it comes from; `given` are those of this command's own options."""
    import json

    from onnxfix.config import KEYS

    lines: list[Line] = [(f"# file: {file}",) for file in config.files] or [("# no configuration file",)]
    for key in KEYS:
        value, source = (given[key], "command line") if given[key] else (getattr(config, key), config.sources[key])
        lines.append((f"{key} = {json.dumps(list(value))}  # {source}",))
    return lines

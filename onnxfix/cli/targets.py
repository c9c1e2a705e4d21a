"""`onnxfix targets [A [B]]`: list the releases, show one, compare two, or ask which of them take a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._options import NAME, parse_shapes
from onnxfix.cli._state import current_state
from onnxfix.errors import OnnxfixError, UsageError

if TYPE_CHECKING:
    from onnxfix.report.console import Line, Part
    from onnxfix.results import LintReport


@click.command(name="targets")
@click.argument("names", metavar="[A [B]]", nargs=-1)
@click.option("--for", "model", metavar="MODEL", type=NAME, help="The releases with their verdict on this model.")
@click.option("--shape", "shapes", metavar="NAME:1x3x8x8", multiple=True, help="With --for: read an input with this shape.")
@click.option("-f", "--output-format", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(names: tuple[str, ...], model: str | None, shapes: tuple[str, ...], output_format: str) -> None:
    """List the TensorRT releases; with A, what it parses; with A and B, what changed from A to B."""
    state = current_state()
    from onnxfix.report import reference
    from onnxfix.report.text import table_lines
    from onnxfix.targets import all_targets, find_target, resolve

    if model is not None:
        report = _verdicts(model, names, shapes)
        entry, lines = _for_entry(report), _for_lines(report)
    elif len(names) > 2:
        raise UsageError(f"targets takes at most two releases, not {len(names)}: what changed from A to B")
    elif len(names) == 2:
        old, new = (find_target(name) for name in names)
        entry, lines = reference.changes(old, new), reference.changes_lines(old, new)
    elif names and len(resolve(names)) == 1:
        target = find_target(names[0])
        entry, lines = reference.target_entry(target), reference.target_lines(target)
    else:
        chosen = resolve(names) if names else all_targets()
        entry = {"targets": [reference.facts(target) for target in chosen]}
        lines = table_lines(reference.targets_rows(chosen))
    if output_format == "json":
        click.echo(json.dumps(entry, indent=2))
    else:
        state.out().lines(lines)


def _verdicts(model: str, names: tuple[str, ...], shapes: tuple[str, ...]) -> LintReport:
    from onnxfix.api import lint_model
    from onnxfix.cli._files import about, open_model
    from onnxfix.targets import all_targets, resolve

    chosen, shape_of = resolve(names) if names else all_targets(), parse_shapes(shapes)
    try:
        return lint_model(open_model(model), chosen, shapes=shape_of or None)
    except OnnxfixError as error:
        raise type(error)(about(model, error)) from None


def _for_entry(report: LintReport) -> dict[str, Any]:
    from onnxfix.report.json import lint_entry
    from onnxfix.report.text import oldest_likely

    entry, oldest = lint_entry(report), oldest_likely(report)
    return {
        "path": entry["path"],
        "sha256": entry["sha256"],
        "targets": entry["targets"],
        "oldest_likely": None if oldest is None else oldest.target,
    }


def _for_lines(report: LintReport) -> list[Line]:
    from onnxfix.report.text import oldest_likely_text, table_lines, verdict_part

    rows: list[list[Part]] = [["release", "verdict", "errors", "first error"]]
    for target in report.targets:
        errors = [finding for finding in target.findings if finding.severity == "error"]
        first = f"{errors[0].code} {errors[0].message}" if errors else ""
        rows.append([target.target, verdict_part(target), str(len(errors)), first])
    return [((report.model.path, "bold"),), *table_lines(rows, right=(2,)), (oldest_likely_text(report),)]

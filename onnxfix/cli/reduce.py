"""`onnxfix reduce MODEL`: the smallest part of a model that still fails in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from onnxfix.cli._files import STDIN, open_or_skip
from onnxfix.cli._options import NAME
from onnxfix.cli._settings import the_target
from onnxfix.cli._state import current_state
from onnxfix.errors import MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxfix.model.load import LoadedModel
    from onnxfix.reducing import Reduced, Until


@click.command(name="reduce", short_help="Make a model small that shows a failure, for a bug report.")
@click.argument("model", metavar="MODEL", type=NAME)
@click.option("-t", "--target", "targets", metavar="TARGET", multiple=True, help="The release that it fails for.")
@click.option(
    "--until",
    type=click.Choice(["blocked", "refused", "build", "differs"]),
    help="What it has to show: refused by lint, by the parser, by the builder, or other numbers after repair.  [the first shown]",
)
@click.option("-o", "--output", metavar="FILE", type=NAME, help="The small model.  [MODEL.reduced.onnx]")
@click.option("--allow", metavar="CODE", multiple=True, help="Consent to a fix, for --until differs (repeatable).")
@click.option("--tests", type=click.IntRange(min=1), default=400, show_default=True, help="Models to try at most.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), default=120, help="For each of them.")
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str,
    targets: tuple[str, ...],
    until: Until | None,
    output: str | None,
    allow: tuple[str, ...],
    tests: int,
    timeout: float,
    output_format: str,
) -> None:
    """Leave out nodes of MODEL as long as it fails in the same way, and write what is left: a model that fits a bug report.

    Weights that are left are the model's own; look at them before you publish the file. Exit code 0: written; 1: it does not
    fail; 2: a file or option is wrong; 4: parser or builder of the target are not installed here.
    """
    from onnxfix.model.files import check_output, same_file
    from onnxfix.model.load import copy_external, parse_model, write_bytes

    state = current_state()
    config = state.settings()
    target = the_target(targets, config)
    if model == STDIN:
        raise UsageError("reduce reads a file, not standard input")
    loaded = open_or_skip(model, state, skip_pointers=False)
    assert loaded is not None
    file = Path(output or f"{model.removesuffix('.onnx')}.reduced.onnx")
    check_output(file)
    if same_file(file, Path(model)):
        raise UsageError(f"{file}: is the model itself; choose another --output")
    show = state.progress()
    try:
        found, way = _reduce(loaded, target.id, until, frozenset(allow), tests, timeout, show)
    finally:
        if show is not None:
            show("")
    copy_external(parse_model(found.data, str(file)), loaded.base_dir, file.parent)
    write_bytes(file, found.data)
    if output_format == "json":
        from onnxfix.report.json import document, dumps

        entry = {
            "path": model,
            "reduced": {
                "path": str(file),
                "until": way,
                "failure": found.failure.words,
                "nodes_before": len(loaded.proto.graph.node),
                "nodes": found.nodes,
                "tests": found.tests,
                "minimal": found.minimal,
            },
        }
        click.echo(dumps(document([entry], exit_code=0, config_files=config.files)), nl=False)
    else:
        from onnxfix.report.text import count

        rest = "" if found.minimal else f"; not the smallest, since {tests} tests were made (--tests)"
        before = count(len(loaded.proto.graph.node), "node")
        lines = [
            f"{model}: {before}; {file}: {found.nodes}, after {count(found.tests, 'test')}{rest}",
            f"it shows ({way}, {target.id}): {found.failure.words}",
        ]
        state.out().lines((line,) for line in lines)
    context.exit(0)


def _reduce(
    loaded: LoadedModel,
    target: str,
    until: Until | None,
    consent: frozenset[str],
    tests: int,
    timeout: float,
    show: Callable[[str], None] | None,
) -> tuple[Reduced, Until]:
    """The reduced model and the way in which it fails, the first that it shows where none was asked for.

    Raises:
        NothingShownError: it does not fail. MissingToolError: what was asked for is not installed.
    """
    from onnxfix.reducing import NothingShownError, failure_test, reduce_model

    ways: tuple[Until, ...] = (until,) if until is not None else ("refused", "build", "blocked", "differs")
    for way in ways:
        try:
            shows = failure_test(way, target, loaded.base_dir, timeout, consent)
            return reduce_model(loaded, shows, most=tests, progress=show), way
        except (NothingShownError, MissingToolError):
            if until is not None:
                raise
    raise NothingShownError(f"{loaded.path}: nothing here refuses it for {target}, and its repair proves equal; nothing to reduce")

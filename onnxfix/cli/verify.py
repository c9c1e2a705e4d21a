"""`onnxfix verify A B`: compare two models numerically."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._options import PathType, check_inputs, parse_shapes, read_inputs
from onnxfix.cli._state import current_state
from onnxfix.errors import escape

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxfix.verify.compare import OutputProof
    from onnxfix.verify.prove import Proof

_METRICS = ("max-abs", "max-rel", "cosine", "ulp")


@click.command(name="verify", short_help="Compare two models numerically.")
@click.argument("first", metavar="A", type=PathType(path_type=Path))
@click.argument("second", metavar="B", type=PathType(path_type=Path))
@click.option("--samples", type=click.IntRange(min=1), default=8, show_default=True, help="How many inputs to run.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the inputs.")
@click.option("--shape", "shapes", metavar="NAME:2x3x8", multiple=True, help="Shape of an input with symbolic sizes.")
@click.option("--inputs", "inputs_file", metavar="FILE.npz", type=PathType(path_type=Path), help="Inputs to use, by name.")
@click.option("--rtol", type=click.FloatRange(min=0), help="Relative error allowed.  [default: by element type]")
@click.option("--atol", type=click.FloatRange(min=0), help="Absolute error allowed.  [default: rtol * largest magnitude]")
@click.option("--metric", type=click.Choice(_METRICS), help="Show this figure only.  [default: all]")
@click.option("--bisect", is_flag=True, help="Name the first value that differs and that both models have by name.")
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    context: click.Context,
    first: Path,
    second: Path,
    samples: int,
    seed: int,
    shapes: tuple[str, ...],
    inputs_file: Path | None,
    rtol: float | None,
    atol: float | None,
    metric: str | None,
    bisect: bool,
    output_format: str,
) -> None:
    """Run the models A and B on the same inputs and compare their outputs.

    A says what is right. Exit code 0: equal within the budget; 1: different; 2: a file that cannot be read or a wrong
    option; 3: a model that cannot be run here.
    """
    from onnxfix.model.load import load_model
    from onnxfix.report.json import document, dumps, output_entry, proof_entry
    from onnxfix.verify.prove import bisect as first_failing
    from onnxfix.verify.prove import prove
    from onnxfix.verify.run import CannotRunError

    shape_of = parse_shapes(shapes)
    before, after = load_model(first), load_model(second)
    inputs = read_inputs(inputs_file) if inputs_file is not None else None
    check_inputs(before.proto, inputs, inputs_file)
    given: dict[str, Any] = {
        "base_dir": before.base_dir,
        "after_base_dir": after.base_dir,
        "samples": samples,
        "seed": seed,
        "shapes": shape_of,
        "inputs": inputs,
        "rtol": rtol,
        "atol": atol,
    }
    state = current_state()
    show = state.progress()
    try:
        proof = prove(before.proto, after.proto, **given, progress=_counter(show) if show is not None else None)
    except CannotRunError as error:
        words = f"; {error.detail}" if error.detail and state.verbose else ""
        advice = "; pass --shape or --inputs" if error.other_inputs else ""
        raise CannotRunError(f"{error}{words}{advice}") from None
    culprit = first_failing(before.proto, after.proto, **given) if bisect and not proof.passed else None
    exit_code = 0 if proof.passed else 1
    if output_format == "json":
        models = [{"path": str(model.path), "sha256": model.sha256, "size": len(model.data)} for model in (before, after)]
        report = {**document(models, exit_code=exit_code), "verify": proof_entry(proof)}
        if bisect:
            report["first_difference"] = output_entry(culprit) if culprit is not None else None
        click.echo(dumps(report), nl=False)
    else:
        lines = _lines(first, second, proof, metric)
        if bisect and not proof.passed:
            found = _line(culprit, metric) if culprit else "only in values that one of the models lacks"
            lines.append(f"first difference: {found}")
        state.out().lines((line,) for line in lines)
    context.exit(exit_code)


def _counter(show: Callable[[str], None]) -> Callable[[int, int], None]:
    return lambda done, total: show(f"sample {done} of {total}" if done < total else "")


def _lines(first: Path, second: Path, proof: Proof, metric: str | None) -> list[str]:
    from onnxfix.report.text import count

    ran = f"{count(proof.samples, 'sample')}, seed {proof.seed}{escape(proof.sizes)}" if proof.outputs else "not run"
    lines = [f"{escape(str(first))} against {escape(str(second))}: {ran}"]
    lines += [f"  {_line(output, metric)}" for output in proof.outputs]
    if proof.note:
        lines.append(f"note: {escape(proof.note)}")
    noise = ", or the first model's own rounding noise" if any(output.noise and output.passed for output in proof.outputs) else ""
    if not proof.passed:
        lines.append(f"different; allowed: {proof.budget}" if proof.outputs else "different")
    else:
        lines.append("equal" if proof.budget == "equal" else f"equal within {proof.budget}{noise}")
    return lines


def _line(output: OutputProof, metric: str | None) -> str:
    figures = {
        "max-abs": f"max abs {output.max_abs:.2g}",
        "max-rel": f"max rel {output.max_rel:.2g}",
        "ulp": f"ulp {output.ulp_max}" if output.ulp_max is not None else "",
        "cosine": f"cosine {output.cosine:.7f}",
    }
    shown = ", ".join(text for name, text in figures.items() if text and metric in (None, name))
    verdict = "equal" if output.passed else "DIFFERS"
    text = f"{escape(output.name)} ({output.dtype} {list(output.shape)}): {verdict}"
    text += f"  {shown}" if shown and output.compared else ""
    return text + (f"  {escape(output.message)}" if output.message else "")

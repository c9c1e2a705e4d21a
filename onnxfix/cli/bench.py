"""`onnxfix bench A [B ...]`: measure models or engines against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._building import build_options, options_of, profiles_of
from onnxfix.cli._options import PathType
from onnxfix.cli._state import current_state
from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from onnxfix.bench.raw import Bench

_FILE = PathType(path_type=Path)


@click.command(name="bench", short_help="Measure models or engines against each other.")
@click.argument("files", metavar="MODEL|ENGINE...", type=_FILE, nargs=-1)
@click.option(
    "--engine",
    type=click.Choice(["onnxruntime", "tensorrt", "tensorrt-rtx"]),
    help="What runs them; onnxruntime needs no GPU.  [the TensorRT here]",
)
@click.option("--shape", "shapes", metavar="NAME:8x3x8x8", multiple=True, help="The shape of an input (repeatable).")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the inputs.")
@click.option("--rounds", type=click.IntRange(min=2), default=6, show_default=True, help="Rounds of each, by turns.")
@click.option("--duration", metavar="SECONDS", type=click.FloatRange(min=0), default=3, show_default=True, help="To measure each.")
@click.option("--iterations", type=click.IntRange(min=1), default=100, show_default=True, help="Least number of runs of each.")
@click.option("--warm-up", metavar="SECONDS", type=click.FloatRange(min=0), default=0.2, show_default=True, help="At least.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Of onnxruntime.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Of one run of onnxruntime.")
@click.option("--no-cuda-graph", is_flag=True, help="Enqueue every run anew.")
@click.option("--no-transfers", is_flag=True, help="Leave inputs and outputs on the GPU.")
@click.option("--repeat", metavar="K", type=click.IntRange(min=1), default=3, show_default=True, help="Engines of each model.")
@click.option("--layers", is_flag=True, help="Time each layer of an engine too.")
@build_options
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), default=600, help="For one build.")
@click.option("--save", "saved", metavar="FILE", type=_FILE, default=Path("bench.json"), help="The raw samples.  [bench.json]")
@click.option("--from", "source", metavar="FILE", type=_FILE, help="Report the raw samples of another run instead.")
@click.option("--export", "pictures", metavar="FILE.svg|png|html", type=_FILE, multiple=True, help="Draw them (needs matplotlib).")
@click.option("--fail-above", metavar="PERCENT", type=float, help="Exit with 1 where one is slower than the first by more.")
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    context: click.Context,
    /,
    files: tuple[Path, ...],
    engine: str | None,
    shapes: tuple[str, ...],
    seed: int,
    rounds: int,
    duration: float,
    iterations: int,
    warm_up: float,
    device: str,
    threads: int,
    no_cuda_graph: bool,
    no_transfers: bool,
    repeat: int,
    layers: bool,
    timeout: float,
    saved: Path,
    source: Path | None,
    pictures: tuple[Path, ...],
    fail_above: float | None,
    output_format: str,
    **given: Any,
) -> None:
    """Measure models or engines against each other, by turns; the others are compared with the first.

    Outputs are checked against onnxruntime first: what is wrong is not measured. Raw samples are saved, and --from makes the
    report anew from them. Exit code 0: measured; 1: something was left out, or is slower than --fail-above allows; 2: a file
    or option is wrong; 4: there is no GPU, or a package is missing.
    """
    from onnxfix.model.files import check_output, same_file
    from onnxfix.report.bench_text import bench_entry, bench_lines

    state = current_state()
    if source is None and not files:
        raise UsageError("no model or engine given (see `onnxfix bench --help`)")
    if source is not None and files:
        raise UsageError("--from reports samples that were saved; give no models with it")
    _check_pictures(pictures)
    for written in (*pictures, *(() if source is not None else (saved,))):
        check_output(written)
        for read in (*files, *((source,) if source is not None else ())):
            if same_file(written, read):
                raise UsageError(f"{written}: is an input; choose another file")
    if source is not None:
        from onnxfix.bench.raw import load

        bench = load(source)
    else:
        from onnxfix.bench.measure import Plan
        from onnxfix.bench.raw import save
        from onnxfix.bench.run import BenchOptions
        from onnxfix.bench.run import bench as measure

        profiles = profiles_of(shapes)
        show = state.progress()
        try:
            bench = measure(
                files,
                BenchOptions(
                    engine=engine,
                    plan=Plan(rounds=rounds, duration=duration, iterations=iterations, warm_up=warm_up),
                    shapes={name: each.opt for name, each in profiles.items()},
                    seed=seed,
                    device=device,
                    threads=threads,
                    graph=not no_cuda_graph,
                    transfers=not no_transfers,
                    repeat=repeat,
                    layers=layers,
                    build=options_of(given, profiles),
                    timeout=timeout,
                ),
                show,
            )
        finally:
            if show is not None:
                show("")
        save(bench, saved)
    for picture in pictures:
        from onnxfix.model.load import write_bytes
        from onnxfix.report.bench_plot import plot

        write_bytes(picture, plot(bench, picture.suffix.removeprefix(".")))
    exit_code = _exit_code(bench, fail_above)
    if output_format == "json":
        from onnxfix.report.json import document, dumps

        click.echo(dumps({**document([], exit_code=exit_code), "bench": bench_entry(bench)}), nl=False)
    else:
        state.out().lines(bench_lines(bench))
        if source is None:
            state.note(f"raw samples: {saved}")
    context.exit(exit_code)


def _check_pictures(pictures: tuple[Path, ...]) -> None:
    """Refuse a picture that cannot be drawn before the work.

    Raises:
        MissingToolError: matplotlib is missing. UsageError: another format.
    """
    if pictures:
        from onnxfix.report.bench_plot import check_format

        for picture in pictures:
            check_format(picture.suffix.removeprefix("."))


def _exit_code(bench: Bench, fail_above: float | None) -> int:
    from onnxfix.report.bench_text import comparisons

    slower = fail_above is not None and any(
        comparison.change * 100 > fail_above and comparison.differs for _, comparison in comparisons(bench)
    )
    return int(bool(bench.left_out) or slower)

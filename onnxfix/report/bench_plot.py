"""Draws a benchmark with matplotlib: how the times are distributed, the medians side by side, the slowest layers."""

from __future__ import annotations

import html
import io
from importlib import import_module
from typing import TYPE_CHECKING, Any

from onnxfix.bench.statistics import summarize
from onnxfix.errors import MissingToolError, UsageError
from onnxfix.report.bench_text import all_samples, bench_lines, samples_of

if TYPE_CHECKING:
    from onnxfix.bench.raw import Bench

FORMATS = ("svg", "png", "html")
_LAYERS = 15
_NAME = 24
_SHOWN = 0.95
_BINS = 60
_WORDS = {"computeMs": "GPU compute time (ms)", "hostLatencyMs": "host latency (ms)"}


def check_format(kind: str) -> Any:
    """The module matplotlib, where it can draw a file of that format.

    Raises:
        MissingToolError: matplotlib is not installed. UsageError: there is no such format.
    """
    if kind not in FORMATS:
        raise UsageError(f"no picture of format {kind!r}; name the file .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}")
    try:
        return import_module("matplotlib")
    except ImportError:
        hint = "in a clone of onnxfix: pip install '.[plot]'"
        raise MissingToolError(f"--export needs matplotlib, which is not installed; {hint}") from None


def plot(bench: Bench, kind: str) -> bytes:
    """The picture as a file of one of FORMATS, `html` with the report above it; the same samples give the same bytes.

    Raises:
        MissingToolError: matplotlib is not installed. UsageError: there is no such format.
    """
    matplotlib = check_format(kind)
    if kind == "html":
        return _page(bench)
    matplotlib.use("Agg")
    figures = import_module("matplotlib.figure")
    layers = [variant for variant in bench.variants if variant.layers]
    panels = 2 + len(layers)
    figure = figures.Figure(figsize=(9, 2.8 + 3.2 * panels - 1), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    where = "CPU" if bench.device == "cpu" else bench.device.upper() if bench.device == "gpu" else bench.device
    figure.suptitle(f"{bench.runner} on the {where}: {bench.machine}", fontsize=9)
    _distribution(axes[0], bench)
    _medians(axes[1], bench)
    for axis, variant in zip(axes[2:], layers, strict=True):
        slowest = sorted(variant.layers, key=lambda layer: -layer["medianMs"])[:_LAYERS][::-1]
        axis.barh([_short(layer["name"]) for layer in slowest], [layer["medianMs"] for layer in slowest])
        axis.set_xlabel(f"median ms by layer, {_short(variant.name)}")
        axis.tick_params(labelsize=7)
    file = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "onnxfix", "svg.fonttype": "none", "text.parse_math": False}):
        figure.savefig(file, format=kind, metadata=metadata)
    return file.getvalue()


def _page(bench: Bench) -> bytes:
    """The report and the picture in one file that needs no other."""
    lines = ("".join(part if isinstance(part, str) else part[0] for part in line) for line in bench_lines(bench))
    picture = plot(bench, "svg").decode()
    names = html.escape(" and ".join(variant.name for variant in bench.variants))
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>onnxfix bench: {names}</title></head>
<body>
<pre>{html.escape(chr(10).join(lines))}</pre>
{picture[picture.index("<svg") :]}
</body>
</html>
""".encode()


def _distribution(axis: Any, bench: Bench) -> None:
    samples = all_samples(bench.variants, bench.headline)
    every = sorted(value for values in samples.values() for value in values)
    # The slowest would squeeze the rest into one bar.
    span = (every[0], every[max(int(len(every) * _SHOWN) - 1, 0)])
    for name, values in samples.items():
        axis.hist(values, bins=_BINS, range=span, histtype="step", label=_short(name))
    axis.set_xlabel(f"{_WORDS[bench.headline]}, up to the {_SHOWN:.0%} quantile")
    axis.set_ylabel("runs")
    axis.legend(fontsize=8)


def _medians(axis: Any, bench: Bench) -> None:
    summaries = [summarize(samples_of(variant, bench.headline)) for variant in bench.variants]
    middles = [summary.median for summary in summaries]
    low = [max(middle - summary.interval[0], 0.0) for middle, summary in zip(middles, summaries, strict=True)]
    high = [max(summary.interval[1] - middle, 0.0) for middle, summary in zip(middles, summaries, strict=True)]
    colours = [f"C{index}" for index in range(len(middles))]  # as in the panel above
    axis.barh([_short(variant.name) for variant in bench.variants], middles, xerr=[low, high], capsize=4, color=colours)
    axis.invert_yaxis()
    axis.set_xlabel(f"median {_WORDS[bench.headline]} with 95 % interval")


def _short(text: str) -> str:
    return text if len(text) <= _NAME else f"…{text[-_NAME + 1 :]}"

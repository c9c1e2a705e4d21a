"""Benchmarks for people and for programs: the figures are computed from the raw samples, here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxfix.bench.gpu_state import throttled
from onnxfix.bench.statistics import compare, summarize
from onnxfix.bench.statistics import median as median_of
from onnxfix.report.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.bench.raw import Bench, Variant
    from onnxfix.bench.statistics import Comparison, Summary
    from onnxfix.report.console import Line

_LAYERS_SHOWN = 10
# Above these trtexec warns too (samples/common/sampleReporting.cpp): parts of the median compute time, and percent.
_ENQUEUE, _COPY, _UNSTEADY = 0.8, 1.0, 2.5
_TITLES = {"computeMs": "GPU compute ms", "hostLatencyMs": "host latency ms"}


def samples_of(variant: Variant, field: str) -> list[list[float]]:
    """The samples of one kind of time, by round."""
    return [list(one.samples[field]) for one in variant.rounds]


def throughput(variant: Variant) -> float:
    """Runs a second, over the time that the rounds took on the host."""
    runs = sum(len(next(iter(one.samples.values()))) for one in variant.rounds)
    seconds = sum(one.seconds for one in variant.rounds)
    return runs / seconds if seconds else 0.0


def comparisons(bench: Bench) -> list[tuple[Variant, Comparison]]:
    """Every other variant against the first, by the headline time."""
    first, *others = bench.variants
    base = samples_of(first, bench.headline)
    return [(variant, compare(base, samples_of(variant, bench.headline))) for variant in others]


def build_spread(variant: Variant, field: str) -> float | None:
    """How far the medians of a variant's builds lie apart, as a fraction of their median; None for a single build."""
    by_build: dict[int, list[float]] = {}
    for one in variant.rounds:
        by_build.setdefault(one.build, []).append(median_of(one.samples[field]))
    medians = [median_of(values) for values in by_build.values()]
    return (max(medians) - min(medians)) / median_of(medians) if len(medians) > 1 else None


def warnings_of(bench: Bench) -> list[str]:
    """What makes the figures less certain."""
    found = []
    if throttled(bench.before, bench.after):
        clocks = [state["sm clock MHz"] for state in (bench.before, bench.after)]
        found.append(f"throttled: the SM clock moved from {clocks[0]} to {clocks[1]} MHz")
    for variant in bench.variants:
        if not variant.steady:
            found.append(f"{variant.name}: its times were not steady at the end of warm-up")
        if "computeMs" not in variant.rounds[0].samples:
            continue
        times = {name: summarize(samples_of(variant, name)) for name in variant.rounds[0].samples}
        compute = times["computeMs"]
        if compute.variation > _UNSTEADY:
            found.append(f"{variant.name}: GPU compute time varies by {compute.variation:.1f} %; a fixed clock would help")
        if times["enqueueMs"].median > _ENQUEUE * compute.median:
            found.append(f"{variant.name}: enqueuing takes about as long as computing; CUDA graphs may help")
        for name, words in (("h2dMs", "copying inputs"), ("d2hMs", "copying outputs")):
            if name in times and times[name].median >= _COPY * compute.median:
                found.append(f"{variant.name}: {words} takes longer than computing; fewer or smaller transfers may help")
    return found


def bench_lines(bench: Bench) -> list[Line]:
    """The table, the comparison, and what to mind."""
    where = "the CPU" if bench.device == "cpu" else bench.device.replace("gpu", "the GPU")
    lines: list[Line] = [((f"{bench.runner} on {where}", "bold"), f": {bench.machine}")]
    shapes = ", ".join(f"{name} {'x'.join(map(str, shape)) or 'scalar'}" for name, shape in bench.settings["shapes"].items())
    others = [f"{name} {_word(value)}" for name, value in bench.settings.items() if name not in ("shapes", "provider")]
    lines.append((f"inputs {shapes}; {', '.join(others)}",))
    if bench.device == "cpu":
        lines.append(("these are times of the CPU and say nothing about a GPU",))
    for label, state in (("before", bench.before), ("after", bench.after)):
        if state:
            lines.append((f"{label:<7} " + ", ".join(f"{name} {_word(value)}" for name, value in state.items()),))
    lines += [(f"checked {variant.name}: {variant.check}",) for variant in bench.variants]
    lines += [(("left out", "bold red"), f" {name}: {why}") for name, why in bench.left_out.items()]
    lines.append(())
    lines += [(line,) for line in _table(bench)]
    lines += [(line,) for line in _builds(bench)]
    for variant, comparison in comparisons(bench):
        lines.append((_comparison_words(bench, variant, comparison),))
    for variant in bench.variants:
        lines += _layer_lines(variant)
    lines += [(("warning", "yellow"), f" {text}") for text in warnings_of(bench)]
    return lines


def _word(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _table(bench: Bench) -> list[str]:
    head = _TITLES[bench.headline]
    gpu = bench.headline == "computeMs"
    columns = ["variant", f"{head} (median [95 % CI])", "p90", "p99"]
    columns += ["host ms", "enqueue ms"] if gpu else []
    columns += ["qps", "engine MB" if gpu else "model MB", "CoV %"]
    rows = [columns]
    for variant in bench.variants:
        main = summarize(samples_of(variant, bench.headline))
        row = [variant.name, _with_interval(main), f"{main.percentiles[90]:.3f}", f"{main.percentiles[99]:.3f}"]
        if gpu:
            row += [f"{summarize(samples_of(variant, name)).median:.3f}" for name in ("hostLatencyMs", "enqueueMs")]
        size = median_of(variant.bytes) / 1e6
        rows.append([*row, f"{throughput(variant):.1f}", f"{size:.3g}", f"{main.variation:.1f}"])
    widths = [max(len(row[index]) for row in rows) for index in range(len(columns))]
    # Names to the left, figures to the right.
    pad = [str.ljust, *[str.rjust] * (len(columns) - 1)]
    return ["  ".join(place(cell, width) for place, cell, width in zip(pad, row, widths, strict=True)) for row in rows]


def _with_interval(summary: Summary) -> str:
    return f"{summary.median:.3f} [{summary.interval[0]:.3f}, {summary.interval[1]:.3f}]"


def _builds(bench: Bench) -> list[str]:
    lines = []
    for variant in bench.variants:
        spread = build_spread(variant, bench.headline)
        if spread is not None:
            builds = count(len(variant.build_seconds), "build")
            lines.append(f"{variant.name}: {builds}, whose medians lie {spread * 100:.1f} % apart")
    return lines


def _comparison_words(bench: Bench, variant: Variant, comparison: Comparison) -> str:
    low, high = comparison.interval
    what = _TITLES[bench.headline].removesuffix(" ms")
    words = f"{comparison.change * 100:+.1f} % {what} [{low * 100:+.1f}, {high * 100:+.1f}]"
    same = "" if comparison.differs else ": no difference (the interval holds 0)"
    return f"{variant.name} against {bench.variants[0].name}: {words}{same}"


def _layer_lines(variant: Variant) -> list[Line]:
    if not variant.layers:
        return []
    slowest = sorted(variant.layers, key=lambda layer: -layer["medianMs"])[:_LAYERS_SHOWN]
    lines: list[Line] = [(), (f"slowest layers of {variant.name} (median ms, part of the whole)",)]
    lines += [(f"  {layer['medianMs']:9.4f}  {layer['percentage']:5.1f} %  {layer['name']}",) for layer in slowest]
    return lines


def bench_entry(bench: Bench) -> dict[str, Any]:
    """The same for programs, with the figures of every kind of time."""

    def times(variant: Variant) -> dict[str, Any]:
        found = {}
        for name in variant.rounds[0].samples:
            summary = summarize(samples_of(variant, name))
            found[name] = {
                "count": summary.count,
                "min": summary.min,
                "max": summary.max,
                "mean": summary.mean,
                "median": summary.median,
                "interval": list(summary.interval),
                "percentiles": {str(percent): value for percent, value in summary.percentiles.items()},
                "variation": summary.variation,
            }
        return found

    return {
        "runner": bench.runner,
        "device": bench.device,
        "headline": bench.headline,
        "machine": bench.machine,
        "settings": dict(bench.settings),
        "before": dict(bench.before),
        "after": dict(bench.after),
        "throttled": throttled(bench.before, bench.after),
        "variants": [
            {
                "name": variant.name,
                "path": variant.path,
                "sha256": variant.sha256,
                "bytes": list(variant.bytes),
                "build_seconds": list(variant.build_seconds),
                "check": variant.check,
                "steady": variant.steady,
                "throughput": throughput(variant),
                "times": times(variant),
                "build_spread": build_spread(variant, bench.headline),
                "layers": list(variant.layers),
            }
            for variant in bench.variants
        ],
        "comparisons": [
            {
                "name": variant.name,
                "against": bench.variants[0].name,
                "change": comparison.change,
                "interval": list(comparison.interval),
                "differs": comparison.differs,
            }
            for variant, comparison in comparisons(bench)
        ],
        "left_out": dict(bench.left_out),
        "warnings": warnings_of(bench),
    }


def all_samples(variants: Sequence[Variant], field: str) -> dict[str, list[float]]:
    """All samples of one kind of time, by the variant's name."""
    return {variant.name: [value for values in samples_of(variant, field) for value in values] for variant in variants}

"""One table of several benchmarks, in Markdown: `python -m tests.gpu.table RAW.json...`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix.bench.raw import load
from onnxfix.bench.statistics import summarize
from onnxfix.report.bench_text import comparisons, samples_of, throughput, warnings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnxfix.bench.raw import Bench, Variant
    from onnxfix.bench.statistics import Comparison

COLUMNS = ("model", "GPU compute ms (median [95 % CI])", "p99", "host ms", "qps", "against the original")


def table(paths: Sequence[Path]) -> list[str]:
    """The lines: machine, one row a variant, what was left out, what to mind."""
    found = [load(path) for path in paths]
    lines = [f"{found[0].runner} on {found[0].machine}", "", _row(COLUMNS), _row(["---"] * len(COLUMNS))]
    for bench in found:
        changes = {variant.name: comparison for variant, comparison in comparisons(bench)}
        lines += [_row(_cells(bench, variant, changes.get(variant.name))) for variant in bench.variants]
    return [*lines, "", *(f"- {note}" for bench in found for note in _notes(bench))]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(bench: Bench, variant: Variant, change: Comparison | None) -> list[str]:
    main = summarize(samples_of(variant, bench.headline))
    host = summarize(samples_of(variant, "hostLatencyMs"))
    low, high = main.interval
    words = ""
    if change is not None:
        least, most = change.interval
        words = f"{change.change * 100:+.1f} % [{least * 100:+.1f}, {most * 100:+.1f}]"
    return [
        variant.name,
        f"{main.median:.4f} [{low:.4f}, {high:.4f}]",
        f"{main.percentiles[99]:.4f}",
        f"{host.median:.4f}",
        f"{throughput(variant):.0f}",
        words,
    ]


def _notes(bench: Bench) -> Iterator[str]:
    yield from (f"left out: {name}: {why}" for name, why in bench.left_out.items())
    yield from warnings_of(bench)
    for label, state in (("before", bench.before), ("after", bench.after)):
        if state:
            yield f"{label}: {_words(state)}"


def _words(state: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in state.items())


if __name__ == "__main__":
    print("\n".join(table([Path(word) for word in sys.argv[1:]])))

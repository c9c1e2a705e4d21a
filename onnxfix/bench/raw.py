"""The raw samples of a benchmark, as they are saved and read again: everything that its report is computed from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = "onnxfix-bench/1"
# What the fields of a file are; one of another kind is damage.
_TEXTS = ("runner", "device", "headline", "machine")
_TABLES = ("settings", "before", "after", "left_out")


@dataclass(frozen=True, slots=True)
class Round:
    """Samples that one variant gave without a break.

    Attributes:
        build: which of the variant's builds ran.
        start: seconds since the first round began.
        seconds: how long the round took, on the clock of the host.
        samples: times in milliseconds by name; of trtexec's words: `computeMs`, `h2dMs`, `d2hMs`, `enqueueMs`, and `latencyMs`,
            which is the sum of h2d, compute and d2h. `hostLatencyMs` is the time from the call to its results, on the host.
    """

    build: int
    start: float
    seconds: float
    samples: Mapping[str, list[float]]


@dataclass(frozen=True, slots=True)
class Variant:
    """One model or engine that was measured.

    Attributes:
        name: what it is called in the table.
        path: its file.
        sha256: of that file.
        bytes: of the file, for each build.
        build_seconds: how long each build took; empty where nothing was built.
        check: how its outputs compare with onnxruntime's, in words.
        steady: whether its times were steady at the end of warm-up.
        rounds: the samples.
        layers: of one run under the profiler: `name`, `timeMs`, `averageMs`, `medianMs`, `percentage`, as trtexec writes them.
    """

    name: str
    path: str
    sha256: str
    bytes: tuple[int, ...]
    build_seconds: tuple[float, ...]
    check: str
    steady: bool
    rounds: tuple[Round, ...]
    layers: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """A whole benchmark.

    Attributes:
        runner: `onnxruntime`, `tensorrt` or `tensorrt-rtx`, and its version.
        device: `cpu` or `gpu`: what the times are of.
        headline: the name of the time that variants are compared by.
        machine: what the machine is, in words.
        settings: how it was run: threads, CUDA graphs, transfers, shapes, seed.
        before: the state of the device before the rounds, such as clocks, temperature and power.
        after: the same after them.
        variants: what was measured; the others are compared with the first.
        left_out: what was not measured, and why, by name.
    """

    runner: str
    device: str
    headline: str
    machine: str
    settings: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    variants: tuple[Variant, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def save(bench: Bench, path: Path) -> None:
    """Write the samples, whole or not at all.

    Raises:
        UsageError: the file cannot be written.
    """
    from onnxfix.model.load import write_bytes

    write_bytes(path, (json.dumps({"schema": SCHEMA, **asdict(bench)}) + "\n").encode())


def load(path: Path) -> Bench:
    """Read what `save` wrote.

    Raises:
        UsageError: it is missing, damaged, or no such file.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    if not isinstance(data, dict) or data.pop("schema", None) != SCHEMA:
        raise UsageError(f"{path}: holds no samples of `onnxfix bench` (schema {SCHEMA})")
    for keys, kind in ((_TEXTS, str), (_TABLES, dict)):
        for key in keys:
            if not isinstance(data.get(key, kind()), kind):
                raise UsageError(f"{path}: is damaged: {key} is no {'text' if kind is str else 'table'}")
    try:
        variants = tuple(
            Variant(
                **{
                    **item,
                    "bytes": tuple(item["bytes"]),
                    "build_seconds": tuple(item["build_seconds"]),
                    "rounds": tuple(Round(**one) for one in item["rounds"]),
                    "layers": tuple(item["layers"]),
                }
            )
            for item in data.pop("variants")
        )
        bench = Bench(variants=variants, **data)
        for variant in variants:
            times = [one.samples[bench.headline] for one in variant.rounds]
            if not times or not variant.bytes or not all(kept and all(isinstance(x, int | float) for x in kept) for kept in times):
                raise TypeError(f"{variant.name} lacks samples of {bench.headline}, or its size")
        if not variants:
            raise TypeError("nothing was measured")
        return bench
    except (TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{path}: is damaged: {error}") from None

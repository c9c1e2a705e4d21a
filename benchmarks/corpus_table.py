"""What repair makes of a corpus of exports: for each target, how many models are fine, repaired and proven, declined and why.

    python -m benchmarks.corpus_table FOLDER [-t trt5.1] [--theme trouble] [--match 'resnet*'] [--allow OFX701] [--rows FILE.jsonl]
        [--ask-parser]

FOLDER has one folder a theme with .onnx files, and `index.jsonl`, in which a line says of each model the shapes that its inputs
are to be fed (`key`, `feeds`: a list of `name` and `shape`). Where a target takes only static sizes beside the batch, a model
with others is repaired with those shapes (`--shape`, which is consent to freezing them).

Apart from its proof, each repaired model is run beside the original once more, on values made here; it is `wrong` where they
differ. With `--ask-parser` the TensorRT-RTX (or TensorRT) that is installed here is asked whether it parses what was made, and
where it does not, whether it parses the original. The share is of all models of the themes. Exit code 0, whatever the table says;
1 where a result is wrong or repair crashed; 2 where the folder has no model; 4 where nothing here parses.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import importlib
import json
import multiprocessing
import os
import re
import resource
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxfix import engines
from onnxfix.api import RepairOptions
from onnxfix.engines.choice import choose
from onnxfix.errors import MissingToolError
from onnxfix.targets import find_targets

from .processes import EndedError, Process
from .seed_table import Row, row_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnxfix.targets import Target

THEMES = ("trouble", "hand_written", "control_flow", "classification", "segmentation", "detection", "transformers", "timm")
# Of the second comparison, which is there to find proofs that are worth nothing, not rounding: the proof's own bounds are tighter.
RTOL, ATOL = 1e-2, 1e-3
# Seconds for one model.
TIMEOUT = 120.0
GOOD = ("already fine", "repaired")


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """One model for one target.

    Attributes:
        target: the release.
        theme: the folder.
        row: what repair made of it.
        frozen: whether sizes were frozen for it.
        memory: the peak memory of its process so far, in MiB.
        parsed: what the parser that is installed here says of the result, where it was asked.
    """

    target: str
    theme: str
    row: Row
    frozen: bool = False
    memory: int = 0
    parsed: Parsed | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Parsed:
    """What the parser says of a repaired model and, where it refuses that, of the original; empty where it takes it."""

    words: str
    original: str = ""


def feeds_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What the index says of each model's inputs; a later line about the same model wins."""
    feeds: dict[str, list[dict[str, Any]]] = {}
    for line in (folder / "index.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("feeds"):
            feeds[row["key"]] = row["feeds"]
    return feeds


def shapes_of(path: Path, feeds: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    """The shape of each input that has dynamic dimensions beside its first, as the index gives it; by name, else by place."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    stored = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in stored]
    named = {feed["name"]: feed["shape"] for feed in feeds if "name" in feed}
    shapes = {}
    for place, value in enumerate(inputs):
        dims = value.type.tensor_type.shape.dim
        if not any(not dim.HasField("dim_value") for dim in dims[1:]):
            continue
        given = named.get(value.name)
        if given is None and not named and place < len(feeds):
            given = feeds[place]["shape"]
        if given is not None and len(given) == len(dims):
            shapes[value.name] = tuple(given)
    return shapes


def differs(before: Path, after: Path, shapes: Mapping[str, tuple[int, ...]], samples: int = 2) -> str:
    """How the outputs of two models differ on values made here; empty where they do not, or where the first does not run."""
    import onnx
    import onnxruntime

    from onnxfix.verify.bindings import bindings
    from onnxfix.verify.inputs import make_inputs

    onnxruntime.set_default_logger_severity(4)
    model = onnx.load(before)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        first = onnxruntime.InferenceSession(str(before), options, providers=["CPUExecutionProvider"])
    except Exception:  # custom and ATen operators: the proof says how it went about those
        return ""
    second = onnxruntime.InferenceSession(str(after), options, providers=["CPUExecutionProvider"])
    names = {value.name for value in second.get_inputs()}
    types = {value.name: value.type for value in second.get_inputs()}
    wrong = ""
    for sample, binding in zip(range(samples), bindings(model, samples, shapes), strict=False):
        values = make_inputs(model, binding, 20, sample)
        try:
            expected = first.run(None, values)
        except Exception:
            continue
        narrow = {"tensor(int32)": np.int32, "tensor(float)": np.float32}
        fed = {n: v.astype(narrow[types[n]]) if types[n] in narrow else v for n, v in values.items() if n in names}
        given = dict(zip((value.name for value in second.get_outputs()), second.run(None, fed), strict=True))
        for output, want in zip(first.get_outputs(), expected, strict=True):
            have = given.get(output.name)
            wrong = wrong or _differ(output.name, want, have)
    return wrong


def _differ(name: str, want: Any, have: Any) -> str:
    if not isinstance(want, np.ndarray):
        return "" if isinstance(have, type(want)) else f"{name}: another kind of value"
    if have is None or have.shape != want.shape:
        return f"{name}: shape {None if have is None else have.shape}, was {want.shape}"
    if want.dtype.kind in "USO":
        return "" if np.array_equal(want, have) else f"{name}: other strings"
    a, b = want.astype(np.float64), have.astype(np.float64)
    largest = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    if np.allclose(b, a, RTOL, ATOL * max(largest, 1.0), equal_nan=True):
        return ""
    return f"{name}: differs by {np.nanmax(np.abs(a - b)):.1e}, largest value {largest:.1e}"


def result_of(
    path: Path, theme: str, target: Target, options: RepairOptions, feeds: Sequence[Mapping[str, Any]], kept: Path | None = None
) -> Result:
    """Repair one model for one target and compare once more; whatever is raised is an outcome: `crashed`.

    What was made goes to the file `kept` where one is given.
    """
    shapes = {} if target.dynamic_inputs else shapes_of(path, feeds)
    name = f"{theme}/{path.stem}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            row = row_of(path, [target], dataclasses.replace(options, shapes=shapes), Path(folder))
            if row.outcome == "repaired":
                wrong = differs(path, Path(folder) / path.name, shapes)
                if row.lint_clean is False:
                    wrong = wrong or "written with errors left"
                if wrong:
                    row = dataclasses.replace(row, outcome="wrong", why=f"{wrong} ({row.why})")
                if kept is not None:
                    shutil.move(Path(folder) / path.name, kept)
    except Exception as error:  # a crash is what this table is to find
        where = traceback.extract_tb(error.__traceback__)[-1]
        row = Row(name, "crashed", f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Result(target.id, theme, dataclasses.replace(row, name=name), bool(shapes), memory)


def _work(task: tuple[Path, str, str, RepairOptions, list[dict[str, Any]], Path | None]) -> Result:
    path, theme, target, options, feeds, kept = task
    return result_of(path, theme, find_targets(target)[0], options, feeds, kept)


class Parser:
    """The parser that is installed here, in a process that serves many models.

    Raises:
        MissingToolError: there is none.
    """

    def __init__(self) -> None:
        self.tool = choose(None)
        self._process = Process(TIMEOUT)
        self._said: dict[bytes, str] = {}

    def words(self, path: Path) -> str:
        """Why the parser refuses the model; empty where it takes it."""
        with path.open("rb") as file:
            key = hashlib.file_digest(file, "sha256").digest()
        if key not in self._said:
            try:
                taken = self._process.call(_takes, self.tool.module, str(path))
            except EndedError:
                taken = False
            self._said[key] = "" if taken else _refusal(path, self.tool.name)
        return self._said[key]

    def close(self) -> None:
        """End the process."""
        self._process.close()


def _takes(module: str, path: str) -> bool:
    trt = importlib.import_module(module)
    logger = trt.Logger(trt.Logger.ERROR)
    # what it prints of a refusal is asked for again
    sys.stderr.flush()
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    builder = trt.Builder(logger)
    flag = getattr(trt.NetworkDefinitionCreationFlag, "EXPLICIT_BATCH", None)
    network = builder.create_network(0 if flag is None else 1 << int(flag))
    return bool(trt.OnnxParser(network, logger).parse_from_file(path))


def _refusal(path: Path, name: str) -> str:
    """What the parser says when it is asked with all that `onnxfix` asks with; empty where it takes the model after all."""
    answer = engines.parse(path, name, TIMEOUT)
    if answer.verdict == "parsed":
        return ""
    errors = [f"{error.op_type}: {error.message}" for error in answer.errors]
    return next(iter([*errors, *answer.messages]), str(answer.verdict))


def kind_of(reason: str) -> str:
    """A reason without names and numbers, so that the same reason of many models counts as one."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "…", reason)
    text = re.sub(r"\[[^\]]*\]|\([^)]*\)", "…", text)
    return re.sub(r"(?<![A-Za-z0-9])\d[\w.+-]*", "N", text)


def asked(results: Sequence[Result], most: int) -> list[str]:
    """The lines about what the parser says: a target a row, then each refusal in its words, with the first model."""
    lines = ["| target | repaired | parsed | not parsed | nor the original |", "|---|---:|---:|---:|---:|"]
    found: dict[str, list[tuple[str, Parsed]]] = {}
    for target in dict.fromkeys(result.target for result in results):
        those = [(r.row.name, r.parsed) for r in results if r.target == target and r.parsed is not None]
        refused = [(name, parsed) for name, parsed in those if parsed.words]
        both = sum(bool(parsed.original) for _, parsed in refused)
        lines.append(f"| {target} | {len(those)} | {len(those) - len(refused)} | {len(refused)} | {both} |")
        for name, parsed in refused:
            found.setdefault(kind_of(parsed.words), []).append((f"{name} for {target}", parsed))
    for words, models in sorted(found.items(), key=lambda item: -len(item[1]))[:most]:
        name, parsed = models[0]
        before = f"; the original: {parsed.original[:120]}" if parsed.original else "; it takes the original"
        lines.append(f"  {len(models):5}  {words[:200]}  e.g. {name}{before}")
    return lines


def summary(results: Sequence[Result], most: int = 25) -> list[str]:
    """The lines of the table: a target a row, then the reasons by how many models each keeps from being repaired."""
    targets = list(dict.fromkeys(result.target for result in results))
    outcomes = ["already fine", "repaired", "declined", "unproven", "wrong", "crashed", "unreadable"]
    lines = [f"| target | models | {' | '.join(outcomes)} | good | frozen sizes |", "|---|" + "---:|" * (len(outcomes) + 3)]
    for target in targets:
        those = [result for result in results if result.target == target]
        counts = Counter(result.row.outcome for result in those)
        good = sum(counts[outcome] for outcome in GOOD)
        cells = " | ".join(str(counts[outcome]) for outcome in outcomes)
        frozen = sum(result.frozen for result in those)
        lines.append(f"| {target} | {len(those)} | {cells} | {good / len(those):.1%} | {frozen} |")
    for target in targets:
        those = [result for result in results if result.target == target]
        themes = {
            theme: [r.row.outcome in GOOD for r in those if r.theme == theme] for theme in dict.fromkeys(r.theme for r in those)
        }
        lines += ["", f"{target}: " + ", ".join(f"{theme} {sum(good)} of {len(good)}" for theme, good in themes.items())]
        reasons: dict[str, list[str]] = {}
        for result in those:
            if result.row.outcome in GOOD:
                continue
            for reason in dict.fromkeys(kind_of(part) for part in result.row.why.split("; ")):
                reasons.setdefault(reason, []).append(result.row.name)
        alone = Counter(
            kind_of(result.row.why)
            for result in those
            if result.row.outcome not in GOOD and len({kind_of(part) for part in result.row.why.split("; ")}) == 1
        )
        for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1]))[:most]:
            lines.append(f"  {len(names):5} (alone {alone[reason]:4})  {reason[:200]}  e.g. {names[0]}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with a folder of .onnx files for each theme, and index.jsonl")
    parser.add_argument("-t", "--target", action="append", default=None, help="release to repair for (trt5.1); may repeat")
    parser.add_argument("--theme", action="append", default=None, help=f"theme to take ({', '.join(THEMES)}); may repeat")
    parser.add_argument("--match", default="*", help="pattern of the models' names")
    parser.add_argument("--allow", action="append", default=[], help="exact, equivalent, approximate, or a rule's code")
    parser.add_argument("--samples", type=int, default=4, help="inputs that each proof tries (4)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--reasons", type=int, default=25, help="how many reasons to list for each target (25)")
    parser.add_argument("--ask-parser", action="store_true", help="ask the parser that is installed here for each result")
    parser.add_argument("--rows", type=Path, default=None, help="file for one line of JSON a model and target")
    given = parser.parse_args(arguments)
    feeds = feeds_of(given.folder)
    found = [
        (path, theme)
        for theme in given.theme or THEMES
        for path in sorted((given.folder / theme).glob("*.onnx"))
        if fnmatch(path.stem, given.match)
    ]
    if not found:
        print(f"error: {given.folder}: no .onnx file in the folders of the themes", file=sys.stderr)
        return 2
    levels = [word for word in given.allow if word in ("exact", "equivalent", "approximate")]
    options = RepairOptions(
        allow=levels[-1] if levels else "equivalent", consent=frozenset(given.allow) - set(levels), samples=given.samples
    )
    targets = [target.id for word in given.target or ["trt5.1"] for target in find_targets(word)]
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as kept, contextlib.ExitStack() as stack:
        asks = None
        if given.ask_parser:
            try:
                asks = stack.enter_context(contextlib.closing(Parser()))
            except MissingToolError as error:
                print(f"error: {error}", file=sys.stderr)
                return error.exit_code
        tasks = [
            (path, theme, target, options, feeds.get(f"{theme}/{path.name}", []), Path(kept) / f"{target}.{theme}.{path.name}")
            for path, theme in found
            for target in targets
        ]
        # a fresh process now and then gives back what the runtime keeps
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(given.jobs, maxtasksperchild=200))
        for result, (path, *_, made) in zip(pool.imap(_work, tasks), tasks, strict=True):
            if asks is not None and made.exists():
                words = asks.words(made)
                result = dataclasses.replace(result, parsed=Parsed(words, asks.words(path) if words else ""))
            made.unlink(missing_ok=True)
            results.append(result)
            if given.rows is not None:
                with given.rows.open("a") as file:
                    file.write(json.dumps(dataclasses.asdict(result)) + "\n")
            if sys.stderr.isatty():
                print(f"\r{len(results)} of {len(tasks)}", end="", file=sys.stderr)
    print("\n".join(summary(results, given.reasons)))
    if asks is not None:
        print(
            "\n"
            + "\n".join([f"What the parser of {asks.tool.title} {asks.tool.version()} says:", "", *asked(results, given.reasons)])
        )
    slowest = max(results, key=lambda result: result.row.seconds)
    print(
        f"\n{len(results)} repairs, {sum(r.row.seconds for r in results):.0f} s; the slowest {slowest.row.seconds:.0f} s "
        f"({slowest.row.name} for {slowest.target}); peak memory {max(r.memory for r in results)} MiB"
    )
    return int(any(result.row.outcome in ("wrong", "crashed") for result in results))


if __name__ == "__main__":
    sys.exit(main())

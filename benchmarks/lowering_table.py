"""How many of ONNX's node tests get to older opsets, with equal answers.

    python -m benchmarks.lowering_table [onnx] [MODELS.tar.xz ...] [--opset 13 --opset 11 --opset 9] [--why] [--match WORD]

`onnx` stands for the node tests of the installed onnx: those of one node with tensors of float32, int32, int64 or bool as inputs,
on their own test data; inputs after the first become constants, as in exported models. An archive is of `.onnx` files
(fixtures/agreement/models/node.tar.xz holds the node tests of eight releases of ONNX); they run on made inputs. Counted are
the models above the opset that onnxruntime runs as they are. Moved ones count as equal where every output is within the budget
of `onnxfix verify`. Exit code 0, whatever the table says.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import sys
import tarfile
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from onnxfix.errors import OnnxfixError
from onnxfix.model.facts import Facts
from onnxfix.model.opsets import opsets_of
from onnxfix.model.view import ModelView
from onnxfix.rewrites._edit import EditLog, copy_model
from onnxfix.rewrites._region import Decline, Names
from onnxfix.rewrites.opset_move import move
from onnxfix.targets import find_target
from onnxfix.verify.prove import prove
from onnxfix.verify.run import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Rewrites ask it what it takes beyond operators: no implicit batch, booleans and integers are tensors.
TARGET = "trt10.0"
FLOAT32_AND_INDICES = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL)


@dataclass(frozen=True, slots=True)
class Case:
    """One model; `feeds` are None where inputs are to be made."""

    name: str
    model: onnx.ModelProto
    feeds: dict[str, np.ndarray] | None = None

    @property
    def opset(self) -> int:
        """The version of ONNX's own domain."""
        return opsets_of(self.model.opset_import).get("", 0)


@dataclass(slots=True)
class Outcome:
    """What became of one model at each opset below its own: `equal`, `declined`, `wrong`, `invalid`, and why."""

    name: str
    op: str
    opset: int
    results: dict[int, tuple[str, str]] = field(default_factory=dict)


def cases_of_onnx() -> Iterator[Case]:
    """The node tests of the installed onnx that have one node, tensors of the four types, and constants but for the first input."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the generators divide by zero and overflow on purpose
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases(None)
    for case in found:
        model = case.model
        if model is None or len(model.graph.node) != 1 or case.name.endswith("_expanded") or not case.data_sets:
            continue
        if any(item.domain not in ("", "ai.onnx") for item in model.opset_import):
            continue
        given = list(case.data_sets[0][0])
        inputs = list(model.graph.input)
        if len(given) > 1 and len(given) == len(inputs) and all(isinstance(value, np.ndarray | np.generic) for value in given[1:]):
            for value, array in zip(inputs[1:], given[1:], strict=True):
                model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), value.name))
            del model.graph.input[1:]
            given = given[:1]
        kinds = [value.type.tensor_type.elem_type for value in model.graph.input]
        if not kinds or any(kind not in FLOAT32_AND_INDICES for kind in kinds) or len(given) != len(kinds):
            continue
        yield Case(case.name, model, {v.name: np.asarray(a) for v, a in zip(model.graph.input, given, strict=True)})


def cases_of_archive(path: str) -> Iterator[Case]:
    """The models of an archive."""
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.name.endswith(".onnx") else None
            if stream is not None:
                yield Case(member.name.rpartition("/")[2].removesuffix(".onnx"), onnx.load_model_from_string(stream.read()))


def outcome_of(case: Case, opsets: Sequence[int]) -> Outcome | None:
    """Move one model to each opset; None where onnxruntime does not run it as it is."""
    op = case.model.graph.node[0].op_type if case.model.graph.node else ""
    outcome = Outcome(case.name, op, case.opset)
    if case.opset <= min(opsets):
        return outcome
    try:
        if Runner(case.model).by_reference:
            return None
        proof = prove(case.model, case.model, samples=1, inputs=case.feeds)
    except (OnnxfixError, ValueError, TypeError):  # among them inputs that are no tensors
        return None
    if not proof.passed or "onnx.reference" in proof.note:
        return None
    for low in opsets:
        if case.opset > low:
            outcome.results[low] = _result(case, low)
    return outcome


def _result(case: Case, low: int) -> tuple[str, str]:
    model = copy_model(case.model)
    try:
        facts = Facts(ModelView(model))
        answer = move(model, facts, low, "BENCHMARK", Names(model), EditLog(), find_target(TARGET))
    except Exception as error:  # the table shows a fault of ours as what it is
        return "fault", f"{type(error).__name__}: {error}"
    if isinstance(answer, Decline):
        return "declined", answer.reason
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        return "invalid", str(error).splitlines()[0]
    proof = prove(case.model, model, samples=2, inputs=case.feeds)
    if proof.passed:
        return "equal", ", ".join(answer.rewrites)
    return "wrong", next((f"{item.name}: {item.message or item.figures}" for item in proof.outputs if not item.passed), proof.note)


def _work(job: tuple[Case, Sequence[int]]) -> Outcome | None:
    warnings.simplefilter("ignore")
    return outcome_of(*job)


def measure(cases: list[Case], opsets: Sequence[int], jobs: int = 1) -> list[Outcome]:
    """The outcomes of all models that count."""
    pairs = [(case, opsets) for case in cases]
    if jobs == 1:
        found: list[Outcome | None] = [_work(pair) for pair in pairs]
    else:
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            found = pool.map(_work, pairs, chunksize=32)
    return [outcome for outcome in found if outcome is not None]


def print_table(title: str, total: int, outcomes: list[Outcome], opsets: Sequence[int], *, why: bool) -> None:
    """One line an opset, then what is in the way by operator."""
    print(f"{title}: {total} models, {len(outcomes)} of them run by onnxruntime")
    print(f"{'to opset':>8}  {'above it':>8}  {'equal':>6}  {'%':>5}  {'declined':>8}  {'wrong':>5}  {'invalid':>7}  {'fault':>5}")
    for low in opsets:
        count = collections.Counter(outcome.results[low][0] for outcome in outcomes if low in outcome.results)
        above = sum(count.values())
        share = 100 * count["equal"] / above if above else 0.0
        others = f"{count['declined']:8}  {count['wrong']:5}  {count['invalid']:7}  {count['fault']:5}"
        print(f"{low:8}  {above:8}  {count['equal']:6}  {share:5.1f}  {others}")
    if why:
        reasons: collections.Counter[tuple[int, str, str, str]] = collections.Counter()
        for outcome in outcomes:
            for low, (kind, reason) in outcome.results.items():
                if kind != "equal":
                    reasons[low, outcome.op, kind, reason] += 1
        for (low, op, kind, reason), number in sorted(reasons.items(), key=lambda item: (-item[0][0], item[0][1], -item[1])):
            print(f"  {low:2} {op:24} {number:4} {kind}: {reason[:200]}")
    print()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lowering_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", nargs="*", default=["onnx"], help="`onnx`, or an archive of models (onnx)")
    parser.add_argument("--opset", type=int, action="append", default=None, help="older opset; may repeat (13, 11, 9)")
    parser.add_argument("--why", action="store_true", help="list what is in the way, by operator")
    parser.add_argument("--match", default="", help="only models whose name or operator holds this word")
    parser.add_argument("--names", action="store_true", help="list every model that is not equal")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    given: Any = parser.parse_args(arguments)
    opsets = given.opset or [13, 11, 9]
    for source in given.source:
        try:
            cases = list(cases_of_onnx() if source == "onnx" else cases_of_archive(source))
        except (OSError, tarfile.TarError) as error:
            print(f"error: {source}: {error}", file=sys.stderr)
            return 2
        word = given.match.lower()
        cases = [case for case in cases if word in case.name.lower() or word in str(case.model.graph.node[:1]).lower()]
        outcomes = measure(cases, opsets, given.jobs)
        print_table(source, len(cases), outcomes, opsets, why=given.why)
        if given.names:
            for outcome in outcomes:
                for low, (kind, reason) in outcome.results.items():
                    if kind != "equal":
                        print(f"  {low:2} {outcome.name} (opset {outcome.opset}) {kind}: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

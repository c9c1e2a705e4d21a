"""Makes a model as small as it can be while it still shows one failure, for a bug report that others can read.

Nodes of the main graph are left out, in halves, quarters and so on, as long as what is left fails in the same way (Zeller's ddmin).
Values that nodes left out would make become inputs, or initializers where they are constants.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import onnx
from onnx import helper, numpy_helper

from onnxfix.errors import OnnxfixError, UsageError
from onnxfix.model.facts import Facts
from onnxfix.model.load import copy_external, parse_model, serialize, write_bytes
from onnxfix.model.view import ModelView
from onnxfix.verify.graph import initializer_names, reads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnxfix.model.load import LoadedModel

Until: TypeAlias = Literal["blocked", "refused", "build", "differs"]
UNTIL: tuple[Until, ...] = ("blocked", "refused", "build", "differs")
# A constant of more elements than this stays an input where its maker is left out.
_LARGEST_CONSTANT = 1 << 16


class NothingShownError(OnnxfixError):
    """The model does not fail in the way asked for, so there is nothing to reduce."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """How a model fails: `kind` is what has to stay the same, `words` are for people, `nodes` are indices that it is about."""

    kind: str
    words: str
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest model found.

    Attributes:
        data: its bytes; external data lies where it lay.
        failure: how it fails.
        nodes: nodes of the main graph that are left.
        tests: how many models were tried.
        minimal: whether leaving out any one node more was tried; False where the tests ran out.
    """

    data: bytes
    failure: Failure
    nodes: int
    tests: int
    minimal: bool


def reduce_model(
    loaded: LoadedModel,
    shows: Callable[[onnx.ModelProto], Failure | None],
    *,
    most: int = 400,
    progress: Callable[[str], None] | None = None,
) -> Reduced:
    """The smallest part of a model that fails as the whole does.

    Args:
        loaded: the model.
        shows: how a model fails, None where it does not.
        most: tests at most.
        progress: called with how far it is.

    Raises:
        NothingShownError: the whole model does not fail.
    """
    failure = shows(loaded.proto)
    if failure is None:
        raise NothingShownError(f"{loaded.path}: does not fail in this way; nothing to reduce")
    search = _Search(loaded.proto, shows, failure, most, progress)
    kept = search.run()
    proto = search.cut(kept)
    assert proto is not None
    last = search.found or failure
    return Reduced(serialize(proto), last, len(proto.graph.node), search.tests, not search.spent)


class _Search:
    def __init__(
        self,
        proto: onnx.ModelProto,
        shows: Callable[[onnx.ModelProto], Failure | None],
        failure: Failure,
        most: int,
        progress: Callable[[str], None] | None,
    ) -> None:
        self._proto = proto
        self._shows = shows
        self._wanted = failure
        self._most = most
        self._progress = progress
        self.tests = 1
        self.spent = False
        self.found: Failure | None = None
        self._facts = Facts(view := ModelView(proto)).of(view.main)
        self._nodes = list(proto.graph.node)
        self._maker = {name: index for index, node in enumerate(self._nodes) for name in node.output if name}
        self._stored = initializer_names(proto.graph)
        graph = _inferred(proto).graph
        self._known = {value.name: value for value in (*graph.input, *graph.value_info, *graph.output)}

    def run(self) -> list[int]:
        """The indices of the nodes that are left."""
        kept = self._start()
        parts = 2
        while len(kept) > 1 and not self.spent:
            size = -(-len(kept) // parts)
            for begin in range(0, len(kept), size):
                rest = kept[:begin] + kept[begin + size :]
                if rest and self._fails(rest):
                    kept, parts = rest, max(parts - 1, 2)
                    break
                if self.spent:
                    break
            else:
                if parts >= len(kept):
                    break
                parts = min(parts * 2, len(kept))
        return kept

    def _start(self) -> list[int]:
        """The nodes that the failure names, with what makes their inputs; all nodes where that does not fail."""
        named = [index for index in self._wanted.nodes if 0 <= index < len(self._nodes)]
        chosen = set(named[:1])
        for _ in range(4):
            if chosen and self._fails(sorted(chosen)):
                return sorted(chosen)
            chosen |= {self._maker[name] for index in chosen for name in reads(self._nodes[index]) if name in self._maker}
        return list(range(len(self._nodes)))

    def _fails(self, kept: list[int]) -> bool:
        """Whether a part of the model fails as the whole does."""
        proto = self.cut(kept)
        if proto is None:
            return False
        if self.tests >= self._most:
            self.spent = True
            return False
        self.tests += 1
        if self._progress is not None:
            self._progress(f"test {self.tests}: {len(proto.graph.node)} of {len(self._nodes)} nodes")
        try:
            failure = self._shows(proto)
        except OnnxfixError:
            return False  # what is cut may be no model at all
        if failure is None or failure.kind != self._wanted.kind:
            return False
        self.found = failure
        return True

    def cut(self, kept: Sequence[int]) -> onnx.ModelProto | None:
        """A model of some nodes of the main graph, and the Constants that they read; None where a type is not known."""
        inside = set(kept)
        for index in kept:
            inside |= {
                self._maker[name]
                for name in reads(self._nodes[index])
                if name in self._maker and self._nodes[self._maker[name]].op_type == "Constant"
            }
        nodes = [self._nodes[index] for index in sorted(inside)]
        made = {name for node in nodes for name in node.output if name}
        read = {name for node in nodes for name in reads(node)}
        source = self._proto.graph
        model = onnx.ModelProto()
        model.CopyFrom(self._proto)
        graph = model.graph
        for field in ("node", "initializer", "sparse_initializer", "input", "output", "value_info", "quantization_annotation"):
            graph.ClearField(field)
        graph.node.extend(nodes)
        listed = {value.name for value in source.input}
        graph.initializer.extend(tensor for tensor in source.initializer if tensor.name in read)
        graph.sparse_initializer.extend(tensor for tensor in source.sparse_initializer if tensor.values.name in read)
        graph.input.extend(value for value in source.input if value.name in read)
        for name in sorted(read - made - self._stored - listed):
            constant = self._constant(name)
            if constant is not None:
                graph.initializer.append(constant)
                continue
            value = self._typed(name)
            if value is None:
                return None
            graph.input.append(value)
        wanted = {value.name for value in source.output}
        outputs = [name for node in nodes for name in node.output if name and (name in wanted or name not in read)]
        for name in outputs:
            value = self._typed(name)
            if value is None:
                return None
            graph.output.append(value)
        return model if outputs else None

    def _constant(self, name: str) -> onnx.TensorProto | None:
        value = self._facts.constant(name)
        if value is None or value.size > _LARGEST_CONSTANT:
            return None
        try:
            return numpy_helper.from_array(value, name)
        except (TypeError, ValueError):  # a type that numpy has not
            return None

    def _typed(self, name: str) -> onnx.ValueInfoProto | None:
        dtype, shape = self._facts.dtype(name), self._facts.shape(name)
        if not dtype:
            known = self._known.get(name)
            return known if known is not None and known.type.WhichOneof("value") else None
        dims = None if shape is None else [dim if isinstance(dim, int) else str(dim) for dim in shape]
        return helper.make_tensor_value_info(name, dtype, dims)


def _inferred(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with ONNX's own inference, which goes on from types that the file declares behind operators that nobody knows."""
    try:
        return onnx.shape_inference.infer_shapes(proto)
    except Exception:  # the C++ library raises what comes; a model above 2 GB has no inference
        return proto


def failure_test(
    until: Until, target: str, base_dir: Path, timeout: float, consent: frozenset[str] = frozenset()
) -> Callable[[onnx.ModelProto], Failure | None]:
    """A function that says how a model fails: in lint, in the installed parser, in its builder, or in the proof of its repair.

    Raises:
        MissingToolError: parser or builder of the target are not installed. UsageError: there is no such way to fail.
    """
    if until == "blocked":
        return lambda proto: _blocked(proto, target, base_dir)
    if until == "differs":
        return lambda proto: _differs(proto, target, base_dir, consent)
    if until not in UNTIL:
        raise UsageError(f"until is {until!r}, must be one of {', '.join(UNTIL)}")
    from onnxfix.engines.choice import tool_of
    from onnxfix.errors import MissingToolError

    tool = tool_of(target)
    if tool is None:
        raise MissingToolError(f"--until {until}: the release {target} is not installed here; --until blocked asks lint")
    engine = tool.name
    return lambda proto: _asked(proto, engine, base_dir, timeout, build=until == "build")


def _loaded(proto: onnx.ModelProto, base_dir: Path) -> Any:
    from onnxfix.model.load import LoadedModel

    data = serialize(proto)
    return LoadedModel(parse_model(data, "part of the model"), base_dir / "part.onnx", data, "")


def _blocked(proto: onnx.ModelProto, target: str, base_dir: Path) -> Failure | None:
    from onnxfix.api import lint_model

    (report,) = lint_model(_loaded(proto, base_dir), [target]).targets
    refusing = [finding for finding in report.findings if finding.refuses]
    if not refusing:
        return None
    first = refusing[0]
    path = first.location.path
    index = int(path.removeprefix("graph/node[").rstrip("]")) if path.startswith("graph/node[") and path.count("[") == 1 else -1
    return Failure(f"{first.code} {first.location.op_type}", f"{first.code} {first.message}", (index,))


def _differs(proto: onnx.ModelProto, target: str, base_dir: Path, consent: frozenset[str]) -> Failure | None:
    from onnxfix.api import RepairOptions, repair_model

    report, _ = repair_model(_loaded(proto, base_dir), [target], RepairOptions(samples=4, consent=consent))
    wrong = report.proof is not None and not report.proof.passed
    return Failure("differs", report.reason or "the repaired model gives other numbers") if wrong else None


def _asked(proto: onnx.ModelProto, engine: str, base_dir: Path, timeout: float, *, build: bool) -> Failure | None:
    from onnxfix import engines
    from onnxfix.engines.profile import usual_profile

    with tempfile.TemporaryDirectory(prefix="onnxfix-") as folder:
        path = Path(folder) / "part.onnx"
        copy_external(proto, base_dir, path.parent)
        write_bytes(path, serialize(proto))
        if build:
            options = engines.BuildOptions(profiles=usual_profile(proto))
            result = engines.build(path, path.with_suffix(".engine"), options, engine=engine, timeout=timeout)
            parsed, verdict, words = result.parse, str(result.verdict), result.messages
            if parsed.verdict != "parsed" or verdict == "built":
                return None
            return Failure(f"{verdict} {_kind(words)}", words[0] if words else f"the builder {verdict}")
        parsed = engines.parse(path, engine, timeout)
    if parsed.verdict == "parsed":
        return None
    if not parsed.errors:
        return Failure(str(parsed.verdict), " ".join(parsed.messages))
    first = parsed.errors[0]
    return Failure(f"{first.code} {first.op_type} {first.function}", f"{first.op_type}: {first.message}", (first.node,))


def _kind(words: Sequence[str]) -> str:
    """What of a builder's message stays the same when nodes are left out: up to its first name or number."""
    text = next((word for word in words if "Error Code" in word), words[0] if words else "")
    letters = "".join(letter if letter.isalpha() or letter == " " else "#" for letter in text)
    return " ".join(word for word in letters.split() if "#" not in word)[:80]

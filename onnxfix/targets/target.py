"""TensorRT releases: names, order, aliases and the facts of the parser that concern a whole model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from onnxfix.errors import UsageError
from onnxfix.targets._files import Table, read_toml, rules_dir, suggest

EVIDENCE_KINDS = ("parser", "builder", "importer", "document", "report", "inferred")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a fact comes from: a parser's or a builder's own answer, its source, a document, a public report, or an inference."""

    kind: str
    ref: str


@dataclass(frozen=True, slots=True)
class Target:
    """One release as `rules/targets.toml` has it.

    Attributes:
        id: the name, e.g. `trt5.1`; compare targets with `position`, never by name.
        position: place in the order of the releases, oldest first.
        family: `trt` or `rtx`; ranges stay within one.
        released: year and month, or `unknown`.
        cuda: the CUDA releases that its published source names; empty where that is not known.
        gpus: the compute capabilities that its published source builds for, likewise.
        library_evidence: where `cuda` and `gpus` come from.
        batch: `implicit` where axis 0 is no axis of the network's tensors.
        max_opset: the newest ONNX opset that the release documents; 0 where it documents none.
        input_types: element types that a graph input may have (names of TensorProto.DataType).
        output_types: element types that a graph output may have.
        weight_types: element types that an initializer may have; empty where all are taken.
        weights_from: operators whose result the parser holds as weights, whatever they read (Constant; Shape up to 6.0).
        weights_through: operators that keep weights weights (Reshape, Transpose up to 6.0); all others make tensors of them.
        unread: attributes, written `Shape.start`, and inputs, written `ReduceMax[1]`, that the importer does not read although
            shapes depend on them.
        optional_inputs: nodes may leave out inputs by an empty name; earlier parsers look it up.
        unnamed_dims: dimensions of inputs may have neither a size nor a name, or be 0.
        empty_weights: initializers may have no elements.
        local_functions: model-local functions are expanded.
        registered: operators that have an importer, or None where the list is not known.
        unregistered: what becomes of other operators: `refused`, or `plugin` where one of that name may stand in.
        unregistered_message: the parser's words then.
        plugins: names of the plugins that the release's plugin library brings; empty where operators without importer are refused.
        lists_initializers: the parser finds initializers only through the graph's inputs.
        shipped_lists: where a parser that was shipped does so, although its source does not, what says so; else None.
        dynamic_inputs: axes other than 0 of an input may be dynamic.
        weight_outputs: a graph output may be what the parser holds as weights.
        external_weights: elements of initializers may lie in a file of their own.
        typed_fields: the fields of TensorProto, beside raw_data, in which the parser finds elements.
        int64: what becomes of a constant beyond 32 bits: `refused`, `clamped` to them, or `native`.
        empty_names: several outputs of nodes may be left unnamed; earlier parsers take the empty name for one value.
    """

    id: str
    position: int
    family: str
    title: str
    aliases: tuple[str, ...]
    released: str
    cuda: tuple[str, ...]
    gpus: tuple[str, ...]
    library_evidence: Evidence | None
    batch: str
    max_opset: int
    input_types: frozenset[str]
    output_types: frozenset[str]
    weight_types: frozenset[str]
    weights_from: frozenset[str]
    weights_through: frozenset[str]
    unread: frozenset[str]
    optional_inputs: bool
    unnamed_dims: bool
    empty_weights: bool
    local_functions: bool
    registered: frozenset[str] | None
    unregistered: str
    unregistered_message: str
    plugins: frozenset[str]
    lists_initializers: bool
    shipped_lists: Evidence | None
    dynamic_inputs: bool
    weight_outputs: bool
    external_weights: bool
    typed_fields: frozenset[str]
    int64: str
    empty_names: bool
    parser: str
    evidence: Evidence
    notes: tuple[str, ...]

    @property
    def implicit_batch(self) -> bool:
        """True where the network's tensors have no axis 0."""
        return self.batch == "implicit"


def evidence_of(table: Table, key: str = "evidence") -> Evidence:
    """Read `{ kind = "...", ref = "..." }`."""
    inner = Table(table.take(key, dict), f"{table.where}.{key}")
    evidence = Evidence(inner.one_of("kind", EVIDENCE_KINDS), inner.take("ref", str))
    inner.done()
    return evidence


def _read_target(data: object, position: int, where: str) -> Target:
    table = Table(data, where)
    target_id = table.take("id", str)
    table.where = f"{where} ({target_id})"
    match = re.fullmatch(r"(trt|rtx)\d+\.\d+(\.\d+)?(-\w+)?", target_id)
    if match is None:
        raise UsageError(f"{where}: id {target_id!r} must look like trt8.6 or rtx1.7")
    target = Target(
        id=target_id,
        position=position,
        family=match[1],
        title=table.take("title", str),
        aliases=table.strings("aliases", []),
        released=table.take("released", str),
        cuda=table.strings("cuda", []),
        gpus=table.strings("gpus", []),
        library_evidence=evidence_of(table, "library_evidence") if "library_evidence" in table else None,
        batch=table.one_of("batch", ("implicit", "explicit")),
        max_opset=table.take("max_opset", int, 0),
        input_types=frozenset(table.strings("input_types")),
        output_types=frozenset(table.strings("output_types")),
        weight_types=frozenset(table.strings("weight_types", [])),
        weights_from=frozenset(table.strings("weights_from")),
        weights_through=frozenset(table.strings("weights_through", [])),
        unread=frozenset(table.strings("unread", [])),
        optional_inputs=table.take("optional_inputs", bool),
        unnamed_dims=table.take("unnamed_dims", bool),
        empty_weights=table.take("empty_weights", bool),
        local_functions=table.take("local_functions", bool, False),
        registered=frozenset(table.strings("registered")) if "registered" in table else None,
        unregistered=table.one_of("unregistered", ("refused", "plugin")),
        unregistered_message=table.take("unregistered_message", str),
        plugins=frozenset(table.strings("plugins", [])),
        lists_initializers=table.take("lists_initializers", bool, False),
        shipped_lists=evidence_of(table, "shipped_lists") if "shipped_lists" in table else None,
        dynamic_inputs=table.take("dynamic_inputs", bool),
        weight_outputs=table.take("weight_outputs", bool),
        external_weights=table.take("external_weights", bool),
        typed_fields=frozenset(table.strings("typed_fields", [])),
        int64=table.one_of("int64", ("refused", "clamped", "native")),
        empty_names=table.take("empty_names", bool),
        parser=table.take("parser", str),
        evidence=evidence_of(table),
        notes=table.strings("notes", []),
    )
    table.done()
    return target


@cache
def all_targets() -> tuple[Target, ...]:
    """Every target, in the order of `rules/targets.toml`: oldest first, families one after the other."""
    path = rules_dir() / "targets.toml"
    table = Table(read_toml(path), str(path))
    targets = tuple(
        _read_target(item, position, f"{path}: target {position + 1}") for position, item in enumerate(table.take("target", list))
    )
    table.done()
    names = [name for target in targets for name in (target.id, *target.aliases)]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{path}: the name {name!r} stands for two targets")
    return targets


@cache
def plugin_names() -> frozenset[str]:
    """The names of the plugins that any release brings."""
    return frozenset(name for target in all_targets() for name in target.plugins)


@cache
def _by_name() -> dict[str, Target]:
    return {name: target for target in all_targets() for name in (target.id, *target.aliases)}


def find_target(name: str) -> Target:
    """The target that `name` stands for: its id (`trt5.1`), the id without `trt` (`5.1`), or an alias (`jetpack4.2.2`).

    A release of the target is the target (`trt8.6.1`), and a major version alone its newest (`trt10`).

    Raises:
        UsageError: no target has that name; the message lists close ones.
    """
    known = _by_name()
    wanted = name.strip().lower()
    patch = re.fullmatch(r"((?:trt|rtx)?\d+\.\d+)(?:\.\d+)+", wanted)
    for candidate in (wanted, f"trt{wanted}", *((patch[1], f"trt{patch[1]}") if patch else ())):
        if candidate in known:
            return known[candidate]
    major = re.fullmatch(r"(trt|rtx)?(\d+)", wanted)
    of_major = [t for t in all_targets() if major and t.id.startswith(f"{major[1] or 'trt'}{major[2]}.")]
    if of_major:
        return of_major[-1]
    ids = [target.id for target in all_targets()]
    near = _nearest(wanted)
    close = f"; did you mean {near!r}?" if near else suggest(wanted, known) or "."
    raise UsageError(f"unknown target {name!r}{close} Known: {', '.join(ids)}")


def _nearest(wanted: str) -> str:
    """Of the names that are spelled like `wanted` but for the number, the one with the nearest number; empty where none is.

    By its letters trt5.3 is close to trt9.3, which is another decade's release.
    """
    spelled = re.fullmatch(r"([a-z]*)(\d+)(?:\.(\d+))?(?:\.(\d+))?", wanted)
    if spelled is None or (spelled[3] is None and int(spelled[2]) > 20):
        return ""  # no number, or one that lacks its point (trt71)

    def number(match: re.Match[str]) -> int:
        return sum(int(part or 0) * weight for part, weight in zip(match.groups()[1:], (10**6, 10**3, 1), strict=True))

    like = (re.fullmatch(spelled.re, name) for name in _by_name())
    same = [match for match in like if match and match[1] == (spelled[1] or "trt")]
    return min(same, key=lambda match: abs(number(match) - number(spelled)))[0] if same else ""


def find_targets(expression: str) -> tuple[Target, ...]:
    """The targets of one `--target` value: a name, `all`, or a range `trt7.1..trt8.6` with either end left out.

    Raises:
        UsageError: an unknown name, or a range across families or backwards.
    """
    if expression.strip().lower() == "all":
        return all_targets()
    if ".." not in expression:
        return (find_target(expression),)
    low_name, high_name = expression.split("..", 1)
    ends = [find_target(name) for name in (low_name, high_name) if name.strip()]
    if not ends:
        return all_targets()
    low = ends[0] if low_name.strip() else None
    high = ends[-1] if high_name.strip() else None
    if len({end.family for end in ends}) > 1 or (low and high and low.position > high.position):
        raise UsageError(f"target range {expression!r} is empty; write the older release first, both of one family")
    return tuple(
        target
        for target in all_targets()
        if target.family == ends[0].family
        and (low is None or target.position >= low.position)
        and (high is None or target.position <= high.position)
    )


def resolve(expressions: tuple[str, ...]) -> tuple[Target, ...]:
    """The targets of several `--target` values, each once, oldest first; values may hold commas."""
    found = {target for text in expressions for part in text.split(",") if part.strip() for target in find_targets(part)}
    return tuple(sorted(found, key=lambda target: target.position))

"""What each release's parser takes of an operator: `rules/ops/<Op>.toml`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from onnxfix.errors import UsageError
from onnxfix.targets._files import Table, read_toml, rules_dir
from onnxfix.targets.target import Evidence, Target, all_targets, evidence_of, find_targets, plugin_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STATUSES = ("yes", "no", "plugin")


@dataclass(frozen=True, slots=True)
class Limit:
    """One condition that a node must meet; `rule` is the code of the finding where it does not.

    Exactly one subject is set: `opset`, `attribute`, `input` or `check`.

    Attributes:
        opset: the node's opset must lie in `low..high` (`"..9"`).
        attribute: the attribute's value (an absent one has the schema's default) must be among `allowed`.
        input: slot of an input that must be `constant` for the parser, constant at least once the graph is `folded`, a run-time
            `tensor`, of one of `types`, of no type that is `refused`, of a `rank` in `low..high`, or, where not `present`, absent.
        check: name of a predicate of `onnxfix.checks` with `args`.
        newest: the newest opset in which the node would be taken, where an older one helps; of an `opset` limit its upper end.
        when: attribute values under which alone the limit applies.
        message: the parser's words; empty where the record's own apply.
        why: the reason in one sentence, after which a finding's message is made.
        since: the first release known to take it, where a source says so.
        evidence: where it is not that of the record.
    """

    rule: str
    opset: str = ""
    attribute: str = ""
    input: int | None = None
    check: str = ""
    newest: int | None = None
    allowed: tuple[object, ...] = ()
    constant: bool = False
    folded: bool = False
    tensor: bool = False
    present: bool | None = None
    types: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    rank: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    when: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    message: str = ""
    why: str = ""
    since: str = ""
    evidence: Evidence | None = None

    def taken_opset(self, opset: int) -> int | None:
        """The nearest opset in which a node of `opset` that breaks this limit would be taken; None where no other opset helps."""
        lower, _, upper = self.opset.rpartition("..")
        if lower and opset < int(lower):
            return int(lower)
        return int(upper) if upper else self.newest


@dataclass(frozen=True, slots=True)
class OpSupport:
    """What one target takes of one operator.

    `status` is `yes` (within `limits`), `no`, or `plugin` (only where a plugin of that name is loaded); `newest`: the newest opset
    in which the same node is another operator, which is taken.
    """

    op: str
    domain: str
    status: str
    limits: tuple[Limit, ...]
    evidence: Evidence
    message: str
    since: str
    newest: int | None = None


def _read_limit(data: object, where: str) -> Limit:
    table = Table(data, where)
    return limit_of(table, table.take("rule", str))


def limit_of(table: Table, rule: str) -> Limit:
    """The limit in what is left of a table; its findings are of `rule`.

    Raises:
        UsageError: a key is unknown; it has not exactly one subject, or a condition that does not fit it.
    """
    where = table.where
    when = {key: tuple(value) if isinstance(value, list) else (value,) for key, value in table.take("when", dict, {}).items()}
    limit = Limit(
        rule=rule,
        opset=table.take("opset", str, ""),
        attribute=table.take("attribute", str, ""),
        input=table.take("input", int, None),
        check=table.take("check", str, ""),
        allowed=tuple(table.take("allowed", list, [])),
        constant=table.take("constant", bool, False),
        folded=table.take("folded", bool, False),
        tensor=table.take("tensor", bool, False),
        present=table.take("present", bool, None),
        types=frozenset(table.strings("types", [])),
        refused=frozenset(table.strings("refused", [])),
        rank=table.take("rank", str, ""),
        args=table.take("args", dict, {}),
        newest=table.take("newest", int, None),
        when=when,
        message=table.take("message", str, ""),
        why=table.take("why", str, ""),
        since=table.take("since", str, ""),
    )
    table.done()
    subjects = [bool(limit.opset), bool(limit.attribute), limit.input is not None, bool(limit.check)]
    if sum(subjects) != 1:
        raise UsageError(f"{where}: a limit has exactly one of opset, attribute, input, check")
    if limit.opset and limit.newest is not None:
        raise UsageError(f"{where}: the newest opset of an opset limit is its upper end, not a key of its own")
    if limit.attribute and not limit.allowed:
        raise UsageError(f"{where}: a limit on attribute {limit.attribute!r} needs `allowed`")
    conditions = [limit.constant, limit.folded, limit.tensor, limit.present is not None]
    conditions += [bool(limit.types), bool(limit.refused), bool(limit.rank)]
    if (limit.input is not None) != (sum(conditions) == 1):
        raise UsageError(f"{where}: a limit on an input has exactly one of constant, folded, tensor, present, types, refused, rank")
    return limit


def _read_support(path: Path) -> dict[str, OpSupport]:
    table = Table(read_toml(path), str(path))
    op, domain = table.take("op", str), table.take("domain", str, "")
    by_target: dict[str, OpSupport] = {}
    for number, data in enumerate(table.take("support", list), 1):
        record = Table(data, f"{path}: support {number}")
        ids = [target.id for expression in record.strings("targets") for target in find_targets(expression)]
        support = OpSupport(
            op=op,
            domain=domain,
            status=record.one_of("status", STATUSES),
            limits=tuple(
                _read_limit(item, f"{record.where}, limit {index}") for index, item in enumerate(record.take("limits", list, []), 1)
            ),
            evidence=evidence_of(record),
            message=record.take("message", str, ""),
            since=record.take("since", str, ""),
            newest=record.take("newest", int, None),
        )
        record.done()
        for target_id in ids:
            if target_id in by_target:
                raise UsageError(f"{record.where}: {target_id} already has a record")
            by_target[target_id] = support
    for number, data in enumerate(table.take("limit", list, []), 1):
        shared = Table(data, f"{path}: limit {number}")
        ids = [target.id for expression in shared.strings("targets") for target in find_targets(expression)]
        evidence = evidence_of(shared)
        limit = dataclasses.replace(limit_of(shared, shared.take("rule", str)), evidence=evidence)
        for target_id in ids:
            if target_id not in by_target or by_target[target_id].status != "yes":
                raise UsageError(f"{shared.where}: {target_id} has no record that takes the operator")
            known = by_target[target_id]
            by_target[target_id] = dataclasses.replace(known, limits=(limit, *known.limits))
    table.done()
    if not by_target:
        raise UsageError(f"{path}: needs at least one [[support]]")
    return by_target


def _file_name(domain: str, op: str) -> str:
    return f"{domain}.{op}.toml" if domain else f"{op}.toml"


@cache
def _records(domain: str, op: str) -> dict[str, OpSupport]:
    path = rules_dir() / "ops" / _file_name(domain, op)
    if not path.is_file():
        return {}
    records = _read_support(path)
    if next(iter(records.values())).op != op:
        raise UsageError(f"{path}: describes another operator than its name says")
    return records


def op_support(domain: str, op: str, target: Target) -> OpSupport | None:
    """The record of an operator for a target, or None where nothing is recorded (which means *unknown*).

    A parser finds its importer by the operator's name alone (ModelImporter.cpp of every release, `opImporters.count`), so that an
    operator of another domain without records of its own goes by those of ONNX's operator of that name.
    """
    if "/" in op or "/" in domain or not op:
        return None
    return (_records(domain, op) or _records("", op)).get(target.id) or _plugin_support(op, target)


@cache
def _plugin_support(op: str, target: Target) -> OpSupport | None:
    """What holds of a plugin's name: `targets.toml` says which releases bring it."""
    if op not in plugin_names():
        return None
    absent = "plugin" if target.plugins else "no"
    message = target.unregistered_message.replace("{op}", op)
    return OpSupport(op, "", "yes" if op in target.plugins else absent, (), target.evidence, message, "")


def unrecorded_status(domain: str, op: str, target: Target) -> str:
    """What holds of an operator without a record: `no`, `plugin` (only one of that name helps) or `unknown`.

    Where the list of importers is known, a name that is not on it has none. A domain of its own has importers in no release.
    """
    own = domain in ("", "org.pytorch.aten") or domain.startswith("ai.onnx")
    if target.registered is not None and op not in target.registered:
        return "no" if own or target.unregistered != "plugin" else "plugin"
    return "unknown" if own or target.unregistered != "plugin" else "plugin"


def recorded_operators() -> tuple[tuple[str, str], ...]:
    """(domain, operator) of every record file, sorted."""
    pairs = []
    for path in sorted((rules_dir() / "ops").glob("*.toml")):
        domain, _, op = path.stem.rpartition(".")
        pairs.append((domain, op))
    return tuple(pairs)


def first_accepting(domain: str, op: str, target: Target) -> Target | None:
    """The first later release of the target's family whose record says yes, where one is recorded."""
    for later in all_targets():
        if later.family == target.family and later.position > target.position:
            support = op_support(domain, op, later)
            if support is not None and support.status == "yes":
                return later
    return None


def neighbours(domain: str, op: str, target: Target) -> tuple[tuple[Target, OpSupport], ...]:
    """The nearest older and the nearest newer release of the family that have a record of the operator, where there are any."""
    family = [other for other in all_targets() if other.family == target.family]
    older = [other for other in reversed(family) if other.position < target.position]
    newer = [other for other in family if other.position > target.position]
    found = []
    for side in (older, newer):
        known = ((other, op_support(domain, op, other)) for other in side)
        found += [(other, support) for other, support in known if support is not None][:1]
    return tuple(found)

"""What the builder of a release refuses of what its parser takes: `rules/builds.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from onnxfix.targets._files import Table, read_toml, rules_dir
from onnxfix.targets.support import Limit, limit_of
from onnxfix.targets.target import Evidence, Target, evidence_of, find_targets

if TYPE_CHECKING:
    from collections.abc import Mapping

RULE = "OFX704"


@dataclass(frozen=True, slots=True)
class BuildLimit:
    """A condition that a node must meet to be built, and where that was seen."""

    limit: Limit
    evidence: Evidence


@cache
def _limits() -> Mapping[tuple[str, str], tuple[BuildLimit, ...]]:
    path = rules_dir() / "builds.toml"
    found: dict[tuple[str, str], tuple[BuildLimit, ...]] = {}
    for number, data in enumerate(read_toml(path).get("limit", []), 1):
        table = Table(data, f"{path}: limit {number}")
        ops = table.strings("ops")
        ids = [target.id for expression in table.strings("targets") for target in find_targets(expression)]
        evidence = evidence_of(table)
        entry = BuildLimit(limit_of(table, RULE), evidence)
        for op in ops:
            for target_id in ids:
                found[op, target_id] = (*found.get((op, target_id), ()), entry)
    return found


def build_limits(op: str, target: Target) -> tuple[BuildLimit, ...]:
    """The limits of an operator of ONNX's own domain, none where nothing is known.

    Raises:
        UsageError: the file is damaged.
    """
    return _limits().get((op, target.id), ())

"""Finds the rules and operators that a parser's message speaks of."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxfix.targets import all_targets, op_support, recorded_operators

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|[<>=!&|]+")
# A match must cover so much of a known message, each word counted by how rare it is.
_ENOUGH = 0.6
# What every message has in front: log level, source file, function, node number.
_PREAMBLE = re.compile(r"^.*?(?=Assertion failed|No importer registered)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Match:
    """A known message that is like the one asked about.

    `score` is the part of it that was found, at most 1; `exact` is true where one of the two is a piece of the other.
    """

    message: str
    rule: str
    places: tuple[tuple[str, str], ...]
    evidence: str
    score: float
    exact: bool

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators of which a parser says so; empty where it says so of any."""
        found = tuple(dict.fromkeys(op for _, op in self.places))
        return () if "" in found else found

    @property
    def targets(self) -> tuple[str, ...]:
        """The releases that say so; empty where only the rule's documentation quotes it."""
        return tuple(dict.fromkeys(target for target, _ in self.places if target))


@dataclass(frozen=True, slots=True)
class _Known:
    message: str
    rule: str
    target: str
    op: str
    evidence: str


def _filled(template: str, asked: str) -> tuple[str, str]:
    """A message in which `{op}` is what `asked` has there, and that operator; the template where it has nothing."""
    before, _, after = template.partition("{op}")
    found = re.search(rf"{re.escape(before)}(\w+){re.escape(after)}", asked) if before != template else None
    return (found[0], found[1]) if found else (template, "")


def _known_messages(asked: str) -> Iterator[_Known]:
    for target in all_targets():
        proof = f"{target.evidence.kind}, {target.evidence.ref}"
        message, operator = _filled(target.unregistered_message, asked)
        yield _Known(message, "OFX101", target.id, operator, proof)
        for domain, op in recorded_operators():
            support = op_support(domain, op, target)
            if support is None:
                continue
            proof = f"{support.evidence.kind}, {support.evidence.ref}"
            if support.message and support.status != "yes":
                yield _Known(support.message, "OFX103" if support.status == "plugin" else "OFX101", target.id, op, proof)
            for limit in support.limits:
                if limit.message:
                    yield _Known(limit.message, limit.rule, target.id, op, proof)
    from onnxfix.rules.rule import all_rules

    for rule in all_rules():
        for quoted in re.findall(r"`([^`\n]{12,})`", rule.docs):
            yield _Known(quoted, rule.code, "", "", f"the page of {rule.code}")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _TOKEN.findall(text.replace("{op}", " ")))


def _is_piece(asked: str, message: str) -> bool:
    """Whether the message stands in what was asked, or that in the message: users cut messages short."""
    short, known = (" ".join(text.lower().split()).strip(" .\"'`") for text in (_PREAMBLE.sub("", asked), message))
    inner, outer = (known, short) if len(known) <= len(short) else (short, known)
    return inner == outer or (len(_words(inner)) > 1 and re.search(rf"(?<!\w){re.escape(inner)}(?!\w)", outer) is not None)


def find_messages(asked: str, limit: int = 3) -> list[Match]:
    """The known messages that `asked` contains or resembles, best first.

    Where `asked` names an operator, and a message is known of that operator, the others are left out of its places.
    """
    groups: dict[tuple[str, str], list[_Known]] = {}
    for known in _known_messages(asked):
        groups.setdefault((known.message, known.rule), []).append(known)
    words = {message: _words(message) for message, _ in groups}
    frequency = Counter(word for found in words.values() for word in found)
    weight = {word: math.log(1 + len(words) / number) for word, number in frequency.items()}
    # a word that no message has counts as the rarest, but not so much that a node's name hides what was found
    rarest = math.log(1 + len(words)) / 2
    wanted = _words(_PREAMBLE.sub("", asked)) or _words(asked)
    operators = {op for _, op in recorded_operators()} | {member.op for members in groups.values() for member in members}
    named = {op for op in operators if op and re.search(rf"\b{re.escape(op)}\b", asked)}

    matches = []
    for (message, rule), members in groups.items():
        total = sum(weight[word] for word in words[message])
        covered = sum(weight[word] for word in words[message] & wanted)
        # Either may be the longer one: users cut messages short, and logs put more around them.
        asked_total = sum(weight.get(word, rarest) for word in wanted)
        score = max(covered / total if total else 0.0, covered / asked_total if len(wanted) > 2 and asked_total else 0.0)
        if score < _ENOUGH:
            continue
        of_named = [member for member in members if member.op in named]
        if named and not of_named and all(member.op for member in members):
            continue
        chosen = of_named or members
        bonus = 0.05 * bool(of_named) + 0.01 * bool(chosen[0].target)
        places = tuple((member.target, member.op) for member in chosen)
        matches.append(
            (score + bonus, Match(message, rule, places, chosen[0].evidence, min(score, 1.0), _is_piece(asked, message)))
        )
    matches.sort(key=lambda item: (not item[1].exact, -item[0], -len(item[1].places), item[1].rule, item[1].message))
    best = matches[0][0] if matches else 0.0
    return [match for rank, match in matches[:limit] if rank > best - 0.25]

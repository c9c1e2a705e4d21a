"""Choosing rules by code or prefix: `OFX1` means every code that begins so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxfix.errors import UsageError
from onnxfix.rules.rule import rule_codes
from onnxfix.targets._files import suggest

if TYPE_CHECKING:
    from onnxfix.rules.finding import Finding


def check_prefixes(prefixes: tuple[str, ...], option: str) -> tuple[str, ...]:
    """The prefixes in upper case, commas split.

    Raises:
        UsageError: no rule's code begins with one of them.
    """
    codes = rule_codes()
    wanted = tuple(part.strip().upper() for text in prefixes for part in text.split(",") if part.strip())
    for prefix in wanted:
        if prefix != "ALL" and not any(code.startswith(prefix) for code in codes):
            raise UsageError(f"{option}: no rule begins with {prefix!r}{suggest(prefix, codes)}")
    return wanted


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules count: those of `select` (all where empty) without those of `ignore`; the longer prefix wins."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def __contains__(self, code: str) -> bool:
        chosen = max((len(p) for p in self.select if p == "ALL" or code.startswith(p)), default=-1 if self.select else 0)
        dropped = max((len(p) for p in self.ignore if p == "ALL" or code.startswith(p)), default=-1)
        return chosen >= 0 and chosen > dropped

    def apply(self, findings: list[Finding]) -> list[Finding]:
        """The findings whose rules count."""
        return [finding for finding in findings if finding.code in self]

    @property
    def words(self) -> str:
        """What leaves rules out: `select`, `ignore`, or both."""
        return " and ".join(word for word, given in (("select", self.select), ("ignore", self.ignore)) if given)

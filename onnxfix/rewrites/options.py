"""What a caller may ask of a repair."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from onnxfix.rules.select import Selection

LEVELS = ("exact", "equivalent", "approximate")


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """Options of one repair.

    Attributes:
        allow: the weakest promise that a rewrite may make: `exact`, `equivalent` or `approximate`.
        consent: codes of rules whose fixes may change what the file says.
        only: fix findings of these codes (prefixes) alone; empty: of all.
        skip: leave findings of these codes (prefixes).
        selection: the rules that count at all, with those of `consent`; findings of others are neither fixed nor in the way.
        verify: prove the result by running both models.
        samples: how many inputs the proof tries.
        seed: of the inputs.
        shapes: fixed shapes for graph inputs; consent to freezing their dynamic dimensions.
        inputs: given arrays in place of made ones.
        rtol: relative tolerance of the proof; None: by element type.
        atol: absolute tolerance of the proof; None: by element type and size of the output.
        max_passes: how many passes at most.
        partial: give what was proven even where errors are left.
        simplify: begin with what onnxslim makes of the model, where that is proven.
    """

    allow: str = "equivalent"
    consent: frozenset[str] = frozenset()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    selection: Selection | None = None
    verify: bool = True
    samples: int = 8
    seed: int = 0
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    inputs: Mapping[str, np.ndarray[Any, Any]] | None = None
    rtol: float | None = None
    atol: float | None = None
    max_passes: int = 100
    partial: bool = False
    simplify: bool = False

    def __post_init__(self) -> None:
        if self.allow not in LEVELS:
            levels = f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]}"
            raise UsageError(f"allow: is {self.allow!r}, must be {levels}; the codes of rules go into consent")
        for name in ("consent", "only", "skip"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"{name}: is {getattr(self, name)!r}, must be a collection of codes, such as {{'OFX701'}}")
        object.__setattr__(self, "only", tuple(self.only))
        object.__setattr__(self, "skip", tuple(self.skip))

    def counts(self, code: str) -> bool:
        """Whether the rule counts: consent to its fix says more than a selection, which may be that of a whole project."""
        return self.selection is None or code in self.selection or code in self.consent

"""Runs variants by turns: warm-up until their times are steady, then rounds A B B A, so that a drift meets all of them alike."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from onnxfix.bench.statistics import median

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnxfix.bench.raw import Round

# Warm-up: windows of this many runs, and as many windows in a row whose medians lie this close together.
_WINDOW = 10
_WINDOWS = 10
_STEADY = 0.01
_PATIENCE = 10


class Runner(Protocol):
    """One model or engine, loaded, with its inputs in place."""

    def run(self) -> Mapping[str, float]:
        """Run once: the times in milliseconds by name, in trtexec's words."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure.

    Attributes:
        rounds: rounds of each variant.
        duration: seconds to measure each variant, all rounds together.
        iterations: least number of runs of each variant, all rounds together.
        warm_up: least seconds of warm-up; after ten times as many it ends even if the times are not steady.
    """

    rounds: int = 6
    duration: float = 3.0
    iterations: int = 100
    warm_up: float = 0.2


def warm_up(runner: Runner, field: str, plan: Plan, clock: Callable[[], float] = time.perf_counter) -> bool:
    """Run until the times of `field` are steady; False where the limit came first."""
    begin = clock()
    medians: list[float] = []
    while True:
        medians.append(median([runner.run()[field] for _ in range(_WINDOW)]))
        last = medians[-_WINDOWS:]
        spread = (max(last) - min(last)) / last[-1] if last[-1] else 0.0
        passed = clock() - begin
        if passed >= plan.warm_up and len(last) == _WINDOWS and spread < _STEADY:
            return True
        if passed >= _PATIENCE * plan.warm_up:
            return False


def measure(
    variants: Sequence[Sequence[Runner]],
    plan: Plan,
    clock: Callable[[], float] = time.perf_counter,
    progress: Callable[[str], None] | None = None,
) -> list[list[Round]]:
    """The rounds of each variant, in the order in which they ran.

    Args:
        variants: for each variant its builds, which take the rounds in turn; all are warm.
        plan: how long.
        clock: seconds.
        progress: called before each round.
    """
    from onnxfix.bench.raw import Round

    found: list[list[Round]] = [[] for _ in variants]
    begin = clock()
    for number in range(plan.rounds):
        forth = range(len(variants))
        for index in forth if number % 2 == 0 else reversed(forth):
            if progress is not None:
                progress(f"round {number + 1} of {plan.rounds}")
            build = number % len(variants[index])
            started = clock()
            samples = _round(variants[index][build], plan, clock)
            found[index].append(Round(build, started - begin, clock() - started, samples))
    return found


def _round(runner: Runner, plan: Plan, clock: Callable[[], float]) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {}
    least = -(-plan.iterations // plan.rounds)
    end, count = clock() + plan.duration / plan.rounds, 0
    while count < least or clock() < end:
        for name, value in runner.run().items():
            samples.setdefault(name, []).append(value)
        count += 1
    return samples

"""Predicates over nodes, by family; `check(name)` finds one. They read view and facts and change nothing."""

from onnxfix.checks._registry import Context, Problem, find_check

__all__ = ["Context", "Problem", "find_check"]

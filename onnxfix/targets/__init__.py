"""TensorRT releases and what their parsers take, read from `rules/targets.toml` and `rules/ops/`."""

from onnxfix.targets.support import (
    Limit,
    OpSupport,
    first_accepting,
    neighbours,
    op_support,
    recorded_operators,
    unrecorded_status,
)
from onnxfix.targets.target import Evidence, Target, all_targets, find_target, find_targets, plugin_names, resolve

__all__ = [
    "Evidence",
    "Limit",
    "OpSupport",
    "Target",
    "all_targets",
    "find_target",
    "find_targets",
    "first_accepting",
    "neighbours",
    "op_support",
    "plugin_names",
    "recorded_operators",
    "resolve",
    "unrecorded_status",
]

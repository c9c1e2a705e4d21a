"""What must hold after every batch of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx

from onnxfix.model.load import without_weights
from onnxfix.rewrites._edit import copy_model
from onnxfix.rewrites.catalogue import REWRITES, Phase
from onnxfix.rules.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onnxfix.rewrites.catalogue import RewriteInfo
    from onnxfix.rules.finding import Finding

# A rewrite that makes more nodes than this of a model is no repair.
MAX_GROWTH = 20
ROOM = 2000


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a batch may not stand; `left` are the findings that it was to fix and has not, where that is the reason."""

    reason: str
    left: tuple[Finding, ...] = ()


def checker_level(model: onnx.ModelProto) -> int:
    """The strongest check that the model passes: 2 with shape inference, 1 without, 0 none."""
    for level in (2, 1):
        if checker_error(model, level) is None:
            return level
    return 0


def checker_error(model: onnx.ModelProto, level: int) -> str | None:
    """What onnx's checker says at that level, in one line; None where it is content."""
    if level == 0:
        return None
    light = without_weights(model)
    if level == 2:
        _drop_declared_shapes(light)
    try:
        onnx.checker.check_model(light, full_check=level == 2)
    except Exception as error:  # the checker raises its own errors, shape inference others, both from C++
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return None


def _drop_declared_shapes(model: onnx.ModelProto) -> None:
    """Drop what the model declares of the shapes of outputs and inner values, for the strict check.

    Exporters declare what they meant, not what the nodes give (torch 1.2 rounds scale factors down; onnx's inference rounds
    `48 * 0.41666666` otherwise than onnxruntime). As long as shapes are computed at run time nobody notices; a constant in their
    place must not be refused for it. That outputs keep their shapes is what the proof shows.
    """
    del model.graph.value_info[:]
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def interface(model: onnx.ModelProto, *, types: bool = True, shapes: bool = True) -> tuple[list[bytes], list[bytes]]:
    """The real inputs and the outputs, as bytes; without their element types or shapes where those may change."""
    if not (types and shapes):
        model = copy_model(model)
    for value in (*model.graph.input, *model.graph.output):
        if not types:
            value.type.tensor_type.elem_type = 0
        if not shapes:
            value.type.tensor_type.ClearField("shape")
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = [value.SerializeToString(deterministic=True) for value in model.graph.input if value.name not in stored]
    return inputs, [value.SerializeToString(deterministic=True) for value in model.graph.output]


def broken_gate(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    findings: Iterable[Finding],
    left: list[Finding],
    fixed: Sequence[Finding],
    rewrites: Sequence[RewriteInfo],
    level: int,
    shadowed: set[str],
) -> Refusal | None:
    """Why `after` may not stand; None where every gate is passed.

    `findings` are those of `before`, `left` those of `after`, `fixed` those that the batch was to fix. The `rewrites` of the batch,
    all of one phase, say what of the interface they may change. `shadowed` outputs stood behind a refused node before, so that an
    error there comes to light and is not new, or get other shapes for now than ONNX gives.
    """
    phase = rewrites[0].phase
    error = checker_error(after, level)
    if error is not None:
        return Refusal(f"the checker refuses the result: {error}")
    (inputs, outputs), (own_inputs, own_outputs) = (
        interface(model, types=not any(info.retypes for info in rewrites), shapes=not any(info.rebatches for info in rewrites))
        for model in (before, after)
    )
    if inputs != own_inputs or (outputs != own_outputs and not any(info.new_outputs for info in rewrites)):
        return Refusal("the model's inputs or outputs would change")
    if len(after.graph.node) > len(before.graph.node) * MAX_GROWTH + ROOM:
        return Refusal(f"the model would grow from {len(before.graph.node)} to {len(after.graph.node)} nodes")
    remaining = {finding.key for finding in left}
    still = tuple(finding for finding in fixed if finding.key in remaining)
    if still:
        return Refusal(still_found(still[0]), still)
    had = {finding.key for finding in findings}
    # in an older opset what was an input is an attribute, and only now it can be read: operators come once more
    again = phase is Phase.OPSET and any(finding.severity is Severity.ERROR for finding in fixed)
    for finding in left:
        if finding.severity is not Severity.ERROR or finding.key in had or shadowed.intersection(finding.location.outputs):
            continue
        if not _comes_later(finding, Phase.OPERATORS if again else phase):
            return Refusal(f"the rewrite brings {finding.code}: {finding.message}")
    return None


def still_found(finding: Finding) -> str:
    """The reason for a fix that has not fixed what it was for."""
    return f"{finding.code} is still found after the rewrite"


def _comes_later(finding: Finding, phase: Phase) -> bool:
    """True where a rewrite of this phase or a later one takes the finding away (a new constant is listed at the very end)."""
    return any(REWRITES[name].phase >= phase for name in finding.fixes)

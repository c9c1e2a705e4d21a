"""Write the whole model in an older opset, as one transaction: all nodes follow, or none.

A half-moved model is invalid by definition (Upsample in an opset-11 model, Clip with inputs in an opset-9 model), so the import
changes together with the nodes, and gates run once at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.model.opsets import domain_of
from onnxfix.rewrites._edit import apply_changes
from onnxfix.rewrites._region import Decline, Region
from onnxfix.rewrites.lowering import _general, axes, clip, pad, pool, reshape, resize, slice, softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from onnxfix.model.facts import Facts
    from onnxfix.rewrites._edit import EditLog
    from onnxfix.rewrites._region import Change, Names

LOWERINGS: dict[str, Callable[[Region, int], Decline | None]] = {
    "AveragePool": pool.lower,
    "Clip": clip.lower,
    "LogSoftmax": softmax.lower,
    "MaxPool": pool.lower,
    "Pad": pad.lower,
    "ReduceSum": axes.lower,
    "Reshape": reshape.lower,
    "Resize": resize.lower,
    "Slice": slice.lower,
    "Softmax": softmax.lower,
    "Squeeze": axes.lower,
    "Unsqueeze": axes.lower,
}


def lower_node(region: Region, low: int) -> Decline | None:
    """Edit the region's node into its form in opset `low`; leaves it untouched where it stays."""
    op = region.proto.op_type
    if _general.is_same(op, region.opset, low):
        return None
    return LOWERINGS.get(op, _general.lower)(region, low)


def move(model: onnx.ModelProto, facts: Facts, low: int, code: str, names: Names, log: EditLog) -> Decline | None:
    """Bring every node of ONNX's own domain to opset `low` and change the import, or say which node is in the way."""
    changes: list[tuple[Change, str]] = []
    for node in facts.view.nodes():
        if node.domain or node.scope.function is not None:
            continue
        region = Region(node.proto, node.scope.path, node.index, facts.of(node.scope), node.scope.opsets, names)
        declined = lower_node(region, low)
        if declined is not None:
            return Decline(f"{node.op_type} {node.name} cannot follow to opset {low}: {declined.reason}")
        if region.is_edited:
            changes.append((region.change(), code))
    apply_changes(model, changes, log)
    for item in model.opset_import:
        if not domain_of(item.domain):
            item.version = low
    return None

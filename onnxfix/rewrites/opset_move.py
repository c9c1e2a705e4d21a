"""Write the whole model in an older opset, or one below 7 in opset 7, as one transaction: all nodes follow, or none.

A half-moved model is invalid by definition (Upsample in an opset-11 model, Clip with inputs in an opset-9 model), so the import
changes together with the nodes, and gates run once at the end.

A node that has no form of its own in the older opset is first written as other nodes of the model's own opset, by its file in
`lowering` or by the catalogue's rewrites that start from its operator, last by the body that ONNX's schema gives the operator as a
function. What comes out may need the same, so this is repeated until every node follows as it is; then the import changes.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxfix.model.opsets import domain_of, has_body, schema_at
from onnxfix.rewrites._edit import apply_changes
from onnxfix.rewrites._functions import drop_uncalled
from onnxfix.rewrites._region import Change, Decline, Names, Region
from onnxfix.rewrites.catalogue import REWRITES, Applicability, Phase
from onnxfix.rewrites.lowering import (
    _body,
    _general,
    arg,
    axes,
    batch_normalization,
    bitwise,
    cast,
    clip,
    constant,
    dropout,
    equal,
    extremes,
    gemm,
    grid_sample,
    is_inf,
    mod,
    one_hot,
    pad,
    pool,
    pow,
    quantize,
    reshape,
    resize,
    roi_align,
    shape,
    slice,
    softmax,
    split,
    thresholded_relu,
    top_k,
)
from onnxfix.rewrites.raising import raise_node

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from onnxfix.model.facts import Facts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._edit import EditLog
    from onnxfix.targets import Target

# Rewrites of rewrites of a node end here; what is still in the way then is a circle.
MAX_ROUNDS = 12
# Operators with subgraphs, and what writes their nodes into the graph around.
FLATTENED = {"If": "inline_if", "Loop": "unroll_loop", "Scan": "unroll_scan"}

LOWERINGS: dict[str, Callable[[Region, int], Decline | None]] = {
    "ArgMax": arg.lower,
    "ArgMin": arg.lower,
    "AveragePool": pool.lower,
    "BatchNormalization": batch_normalization.lower,
    "BitShift": bitwise.shift,
    "BitwiseAnd": bitwise.lower,
    "BitwiseNot": bitwise.lower,
    "BitwiseOr": bitwise.lower,
    "BitwiseXor": bitwise.lower,
    "Cast": cast.lower,
    "CastLike": cast.lower,
    "Clip": clip.lower,
    "Constant": constant.lower,
    "DequantizeLinear": quantize.lower,
    "Dropout": dropout.lower,
    "Equal": equal.lower,
    "Gemm": gemm.lower,
    "GridSample": grid_sample.lower,
    "Hardmax": softmax.lower,
    "IsInf": is_inf.lower,
    "LogSoftmax": softmax.lower,
    "Max": extremes.lower,
    "MaxPool": pool.lower,
    "Min": extremes.lower,
    "Mean": extremes.lower,
    "Mod": mod.lower,
    "OneHot": one_hot.lower,
    "Pad": pad.lower,
    "Pow": pow.lower,
    "ReduceL1": axes.lower,
    "ReduceL2": axes.lower,
    "ReduceLogSum": axes.lower,
    "ReduceLogSumExp": axes.lower,
    "ReduceMax": axes.lower,
    "ReduceMean": axes.lower,
    "ReduceMin": axes.lower,
    "ReduceProd": axes.lower,
    "ReduceSum": axes.lower,
    "ReduceSumSquare": axes.lower,
    "QuantizeLinear": quantize.lower,
    "Reshape": reshape.lower,
    "Resize": resize.lower,
    "RoiAlign": roi_align.lower,
    "Shape": shape.lower,
    "Slice": slice.lower,
    "Softmax": softmax.lower,
    "Split": split.lower,
    "Squeeze": axes.lower,
    "Sum": extremes.lower,
    "ThresholdedRelu": thresholded_relu.lower,
    "TopK": top_k.lower,
    "Unsqueeze": axes.lower,
    "Upsample": resize.lower,
}


@dataclass(slots=True)
class Moved:
    """What a move took: the names of the catalogue's rewrites that it used, and the weakest promise among them."""

    rewrites: list[str]
    promise: Applicability = Applicability.EXACT

    def add(self, name: str, promise: Applicability) -> None:
        """Count a rewrite."""
        if name and name not in self.rewrites:
            self.rewrites.append(name)
        if promise is Applicability.EQUIVALENT:
            self.promise = promise


@dataclass(frozen=True, slots=True)
class Way:
    """How a node follows: `changes` are empty where it stays as it is; `direct` ones are in the form of the older opset."""

    changes: list[Change]
    direct: bool = True
    rewrite: str = ""
    promise: Applicability = Applicability.EXACT


def form_of(region: Region, low: int) -> Decline | None:
    """Edit the region's node into its form in opset `low`, or into other nodes of its own opset; untouched where it stays."""
    op = region.proto.op_type
    foreign = _general.foreign_attribute(region)
    if foreign is not None or _general.is_same(op, region.opset, low):
        return foreign
    return LOWERINGS.get(op, _general.lower)(region, low)


def way_of(region: Callable[[], Region], low: int, target: Target, allow: Applicability) -> Way | Decline:
    """How a node of ONNX's own domain gets to opset `low`, or why it does not.

    Args:
        region: makes a new region of the node; an attempt that declines leaves its region half edited.
        low: the older opset.
        target: the release that the model is repaired for.
        allow: the weakest promise that a rewrite may make.
    """
    first = region()
    op = first.proto.op_type
    foreign = _general.foreign_attribute(first)
    if foreign is not None:
        return foreign
    declined = form_of(first, low)
    if declined is None:
        promise = Applicability.EXACT if first.exact else Applicability.EQUIVALENT
        if promise is Applicability.EXACT or allow is not Applicability.EXACT:
            return Way([first.change()] if first.is_edited or first.is_replaced else [], not first.is_replaced, promise=promise)
        declined = Decline(f"what {op} becomes in opset {low} is equivalent, not exact")
    reasons = [declined.reason]
    for name in ("fold_constant", *(info.name for info in REWRITES.values() if _serves(info.name, op, allow))):
        attempt = region()
        rewrite = importlib.import_module(f"onnxfix.rewrites.{name}").rewrite
        answer = rewrite(attempt, attempt.facts, target)
        if isinstance(answer, Decline):
            if name != "fold_constant" and not answer.plain:
                reasons.append(answer.reason)
            continue
        changes = answer if isinstance(answer, list) else [answer if answer is not None else attempt.change()]
        stuck = _stuck(changes, op, attempt.opset, low, allow)
        if stuck is None:
            return Way(changes, direct=False, rewrite=name, promise=REWRITES[name].applicability)
        reasons.append(f"{name} makes {stuck}, which opset {low} lacks")
    body = _body.expand(region())
    if isinstance(body, Decline):
        return Decline("; ".join(dict.fromkeys(filter(None, (*reasons, body.reason)))))
    if allow is Applicability.EXACT:
        return Decline("; ".join([*dict.fromkeys(reasons), "the function body of its schema is equivalent"]))
    return Way([body], direct=False, rewrite="", promise=Applicability.EQUIVALENT)


def _serves(name: str, op: str, allow: Applicability) -> bool:
    """Whether a rewrite starts from the operator by name and promises enough."""
    info = REWRITES[name]
    if op not in info.ops or info.phase not in (Phase.NORMALISE, Phase.OPERATORS):
        return False
    return info.applicability is Applicability.EXACT or (
        info.applicability is Applicability.EQUIVALENT and allow is not Applicability.EXACT
    )


def _stuck(changes: list[Change], op: str, high: int, low: int, allow: Applicability) -> str | None:
    """An operator among the new nodes that has no way down at all."""
    for change in changes:
        for node in change.nodes:
            made = node.op_type
            if made == op or domain_of(node.domain) or schema_at(made, low) is not None or made in LOWERINGS:
                continue
            if not any(_serves(name, made, allow) for name in REWRITES) and not has_body(made, high):
                return made
    return None


def move(
    model: onnx.ModelProto,
    facts: Facts,
    low: int,
    code: str,
    names: Names,
    log: EditLog,
    target: Target,
    allow: Applicability = Applicability.EQUIVALENT,
) -> Moved | Decline:
    """Bring every node of ONNX's own domain to opset `low` and change the import, or say which node is in the way.

    Args:
        model: the model to edit; it is half edited where the move declines.
        facts: of the model.
        low: the older opset, or a newer one to raise the model to.
        code: the rule that asks for it.
        names: the names that the model uses.
        log: what is done to original nodes.
        target: the release that the model is repaired for.
        allow: the weakest promise that a rewrite may make.
    """
    if low > facts.view.opsets.get("", low):
        return _raise(model, facts, low, code, names, log)
    moved = Moved([])
    for _ in range(MAX_ROUNDS):
        direct: list[tuple[Change, str]] = []
        others: list[tuple[Change, str]] = []
        taken: set[tuple[str, int]] = set()
        stuck: Decline | None = None
        nodes = [node for node in facts.view.nodes() if not node.domain and node.scope.root.function is None]
        for node in nodes:
            way = way_of(_maker(node, facts, names), low, target, allow)
            if isinstance(way, Decline):
                stuck = stuck or Decline(f"{node.op_type} {node.name} cannot follow to opset {low}: {way.reason}")
                continue
            if way.direct:
                direct.extend((change, code) for change in way.changes)
            elif _claim(way.changes, taken):
                others.extend((change, code) for change in way.changes)
                moved.add(way.rewrite, way.promise)
        if not others and stuck is None:
            apply_changes(model, direct, log)
            _import(model, low, code, log)
            return moved
        if not others:
            # shapes that lie behind a branch or a loop may be what is missing
            for node in nodes:
                name = FLATTENED.get(node.op_type)
                changes = None if name is None else _changes(name, _maker(node, facts, names)(), target)
                if name is not None and isinstance(changes, list) and _claim(changes, taken):
                    others.extend((change, code) for change in changes)
                    moved.add(name, REWRITES[name].applicability)
        if not others:
            assert stuck is not None
            return stuck
        apply_changes(model, others, log)
        facts = facts.again(model)
        names = Names(model)
    return Decline(f"rewriting does not end within {MAX_ROUNDS} rounds on the way to opset {low}")


def _raise(model: onnx.ModelProto, facts: Facts, high: int, code: str, names: Names, log: EditLog) -> Moved | Decline:
    """Bring every node of ONNX's own domain to the newer opset `high`."""
    changes: list[tuple[Change, str]] = []
    for node in facts.view.nodes():
        if node.domain or node.scope.root.function is not None:
            continue
        region = _maker(node, facts, names)()
        declined = raise_node(region, high)
        if declined is not None:
            return Decline(f"{node.op_type} {node.name} cannot follow to opset {high}: {declined.reason}")
        if region.is_edited or region.is_replaced:
            changes.append((region.change(), code))
    apply_changes(model, changes, log)
    _import(model, high, code, log)
    return Moved([])


def _import(model: onnx.ModelProto, opset: int, code: str, log: EditLog) -> None:
    """Change the import; a function that no node calls any more goes where it would make the model invalid."""
    drop_uncalled(model, opset, code, log)
    for item in model.opset_import:
        if not domain_of(item.domain):
            item.version = opset


def _claim(changes: list[Change], taken: set[tuple[str, int]]) -> bool:
    """Take the nodes that the changes replace; False where another rewrite of the round has one, which leaves them for the next.

    A change within a branch of a node that is replaced is lost with the branch, and made again in the next round.
    """
    places = {(change.scope, change.index) for change in changes}
    if taken & places:
        return False
    taken |= places
    return True


def _changes(name: str, region: Region, target: Target) -> list[Change] | Decline:
    """What a rewrite of the catalogue makes of a node."""
    answer = importlib.import_module(f"onnxfix.rewrites.{name}").rewrite(region, region.facts, target)
    if isinstance(answer, Decline):
        return answer
    return answer if isinstance(answer, list) else [answer if answer is not None else region.change()]


def _maker(node: Node, facts: Facts, names: Names) -> Callable[[], Region]:
    def region() -> Region:
        return Region(node.proto, node.scope.path, node.index, facts.of(node.scope), node.scope.opsets, names)

    return region

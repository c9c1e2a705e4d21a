"""NonMaxSuppression, and what picks boxes and scores by its result, as the plugin EfficientNMS_TRT with its four outputs.

TensorRT 8.0 to 8.4 import NonMaxSuppression with a fixed number of rows. EfficientNMS_TRT says how many detections there are, so
that a caller can tell padding from detections. It gives other outputs: `num_detections` [N,1] INT32, `detection_boxes` [N,K,4],
`detection_scores` [N,K] and `detection_classes` [N,K] INT32, the detections of an image by falling score, the rest zeros. They
stand in place of every output that is made of the selected indices; hence only with `--allow approximate`.

Guard: boxes [N,B,4] and scores [N,C,B] in FLOAT, limits that are constant, C known. The indices may go, moved and cast, to outputs
of the graph and into Gather, GatherND and GatherElements over the same boxes and scores; anything else needs indices, which the
plugin does not give. `max_output_boxes_per_class` becomes K, a total for all classes. ONNX keeps what is above the score threshold
and drops what is above the overlap, the plugin takes equality too: the next number above stands for each threshold, but for a score
threshold below 0.007, where the plugin lets rejected boxes through with a score of -32768.

Source: TensorRT 8.0.1, plugin/efficientNMSPlugin. Measured by `onnxfix.verify.detections`: what is lost and what is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites._edit import forget_declared, without_orphans
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node, Scope
    from onnxfix.rewrites._passes import Edit, Request

PLUGIN, DOMAIN = "EfficientNMS_TRT", "TRT"
OUTPUTS = ("num_detections", "detection_boxes", "detection_scores", "detection_classes")
# numSelectedBoxes of efficientNMSParameters.h: only so many of the best scores are looked at.
MOST = 4096
# kernelSelectThreshold of efficientNMSInference.cu: below it another kernel filters nothing out.
LEAST_FILTERED = 0.007
_MOVES = {"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
_PICKS = {"Gather", "GatherElements", "GatherND"}


@dataclass(frozen=True, slots=True)
class _Plan:
    """What goes, and what the plugin is asked for."""

    node: Node
    readers: tuple[Node, ...]
    outputs: tuple[str, ...]
    kept: int
    overlap: float
    score: float


def check(request: Request) -> Decline | None:
    """Why the pass does not serve; None where it does."""
    for target in request.targets:
        if PLUGIN not in target.plugins:
            return Decline(f"{target.title} brings no {PLUGIN}")
    plan = _plan(request)
    return plan if isinstance(plan, Decline) else None


def run(model: onnx.ModelProto, request: Request, edit: Edit) -> Decline | None:
    """Change the model."""
    plan = _plan(request)
    if isinstance(plan, Decline):
        return plan
    graph, node = model.graph, plan.node.proto
    main, facts = edit.view.main, request.facts.of(request.facts.view.main)
    gone = {node.output[0], *(name for reader in plan.readers for name in reader.proto.output)}
    for item in graph.node:
        if gone.intersection(item.output):
            edit.touch(main, item)
    taken: set[str] = set()
    names = [edit.names.free(name, taken) for name in OUTPUTS]
    scores = edit.names.free(f"{node.output[0]}/scores", taken)
    made = [
        onnx.helper.make_node("Transpose", [node.input[1]], [scores], name=scores, perm=[0, 2, 1]),
        onnx.helper.make_node(
            PLUGIN,
            [node.input[0], scores],
            names,
            name=node.name or edit.names.free(PLUGIN, taken),
            domain=DOMAIN,
            plugin_version="1",
            background_class=-1,
            box_coding=int(plan.node.attr("center_point_box", 0)),
            iou_threshold=plan.overlap,
            max_output_boxes=plan.kept,
            score_activation=0,
            score_threshold=plan.score,
        ),
    ]
    freed = {name for item in (plan.node, *plan.readers) for name in item.proto.input if name} - gone
    nodes = [item for item in graph.node if not gone.intersection(item.output)] + made
    values = {value.name: position for position, value in enumerate(graph.output)}
    first = min(values[name] for name in plan.outputs)
    batch = (facts.shape(node.input[0]) or (None,))[0]
    old = [value for value in graph.output if value.name not in plan.outputs]
    old[first:first] = _outputs(names, batch, plan.kept)
    del graph.output[:]
    graph.output.extend(old)
    kept = without_orphans(graph, "graph", nodes, freed, edit.log)
    del graph.node[:]
    graph.node.extend(kept)
    edit.sort()
    forget_declared(graph, gone)
    if not any(item.domain == DOMAIN for item in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, 1))
    return None


def _outputs(names: list[str], batch: object, kept: int) -> list[onnx.ValueInfoProto]:
    dim = str(batch) if isinstance(batch, Poly) and str(batch).isidentifier() else batch if isinstance(batch, int) else None
    kinds = (onnx.TensorProto.INT32, onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT, onnx.TensorProto.INT32)
    shapes: tuple[tuple[int | str | None, ...], ...] = ((dim, 1), (dim, kept, 4), (dim, kept), (dim, kept))
    return [onnx.helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in zip(names, kinds, shapes, strict=True)]


def _plan(request: Request) -> _Plan | Decline:
    facts = request.facts.of(request.facts.view.main)
    main = facts.scope
    found = [node for node in main.nodes if node.op_type == "NonMaxSuppression" and not node.domain]
    asked = [node for node in found if node.outputs[0] in request.values]
    if not asked:
        return Decline("it lies in a subgraph or function, which cannot give outputs of the model")
    if len(found) > 1:
        return Decline("there is more than one NonMaxSuppression, and the outputs of the plugin are those of one")
    node = asked[0]
    limits = _limits(facts, node)
    if isinstance(limits, Decline):
        return limits
    readers = _readers(facts, main, node)
    if isinstance(readers, Decline):
        return readers
    nodes, rows = readers
    made = {node.outputs[0], *(name for reader in nodes for name in reader.outputs)}
    outputs = tuple(name for name in main.outputs if name in made)
    if not outputs:
        return Decline("no output of the model is made of it")
    kept, overlap, score = limits
    return _Plan(node, nodes, outputs, min([kept, *rows]), overlap, score)


def _limits(facts: ScopeFacts, node: Node) -> tuple[int, float, float] | Decline:
    """(K, overlap threshold, score threshold) for the plugin."""
    boxes, scores = (facts.shape(node.input(slot)) for slot in (0, 1))
    if boxes is None or scores is None or len(boxes) != 3 or len(scores) != 3:
        return Decline("boxes and scores are not known to have 3 axes")
    if any(facts.dtype(node.input(slot)) != onnx.TensorProto.FLOAT for slot in (0, 1)):
        return Decline("boxes or scores are no FLOAT")
    given = [facts.numbers(node.input(slot)) if node.input(slot) else np.zeros(1) for slot in (2, 3, 4)]
    if any(value is None for value in given):
        return Decline("a limit is computed at run time, and the plugin has limits as attributes")
    most, overlap, score = (float(np.ravel(value)[0]) for value in given if value is not None)
    if isinstance(scores[1], Poly):
        return Decline("the number of classes is dynamic")
    if most < 1 or scores[1] < 1:
        return Decline("it selects nothing")
    anchors = next((int(dim) for dim in (boxes[1], scores[2]) if not isinstance(dim, Poly)), MOST)
    kept = min(int(min(most, anchors)) * int(scores[1]), MOST)
    if not node.input(4):
        score = float(np.finfo(np.float32).min)
    elif score >= LEAST_FILTERED:
        score = float(np.nextafter(np.float32(score), np.float32(np.inf)))
    tiny = np.finfo(np.float32).tiny
    return kept, float(max(np.nextafter(np.float32(overlap), np.float32(np.inf)), tiny)), score


def _readers(facts: ScopeFacts, main: Scope, node: Node) -> tuple[tuple[Node, ...], list[int]] | Decline:
    """The nodes that go with it, and the numbers of rows that Slices cut its result to."""
    roots = {_root(main, node.input(slot)) for slot in (0, 1)}
    made, found, rows, waiting = {node.outputs[0]}, dict[int, "Node"](), list[int](), [node.outputs[0]]
    turned = False
    while waiting:
        name = waiting.pop()
        for reader, slot in main.consumers.get(name, ()):
            op, where = reader.op_type, f"its indices go into {reader.op_type} {reader.name}".rstrip()
            if reader.scope is not main or reader.domain:
                return Decline(f"{where}, which is not among the patterns that are known")
            if op in _PICKS and slot == 1:
                if _root(main, reader.input(0)) not in roots:
                    return Decline(f"{where}, which picks from {reader.input(0)}: the plugin carries boxes and scores alone")
            elif op == "Slice" and slot == 0:
                cut = _rows(facts, reader, turned)
                if isinstance(cut, Decline):
                    return cut
                rows += cut
            elif not ((op in _MOVES or op in ("Gather", "Split")) and slot == 0) and op != "Concat":
                return Decline(f"{where}, which is not among the patterns that are known")
            turned = turned or op == "Transpose"
            found[reader.index] = reader
            fresh = [output for output in reader.outputs if output and output not in made]
            made.update(fresh)
            waiting += fresh
    for reader in found.values():
        others = {"Concat": reader.inputs, "Gather": reader.inputs[1:] if reader.input(0) in made else ()}.get(reader.op_type, ())
        if any(name not in made and not facts.is_constant(name) for name in others):
            return Decline(f"{reader.op_type} {reader.name} joins its result with other data")
    return tuple(found.values()), rows


def _rows(facts: ScopeFacts, node: Node, turned: bool) -> list[int] | Decline:
    """How many rows a Slice leaves; an empty list where it takes columns."""
    inputs = node.opset is not None and node.opset >= 10
    starts, ends, axes, steps = (
        facts.numbers(node.input(slot)) if inputs and node.input(slot) else node.attr(name)
        for slot, name in enumerate(("starts", "ends", "axes", "steps"), 1)
    )
    if starts is None or ends is None:
        return Decline("a Slice of its result has bounds that are computed at run time")
    where = list(range(len(np.ravel(starts)))) if axes is None else [int(axis) for axis in np.ravel(axes)]
    rank = facts.rank(node.input(0)) or 2
    rows = []
    for axis, start, end in zip(where, np.ravel(starts), np.ravel(ends), strict=True):
        if axis % rank:
            continue
        if turned or start or end < 1 or (steps is not None and set(np.ravel(steps)) != {1}):
            return Decline("a Slice of its result takes other rows than the first")
        rows.append(int(end))
    return rows


def _root(main: Scope, name: str) -> str:
    """The value that `name`'s elements come from, moved."""
    while (maker := main.producers.get(name)) is not None and maker.op_type in _MOVES and not maker.domain:
        name = maker.input(0)
    return name

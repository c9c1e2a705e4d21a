"""TensorRT's plugin EfficientNMS_TRT in numpy, and what becomes of a model's detections where it stands for NonMaxSuppression."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import onnx

    from onnxfix.verify.aten import Array

PLUGIN = "EfficientNMS_TRT"
# numSelectedBoxes of efficientNMSParameters.h, and kernelSelectThreshold and the score of what is rejected below it, of
# efficientNMSInference.cu.
LOOKED_AT, LEAST_FILTERED, REJECTED = 4096, 0.007, -32768.0
# Image, class, and the bytes of score and corners.
Detection = tuple[int, int, bytes]


def efficient_nms(boxes: Array, scores: Array, attributes: Mapping[str, int | float]) -> tuple[Array, Array, Array, Array]:
    """(number [N,1] int32, boxes [N,K,4], scores [N,K], classes [N,K] int32) of each image's detections, by falling score.

    Args:
        boxes: [N,B,4] or [N,B,C,4], by corners, or by centre and size where `box_coding` is 1.
        scores: [N,B,C], of the same floating-point type.
        attributes: those of the plugin.

    Source: TensorRT 8.0.1 to 8.4.1, plugin/efficientNMSPlugin, efficientNMSInference.cu.
    """
    most = int(attributes.get("max_output_boxes", 100))
    least = float(np.float32(attributes.get("score_threshold", 0.5)))
    overlap = np.float32(attributes.get("iou_threshold", 0.5))
    background = int(attributes.get("background_class", -1))
    images, _, classes = scores.shape
    number = np.zeros((images, 1), np.int32)
    kept_boxes = np.zeros((images, most, 4), boxes.dtype)
    kept_scores, kept_classes = np.zeros((images, most), scores.dtype), np.zeros((images, most), np.int32)
    for image in range(images):
        flat = scores[image].reshape(-1)
        if attributes.get("score_activation", 0):
            flat = (1 / (1 + np.exp(-flat.astype(np.float32)))).astype(scores.dtype)
        kinds = np.arange(flat.size) % classes
        rejected = (flat < least) | (kinds == background)
        if least >= LEAST_FILTERED:
            places = np.flatnonzero(~rejected)
        else:
            places, flat = np.arange(flat.size), np.where(rejected, scores.dtype.type(REJECTED), flat)
        places = places[np.argsort(-flat[places], kind="stable")][:LOOKED_AT]
        own = boxes[image, places // classes] if boxes.ndim == 3 or boxes.shape[2] == 1 else None
        chosen = boxes[image, places // classes, kinds[places]] if own is None else own.reshape(-1, 4)
        corners = _corners(chosen, int(attributes.get("box_coding", 0)))
        alive = np.ones(places.size, bool)
        for place in range(places.size):
            if not alive[place]:
                continue
            row = number[image, 0]
            if row == most:
                break
            number[image, 0] += 1
            kept_boxes[image, row], kept_scores[image, row] = corners[place], flat[places[place]]
            kept_classes[image, row] = kinds[places[place]]
            same = kinds[places] == kinds[places[place]] if not attributes.get("class_agnostic", 0) else True
            alive &= ~(same & (_overlaps(corners[place], corners) >= overlap))
    return number, kept_boxes, kept_scores, kept_classes


def _corners(boxes: Array, coding: int) -> Array:
    """Boxes [M,4] by their corners."""
    if not coding:
        return boxes
    half = boxes[:, 2:] * boxes.dtype.type(0.5)
    return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)


def _overlaps(box: Array, boxes: Array) -> Array:
    """Intersection over union [M] of a box [4] with each of `boxes` [M,4], in float32; corners in any order."""
    one, all_ = (np.concatenate([np.minimum(b[..., :2], b[..., 2:]), np.maximum(b[..., :2], b[..., 2:])], -1) for b in (box, boxes))

    def area(low: Array, high: Array) -> Array:
        size = (high - low).astype(np.float32)
        return np.asarray(np.where((size > 0).all(axis=-1), size[..., 0] * size[..., 1], np.float32(0)))

    with np.errstate(all="ignore"):
        shared = area(np.maximum(one[:2], all_[:, :2]), np.minimum(one[2:], all_[:, 2:]))
        union = area(one[:2], one[2:]) + area(all_[:, :2], all_[:, 2:]) - shared
        return np.asarray(np.where((shared > 0) & (union > 0), shared / union, np.float32(0)))


def _selected(node: onnx.NodeProto, boxes: Array, scores: Array, indices: Array) -> Counter[Detection]:
    """The detections that NonMaxSuppression's indices [M,3] name."""
    coding = next((attribute.i for attribute in node.attribute if attribute.name == "center_point_box"), 0)
    found: Counter[Detection] = Counter()
    for image, kind, box in indices:
        corners = _corners(boxes[image, box][None], coding)[0]
        found[int(image), int(kind), np.append(scores[image, kind, box], corners).tobytes()] += 1
    return found


def _detected(outputs: Sequence[Array]) -> Counter[Detection]:
    """The detections among the plugin's outputs."""
    number, boxes, scores, classes = outputs
    found: Counter[Detection] = Counter()
    for image in range(len(number)):
        for row in range(int(number[image, 0])):
            found[image, int(classes[image, row]), np.append(scores[image, row], boxes[image, row]).tobytes()] += 1
    return found


def damage(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    *,
    base_dir: Path | None,
    samples: int,
    seed: int,
    shapes: Mapping[str, tuple[int, ...]] | None,
    inputs: Mapping[str, Array] | None,
) -> str:
    """What the detections of `before`, which has one NonMaxSuppression, become in `after`, where the plugin stands for it.

    Args:
        before: the model with NonMaxSuppression in its main graph.
        after: the model with the plugin there.
        base_dir: the folder of their external data.
        samples: as for `prove`, as are the others.
        seed: of the inputs.
        shapes: whole shapes of inputs.
        inputs: the inputs to use instead.

    Raises:
        CannotRunError: `before` does not run.
    """
    from onnxfix.verify.prove import made_samples
    from onnxfix.verify.regions import with_outputs
    from onnxfix.verify.run import Runner

    node = next(node for node in before.graph.node if node.op_type == "NonMaxSuppression")
    plugin = next(node for node in after.graph.node if node.op_type == PLUGIN)
    probe = with_outputs(before, list(dict.fromkeys((*node.input[:2], node.output[0]))))
    runner = Runner(after, base_dir)
    total = same = new = used = 0
    for sample in made_samples(probe, Runner(probe, base_dir), 1 if inputs is not None else samples, seed, shapes, inputs, []):
        had = _selected(node, *(sample.before[name] for name in (*node.input[:2], node.output[0])))
        results = runner.run(sample.feeds)
        has = _detected([results[name] for name in plugin.output])
        total, same, new = total + had.total(), same + (had & has).total(), new + (has - had).total()
        used += 1
    rows = next(attribute.i for attribute in plugin.attribute if attribute.name == "max_output_boxes")
    return (
        f"{PLUGIN} in place of NonMaxSuppression, {used} sample{'' if used == 1 else 's'}: of {total} detections {same} are the "
        f"same, {total - same} are missing, {new} are new; {rows} rows an image, those after num_detections are padding"
    )

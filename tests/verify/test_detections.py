"""The numpy form of EfficientNMS_TRT against what its source does."""

import numpy as np
import pytest

from onnxfix.verify.detections import efficient_nms

BOXES = np.array([[[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6], [0, 0, 2, 2]]], np.float32)
SCORES = np.array([[[0.5, 0.1], [0.75, 0], [0.25, 0], [0, 0.625]]], np.float32)


def test_detections_by_falling_score_and_zeros_behind_them() -> None:
    number, boxes, scores, classes = efficient_nms(
        BOXES, SCORES, {"score_threshold": 0.2, "iou_threshold": 0.5, "max_output_boxes": 5}
    )
    assert number.tolist() == [[3]]
    assert scores.tolist() == [[0.75, 0.625, 0.25, 0, 0]]
    assert classes.tolist() == [[0, 1, 0, 0, 0]]
    np.testing.assert_array_equal(boxes[0, :3], BOXES[0, [1, 3, 2]])
    assert (number.dtype, classes.dtype) == (np.int32, np.int32)


def test_equality_with_a_threshold_counts() -> None:
    kept = efficient_nms(BOXES, SCORES, {"score_threshold": 0.25, "iou_threshold": 1.0, "max_output_boxes": 9})
    assert kept[2][0, : kept[0][0, 0]].tolist() == [0.75, 0.625, 0.5, 0.25]


def test_below_the_least_threshold_rejected_scores_come_through() -> None:
    kept = efficient_nms(BOXES, SCORES, {"score_threshold": 0.005, "iou_threshold": 2.0, "max_output_boxes": 9})
    assert kept[0][0, 0] == 8
    assert kept[2][0, 5:8].tolist() == [-32768.0] * 3


def test_background_and_agnostic_overlap() -> None:
    given = {"score_threshold": 0.2, "iou_threshold": 0.5, "max_output_boxes": 5}
    assert efficient_nms(BOXES, SCORES, {**given, "background_class": 0})[2][0].tolist() == [0.625, 0, 0, 0, 0]
    assert efficient_nms(BOXES, SCORES, {**given, "class_agnostic": 1})[2][0].tolist() == [0.75, 0.25, 0, 0, 0]


def test_boxes_by_centre_come_out_by_corners() -> None:
    boxes = np.array([[[1, 1, 2, 4]]], np.float32)
    given = {"score_threshold": 0.0, "iou_threshold": 0.5, "max_output_boxes": 1, "box_coding": 1, "score_activation": 1}
    _, found, scores, _ = efficient_nms(boxes, np.zeros((1, 1, 1), np.float32), given)
    assert found.tolist() == [[[0, -1, 2, 3]]]
    assert scores.tolist() == [[0.5]]


@pytest.mark.parametrize("classes", [1, 3])
def test_boxes_of_each_class(classes: int) -> None:
    rng = np.random.default_rng(0)
    boxes = rng.random((2, 5, classes, 4), np.float32)
    scores = rng.random((2, 5, classes), np.float32)
    number, found, _, kinds = efficient_nms(boxes, scores, {"score_threshold": 0.0, "iou_threshold": 2.0, "max_output_boxes": 1})
    assert number.tolist() == [[1], [1]]
    for image in range(2):
        place, kind = np.unravel_index(scores[image].argmax(), (5, classes))
        assert kinds[image, 0] == kind
        np.testing.assert_array_equal(found[image, 0], boxes[image, place, kind])

"""NonMaxSuppression as a plugin with other outputs: only with consent, only in known patterns, and what it loses is counted."""

import re

import numpy as np
import onnx
import pytest

from onnxfix.verify.run import Runner

from .harness import applied, parse, repair

TEXT = """
<ir_version: 7, opset_import: ["" : 11]>
g (float[%(n)s,12,4] boxes, float[%(n)s,%(c)s,12] scores) => (%(outputs)s) <
  int64 most = {%(most)s}, float overlap = {0.5}, float least = {%(least)s}, int64[1] two = {2}, int64[1] one = {1},
  int64[2] both = {0, 2}, int64[1] zero = {0}
> {
  %(before)s
  [n] selected = NonMaxSuppression <center_point_box = %(coding)s> (%(boxes)s, scores, most, overlap%(given)s)
  %(body)s
}
"""


def nms(body: str = "", outputs: str = "int64[m,3] selected", **given: object) -> onnx.ModelProto:
    """Boxes of 12 places and scores of `c` classes, and `body` behind what is selected."""
    known = {"n": 1, "c": 2, "most": 12, "least": 0.25, "coding": 0, "before": "", "boxes": "boxes", "given": ", least"}
    return parse(TEXT % {**known, "body": body, "outputs": outputs, **given})


def outputs(model: onnx.ModelProto | None) -> list[str]:
    assert model is not None
    return [value.name for value in model.graph.output]


NAMES = ["num_detections", "detection_boxes", "detection_scores", "detection_classes"]

PATTERNS = {
    "indices": ("", "int64[m,3] selected"),
    "boxes of one image": (
        "column = Gather <axis = 1> (selected, two)  rows = Squeeze <axes = [1]> (column)  flat = Squeeze <axes = [0]> (boxes)"
        "  b = Gather (flat, rows)",
        "float[m,4] b",
    ),
    "boxes, scores and classes in one": (
        "column = Gather <axis = 1> (selected, both)  b = GatherND (boxes, column)  s = GatherND (scores, selected)"
        "  t = Unsqueeze <axes = [1]> (s)  k = Slice (selected, one, two, one)  f = Cast <to = 1> (k)"
        "  all = Concat <axis = 1> (b, t, f)",
        "float[m,6] all",
    ),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_outputs_made_of_the_indices_give_way_to_those_of_the_plugin(pattern: str) -> None:
    report, result = repair(nms(*PATTERNS[pattern]), "trt8.0", allow="approximate")
    assert report.status == "repaired"
    assert outputs(result) == NAMES
    assert result is not None
    assert [node.op_type for node in result.graph.node if "NMS" in node.op_type] == ["EfficientNMS_TRT"]
    assert report.fidelity is not None
    assert "in place of" in report.fidelity.interface_changes[0]


def test_other_outputs_stay_where_they_are() -> None:
    model = nms("y = Relu (boxes)  z = Relu (scores)", "float[n,12,4] y, int64[m,3] selected, float[n,c,12] z", n='"n"')
    _, result = repair(model, "trt8.4", allow="approximate")
    assert outputs(result) == ["y", *NAMES, "z"]


def test_without_consent_nothing_happens_and_the_report_says_what_would() -> None:
    report, result = repair(nms(), "trt8.2")
    assert result is None
    (declined,) = report.declined
    assert (declined.rewrite, declined.consent) == ("nms_to_plugin", "approximate")


def counts(note: str) -> tuple[int, ...]:
    """Detections of the model, the same, missing, new."""
    found = re.search(r"of (\d+) detections (\d+) are the same, (\d+) are missing, (\d+) are new", note)
    assert found is not None, note
    return tuple(map(int, found.groups()))


@pytest.mark.parametrize("coding", [0, 1])
@pytest.mark.parametrize("least", [0.0, 0.25])
@pytest.mark.parametrize("batch", ["1", '"n"'])
def test_with_room_for_all_no_detection_is_lost(coding: int, least: float, batch: str) -> None:
    model = nms(coding=coding, n=batch, least=least, before="positive = Abs (boxes)", boxes="positive")
    report, result = repair(model, "trt8.0", allow="approximate")
    assert result is not None
    assert report.proof is not None
    total, same, missing, _ = counts(report.proof.note)
    assert total == same > 0
    assert missing == 0


def test_no_score_threshold_keeps_every_score() -> None:
    report, _ = repair(nms(given=""), "trt8.0", allow="approximate")
    assert report.proof is not None
    total, same, missing, new = counts(report.proof.note)
    assert (total, missing, new) == (same, 0, 0)


def test_the_limit_of_each_class_becomes_one_of_all_and_the_damage_is_counted() -> None:
    report, result = repair(nms(most=1, c=3), "trt8.0", allow="approximate")
    assert result is not None
    assert result.graph.output[1].type.tensor_type.shape.dim[1].dim_value == 3
    assert report.proof is not None
    total, same, missing, new = counts(report.proof.note)
    assert total == same + missing
    assert missing > 0
    assert new > 0


def test_what_the_plugin_finds_is_what_onnxruntime_selects() -> None:
    model = nms(
        "column = Gather <axis = 1> (selected, both)  b = GatherND (boxes, column)  s = GatherND (scores, selected)",
        "float[m,4] b, float[m] s",
        c=1,
    )
    _, result = repair(model, "trt8.0", allow="approximate")
    assert result is not None
    rng = np.random.default_rng(1)
    low = rng.random((1, 12, 2), np.float32)
    feeds = {"boxes": np.concatenate([low, low + 0.5], -1), "scores": rng.random((1, 1, 12), np.float32)}
    wanted, got = Runner(model).run(feeds), Runner(result).run(feeds)
    count = len(wanted["s"])
    assert 1 < count < 12
    assert int(got["num_detections"][0, 0]) == count
    np.testing.assert_array_equal(got["detection_boxes"][0, :count], wanted["b"])
    np.testing.assert_array_equal(got["detection_scores"][0, :count], wanted["s"])
    assert not got["detection_scores"][0, count:].any()


DECLINED = {
    "picks from other data": ("r = Squeeze <axes = [0]> (selected)  y = Gather (boxes2, r)", "float[a,b,c] y", "boxes2"),
    "arithmetic": ("y = Add (selected, selected)", "int64[m,3] y", "Add"),
    "its shape": ("y = Shape (selected)", "int64[2] y", "Shape"),
    "other rows": ("y = Slice (selected, one, two, zero)", "int64[m,3] y", "other rows than the first"),
    "joined with data": (
        "f = Cast <to = 1> (selected)  z = Squeeze <axes = [0]> (scores)  y = Concat <axis = 0> (f, z)",
        "float[m,d] y",
        "joins",
    ),
}


@pytest.mark.parametrize("what", DECLINED)
def test_other_readers_are_declined(what: str) -> None:
    body, result, reason = DECLINED[what]
    report, written = repair(nms(body, result, before="boxes2 = Neg (boxes)"), "trt8.0", allow="approximate")
    assert written is None
    assert any(item.rewrite == "nms_to_plugin" and reason in item.reason for item in report.declined), report.declined


def test_a_limit_that_is_computed_is_declined() -> None:
    model = nms()
    model.graph.initializer.remove(next(tensor for tensor in model.graph.initializer if tensor.name == "least"))
    model.graph.input.append(onnx.helper.make_tensor_value_info("least", onnx.TensorProto.FLOAT, []))
    report, _ = repair(model, "trt8.0", allow="approximate")
    assert any("limit is computed" in item.reason for item in report.declined)


def test_two_of_them_are_declined() -> None:
    model = nms("again = NonMaxSuppression (boxes, scores, most, overlap)", "int64[m,3] selected, int64[k,3] again")
    report, _ = repair(model, "trt8.0", allow="approximate")
    assert any("more than one NonMaxSuppression" in item.reason for item in report.declined)


def test_it_stands_beside_other_fixes_which_are_proven() -> None:
    model = nms(before='z = Pad <mode = "reflect"> (scores, pads)', outputs="int64[m,3] selected, float[a,b,c] z")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0, 0, 1, 0, 0, 1], np.int64), "pads"))
    report, result = repair(model, "trt8.0", allow="approximate")
    assert outputs(result) == [*NAMES, "z"]
    assert applied(report)[0] == "nms_to_plugin"
    assert len(report.applied) > 1


def test_releases_that_have_it_whole_are_left_alone() -> None:
    report, _ = repair(nms(), "trt8.6", allow="approximate")
    assert report.status == "clean"

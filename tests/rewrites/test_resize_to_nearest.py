"""A lossy rewrite: only with --allow approximate, measured, and everything else proven."""

import numpy as np
import onnx
import pytest

from onnxfix.rewrites import prelu_to_relu

from .harness import applied, ask, noise, parse, repair, rewrite, run

LINEAR = """
<ir_version: 6, opset_import: ["" : 11]>
g (float[1,c,h,w] x%s) => (float[1,c,h2,w2] y) <float[4] s = {1, 1, 2, %s}, float[8] r = {0,0,0,0,1,1,1,1}> {
  %s
  [node] y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (z, r, s)
}
"""


def linear(width: str = "2", body: str = "z = Relu (x)", inputs: str = "") -> onnx.ModelProto:
    return parse(LINEAR % (inputs, width, body))


def test_each_element_is_repeated() -> None:
    result = rewrite(linear(), "resize_to_nearest", target="trt7.0")
    x = np.maximum(noise((1, 2, 3, 4)), 0)
    np.testing.assert_array_equal(run(result, {"x": x})["y"], x.repeat(2, 2).repeat(2, 3))


def test_it_waits_for_consent_and_says_that_it_would_help() -> None:
    report, result = repair(linear(), "trt6.0-fulldims")
    assert result is None
    assert any(item.rewrite == "resize_to_nearest" and item.consent == "approximate" for item in report.declined)


def test_the_damage_is_shown_and_the_rest_proven() -> None:
    report, result = repair(linear(), "trt6.0-fulldims", allow="approximate")
    assert report.status == "repaired"
    assert result is not None
    assert "resize_to_nearest" in applied(report)
    assert report.proof is not None
    assert report.proof.passed
    assert report.proof.measured
    (output,) = report.proof.outputs
    assert output.max_abs > 0.01


def test_a_rewrite_that_is_wrong_beside_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(region, facts, target):  # type: ignore[no-untyped-def]
        region.replace(region.layer("Relu", "out", [region.node.inputs[0]]))

    monkeypatch.setattr(prelu_to_relu, "rewrite", wrong)
    model = linear(body="z = PRelu (x, k)")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full((2, 1, 1), 0.5, np.float32), "k"))
    report, result = repair(model, "trt6.0-fulldims", allow="approximate", partial=True)
    if result is not None:
        assert "PRelu" in [node.op_type for node in result.graph.node]
    assert not any(fix.rewrite == "prelu_to_relu" for fix in report.applied)


def test_other_ratios_are_declined_and_nearest_is_left_alone() -> None:
    assert ask(linear("1.5"), "resize_to_nearest") == "an axis is not resized by a whole ratio"
    nearest = linear()
    next(attribute for attribute in nearest.graph.node[1].attribute if attribute.name == "mode").s = b"nearest"
    assert ask(nearest, "resize_to_nearest") == "it is nearest already"

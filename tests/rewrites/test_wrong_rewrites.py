"""Rewrites that are wrong on purpose: the proof finds each, and the repair goes on without it or writes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from onnxfix.rewrites import aten_adaptive_pool, instance_norm_to_mean, prelu_to_relu, resize_to_gather, resize_to_matmul
from onnxfix.rewrites.lowering import resize as lowering
from onnxfix.verify.prove import prove

from .harness import applied, lower, noise, one_node, parse, repair, rewrite, run, same_bits
from .resizes import resize
from .test_aten_adaptive_pool import pool
from .test_instance_norm_to_mean import instance_norm

Patch = pytest.MonkeyPatch
REASON = "numeric proof: "


def linear(**more: Any) -> onnx.ModelProto:
    return resize((1, 3, 8, 8), sizes=[1, 3, 13, 16], mode="linear", **more)


def wrong_weight(patch: Patch) -> None:
    right = resize_to_matmul.axis_matrix

    def wrong(*arguments: Any) -> np.ndarray:
        matrix = right(*arguments)
        matrix[3, 2] += 1e-3
        return matrix

    patch.setattr(resize_to_matmul, "axis_matrix", wrong)


def wrong_axis(patch: Patch) -> None:
    right = resize_to_matmul.matmul_along
    patch.setattr(resize_to_matmul, "matmul_along", lambda region, x, rank, axis, m: right(region, x, rank, 5 - axis, m))


def wrong_mode(patch: Patch) -> None:
    right = resize_to_matmul.interpolation_of

    def wrong(region: Any) -> Any:
        how = right(region)
        object.__setattr__(how, "coordinates", "align_corners")
        return how

    patch.setattr(resize_to_matmul, "interpolation_of", wrong)


def wrong_index(patch: Patch) -> None:
    right = resize_to_gather.nearest_indices
    patch.setattr(resize_to_gather, "nearest_indices", lambda *arguments: np.minimum(right(*arguments) + 1, 7))


def wrong_rounding(patch: Patch) -> None:
    right = resize_to_gather.nearest_indices
    patch.setattr(resize_to_gather, "nearest_indices", lambda axis, coordinates, _: right(axis, coordinates, "ceil"))


def wrong_epsilon(patch: Patch) -> None:
    right = instance_norm_to_mean.rewrite

    def wrong(region: Any, facts: Any, target: Any) -> Any:
        region.node.attrs["epsilon"] = 1e-4
        return right(region, facts, target)

    patch.setattr(instance_norm_to_mean, "rewrite", wrong)


def wrong_windows(patch: Patch) -> None:
    """The well-known formula: stride in // out, kernel in - (out - 1) * stride, everywhere."""

    def spans(before: int, after: int) -> list[tuple[int, int]]:
        stride = before // after
        kernel = before - (after - 1) * stride
        return [(i * stride, i * stride + kernel) for i in range(after)]

    patch.setattr(aten_adaptive_pool, "windows", spans)


def wrong_sign(patch: Patch) -> None:
    def wrong(region: Any, facts: Any, target: Any) -> None:
        x, slope = region.node.inputs
        region.replace(region.layer("Mul", "scaled", [slope, x]))

    patch.setattr(prelu_to_relu, "rewrite", wrong)


def wrong_scale(patch: Patch) -> None:
    right = lowering.upsample_scales

    def wrong(how: Any) -> Any:
        scales = right(how)
        return [*scales[:3], scales[3] + 1] if isinstance(scales, list) else scales

    patch.setattr(lowering, "upsample_scales", wrong)


CASES: dict[str, tuple[Callable[[Patch], None], onnx.ModelProto]] = {
    "a weight off by 1e-3": (wrong_weight, linear()),
    "the two axes swapped": (wrong_axis, linear()),
    "another coordinate rule": (wrong_mode, linear()),
    "epsilon 1e-4 for 1e-5": (wrong_epsilon, instance_norm((1, 3, 8, 8), opset=9)),
    "the well-known pooling formula": (wrong_windows, pool("avg", (1, 3, 10, 10), (6, 6))),
    "PRelu without its positive half": (
        wrong_sign,
        one_node("PRelu", ["x", "s"], {"x": (1, 3, 4, 4)}, opset=9, constants={"s": noise((3, 1, 1), seed=3)}),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_rewrite_is_found_and_nothing_is_written(case: str, monkeypatch: Patch) -> None:
    spoil, model = CASES[case]
    assert repair(model)[0].status == "repaired"
    spoil(monkeypatch)
    report, result = repair(model)
    assert result is None
    assert report.status == "declined"
    assert any(item.reason.startswith(REASON) for item in report.declined)


@pytest.mark.parametrize("spoil", [wrong_index, wrong_rounding])
def test_the_next_fix_takes_over_where_the_preferred_one_is_wrong(spoil: Callable[[Patch], None], monkeypatch: Patch) -> None:
    model = resize((1, 3, 8, 8), sizes=[1, 3, 5, 5], nearest_mode="floor")
    report, right = repair(model)
    assert applied(report)[0] == "resize_to_gather"
    spoil(monkeypatch)
    report, result = repair(model)
    assert report.status == "repaired"
    assert applied(report)[0] == "resize_to_matmul"
    assert right is not None
    assert result is not None
    x = noise((1, 3, 8, 8))
    same_bits(run(right, {"x": x}), run(result, {"x": x}))


def test_a_wrong_scale_of_an_upsample_sends_the_move_back_and_gather_takes_over(monkeypatch: Patch) -> None:
    model = resize((1, 3, 4, 4), sizes=[1, 3, 8, 8], nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    assert applied(repair(model)[0])[0] == "opset_move"
    wrong_scale(monkeypatch)
    report, result = repair(model)
    assert report.status == "repaired"
    assert applied(report)[0] == "resize_to_gather"
    assert result is not None
    x = noise((1, 3, 4, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


# What comes before a wrong node may hide its error from the outputs: it is found all the same -------------------------------

SCALE = 'y = Resize <mode = "linear"> ({x}, none, none, sizes)'
HIDDEN = {
    "a small difference of large numbers": "<float big = {100000}> { a = Add (x, big)  b = Sub (a, big)  [node] "
    + SCALE.format(x="b")
    + " }",
    "numbers rounded before": "<float q = {16}> { a = Mul (x, q)  b = Round (a)  c = Div (b, q)  [node] "
    + SCALE.format(x="c")
    + " }",
    "large numbers beside small ones": '<float big = {1000000}> { [node] r = Resize <mode = "linear"> (x, none, none, sizes)'
    "  l = Mul (r, big)  y = Concat <axis = 1> (r, l) }",
    "a function that flattens": '<float big = {1000}> { [node] r = Resize <mode = "linear"> (x, none, none, sizes)'
    "  l = Mul (r, big)  y = Sign (l) }",
}


def hidden(name: str) -> onnx.ModelProto:
    body = HIDDEN[name].replace("<float", "<float[0] none = {}, int64[4] sizes = {1, 3, 13, 16}, float", 1)
    return parse('<ir_version: 8, opset_import: ["" : 11]> g (float[1,3,8,8] x) => (float[a,b,c,d] y) ' + body)


@pytest.mark.parametrize("case", HIDDEN)
def test_an_error_that_outputs_hide_is_found(case: str, monkeypatch: Patch) -> None:
    model = hidden(case)
    right = rewrite(model, "resize_to_matmul")
    assert prove(model, right, regions=True).passed
    wrong_weight(monkeypatch)
    proof = prove(model, rewrite(model, "resize_to_matmul"), regions=True)
    assert not proof.passed


def test_roundings_that_a_model_amplifies_are_no_error() -> None:
    """The sine of a large angle turns the last bit into more than the budget; the region by itself is right."""
    model = parse(
        """<ir_version: 8, opset_import: ["" : 11]> g (float[1,3,8,8] x) => (float[a,b,c,d] y)
        <float[0] none = {}, int64[4] sizes = {1, 3, 13, 16}, float big = {3000}>
        { [node] r = Resize <mode = "linear"> (x, none, none, sizes)  l = Mul (r, big)  y = Sin (l) }"""
    )
    result = rewrite(model, "resize_to_matmul")
    proof = prove(model, result, regions=True)
    assert proof.passed
    assert proof.outputs[0].max_abs > 2e-5  # over the fixed budget: the allowance was needed
    assert proof.outputs[0].noise


@pytest.mark.parametrize("epsilon", [1e-4, 1.1e-5])
def test_a_wrong_epsilon_shows_where_the_variance_is_small(epsilon: float) -> None:
    before = instance_norm((1, 3, 8, 8), opset=9)
    after = instance_norm((1, 3, 8, 8), epsilon, opset=9)
    small = {"x": noise((1, 3, 8, 8)) * np.float32(1e-2)}
    assert not prove(before, after, inputs=small, regions=True).passed
    assert prove(before, after, regions=True).passed == (epsilon < 5e-5)  # ordinary inputs tell a factor of ten, not one tenth


@pytest.mark.parametrize(
    ("op", "outputs", "attributes"),
    [
        ("TopK", ["y", "i"], {"k": 2}),
        ("Slice", ["y"], {"starts": [1], "ends": [3], "axes": [0]}),
        ("Squeeze", ["y"], {"axes": [1]}),
        ("Clip", ["y"], {"min": -0.5}),
    ],
)
def test_a_node_in_the_form_of_an_older_opset_is_rewritten_by_consent_alone(
    op: str, outputs: list[str], attributes: dict[str, Any]
) -> None:
    """What it says is a guess: the opset move does not read it as if it had inputs, which it has not."""
    model = one_node(op, ["x"], {"x": (4, 1)}, opset=13, outputs=outputs, **attributes)
    assert f"{op} has no attribute {min(attributes)} in opset 13" in str(lower(model, 9))
    report, _ = repair(model, "trt5.1")
    assert report.status in ("clean", "declined")  # 5.1 itself reads some of them as they are
    assert not applied(report)

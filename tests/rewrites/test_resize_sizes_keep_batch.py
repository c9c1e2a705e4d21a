"""torch 1.3's Resize, whose sizes begin with 1,1: after the repair it is the Resize that was meant."""

import numpy as np
import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rules.engine import lint
from onnxfix.rules.select import Selection
from onnxfix.targets.target import find_target

from .harness import applied, ask, noise, ops, repair, rewrite, run, same_bits
from .resizes import resize

HOW = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


@pytest.mark.parametrize("outer", [(2, 3), (1, 3), (4, 1)])
@pytest.mark.parametrize(("before", "after"), [((4, 6), (8, 12)), ((5, 7), (11, 8)), ((8, 8), (4, 3)), ((6, 6), (6, 6))])
def test_batch_and_channels_are_kept(before: tuple[int, int], after: tuple[int, int], outer: tuple[int, int]) -> None:
    x = noise((*outer, *before))
    result = rewrite(resize(x.shape, sizes=[1, 1, *after], **HOW), "resize_sizes_keep_batch")
    meant = resize(x.shape, sizes=[*outer, *after], **HOW)
    same_bits(run(meant, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize(("before", "after"), [((4, 6), (8, 12)), ((5, 7), (11, 8)), ((9, 31), (50, 47))])
def test_with_a_dynamic_batch_they_become_scales(before: tuple[int, int], after: tuple[int, int]) -> None:
    model = resize(("n", 3, *before), sizes=[1, 1, *after], **HOW)
    result = rewrite(model, "resize_sizes_keep_batch")
    assert len(result.graph.node[0].input) == 3
    for batch in (1, 3):
        x = noise((batch, 3, *before))
        got = run(result, {"x": x})["y"]
        assert got.shape == (batch, 3, *after)
        same_bits(run(resize(x.shape, sizes=[batch, 3, *after], **HOW), {"x": x}), {"y": got})


def test_it_declines_with_the_reason() -> None:
    assert ask(resize((1, "c", 4, 4), sizes=[1, 1, 8, 8], **HOW), "resize_sizes_keep_batch") == (
        "the sizes or the channels are computed at run time"
    )
    assert ask(resize(("n", 3, "h", 4), sizes=[1, 1, 8, 8], **HOW), "resize_sizes_keep_batch") == (
        "height and width are dynamic, so no scales give these sizes"
    )


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((2, 3), True),
        ((1, 3), True),
        ((4, 1), True),
        (("n", 3), True),
        ((4, "c"), True),
        ((1, 1), False),
        (("n", 1), False),
        ((1, "c"), False),
    ],
)
def test_it_is_found_where_batch_or_channels_are_known_to_differ(shape: tuple[object, object], found: bool) -> None:
    view = ModelView(resize((*shape, 4, 4), sizes=[1, 1, 8, 8], **HOW))
    codes = [finding.code for finding in lint(view, Facts(view), find_target("rtx1.7"))]
    assert ("OFX701" in codes) == found


@pytest.mark.parametrize("outer", [(2, 3), (4, 1)])
def test_nothing_happens_without_consent_and_the_consent_is_shown_with_it(outer: tuple[int, int]) -> None:
    model = resize((*outer, 4, 4), sizes=[1, 1, 8, 8], **HOW)
    model.graph.output[0].type.tensor_type.shape.ClearField("dim")
    for name in "abcd":
        model.graph.output[0].type.tensor_type.shape.dim.add(dim_param=name)
    report, result = repair(model)
    assert (report.status, result) == ("declined", None)
    assert ("OFX701", "OFX701") in {(item.rule, item.consent) for item in report.declined}
    report, result = repair(model, consent=frozenset({"OFX701"}))
    assert report.status == "repaired"
    assert result is not None
    assert ops(result) == ["Upsample"]
    assert applied(report)[0] == "resize_sizes_keep_batch"
    assert [fix.consent for fix in report.applied if fix.rewrite == "resize_sizes_keep_batch"] == ["OFX701"]
    x = noise((*outer, 4, 4))
    same_bits(run(resize(x.shape, sizes=[*outer, 8, 8], **HOW), {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize("ignored", ["OFX7", "OFX701"])
def test_consent_counts_more_than_a_selection_that_ignores_the_rule(ignored: str) -> None:
    model = resize((2, 3, 4, 4), sizes=[1, 1, 8, 8], **HOW)
    for axis, size in enumerate((2, 3, 8, 8)):
        model.graph.output[0].type.tensor_type.shape.dim[axis].dim_value = size
    report, _ = repair(model, consent=frozenset({"OFX701"}), selection=Selection(ignore=(ignored,)))
    assert report.status == "repaired"
    assert applied(report)[0] == "resize_sizes_keep_batch"


def test_one_channel_of_one_image_is_no_mistake() -> None:
    report, result = repair(resize((1, 1, 4, 4), sizes=[1, 1, 8, 8], **HOW))
    assert report.status == "repaired"
    assert result is not None
    assert "resize_sizes_keep_batch" not in applied(report)


def test_integer_data_is_no_reason_to_decline() -> None:
    x = (noise((2, 3, 4, 4)) * 100).astype(np.int32)
    model = resize(x.shape, sizes=[1, 1, 8, 8], dtype=onnx.TensorProto.INT32, **HOW)
    assert run(rewrite(model, "resize_sizes_keep_batch"), {"x": x})["y"].shape == (2, 3, 8, 8)

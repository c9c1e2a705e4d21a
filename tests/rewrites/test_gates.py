"""What the repair loop refuses, with which reason, and what it keeps: gates, bisection, quarantine, options."""

from collections.abc import Callable
from typing import Any

import onnx
import pytest

from onnxfix.errors import UsageError
from onnxfix.report.json import repair_entry
from onnxfix.rewrites import _driver, _gates, prelu_to_relu, resize_to_gather
from onnxfix.rewrites._region import Change, Region
from onnxfix.verify.region_proof import prove_regions
from onnxfix.verify.run import CannotRunError

from .harness import applied, noise, ops, parse, repair, run, same_bits
from .resizes import resize
from .test_aten_adaptive_pool import pool

Patch = pytest.MonkeyPatch
TWO = """<ir_version: 6, opset_import: ["" : 9]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
<float[3,1,1] s = {{0.1, 0.2, 0.3}}, float[3,1,1] t = {{0.4, 0.5, 0.6}}>
{{ [one] a = PRelu (x, s)  [two] b = PRelu (a, t)  [three] c = PRelu (b, s)  {last} }}"""


def three(last: str = "y = Relu (c)") -> onnx.ModelProto:
    return parse(TWO.format(last=last))


def spoil(patch: Patch, name: str, wrong: Callable[..., Any]) -> None:
    """Let the PRelu called `name` be rewritten by `wrong`, the others as ever."""
    right = prelu_to_relu.rewrite
    patch.setattr(prelu_to_relu, "rewrite", lambda region, *rest: (wrong if region.proto.name == name else right)(region, *rest))


def breaks_the_checker(region: Any, facts: Any, target: Any) -> None:
    region.edited.op_type = "NoSuchOperator"


def reads_nothing_known(region: Any, facts: Any, target: Any) -> None:
    region.edited.op_type = "Relu"
    del region.edited.input[1:]
    region.edited.input[0] = "from_nowhere"


def changes_nothing(region: Any, facts: Any, target: Any) -> None:
    region.edited.doc_string = "still a PRelu"


def brings_another(region: Any, facts: Any, target: Any) -> None:
    slope = region.node.inputs[1]
    made = region.layer("Celu", "celu", [region.node.inputs[0]], alpha=1.0)
    region.replace(region.layer("Mul", "scaled", [made, slope]))


def brings_a_parser_error(region: Any, facts: Any, target: Any) -> None:
    made = region.layer("RandomUniformLike", "drawn", [region.node.inputs[0]])
    region.replace(region.layer("Relu", "out", [made]))


def grows(region: Any, facts: Any, target: Any) -> None:
    x = region.node.inputs[0]
    for step in range(80):
        x = region.layer("Relu", f"step{step}", [x])
    region.replace(x)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (breaks_the_checker, "the checker refuses the result"),
        (reads_nothing_known, "the checker refuses the result"),
        (changes_nothing, "OFX101 is still found after the rewrite"),
        (brings_another, "the checker refuses the result"),
        (brings_a_parser_error, "the rewrite brings OFX"),
        (grows, "the model would grow"),
    ],
)
@pytest.mark.parametrize("name", ["one", "two", "three"])
def test_the_culprit_goes_into_quarantine_and_the_rest_of_the_batch_is_kept(
    wrong: Callable[..., Any], reason: str, name: str, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(_gates, "ROOM", 10)
    monkeypatch.setattr(_gates, "MAX_GROWTH", 5)
    spoil(monkeypatch, name, wrong)
    report, result = repair(three(), partial=True)
    assert report.status == "partial"
    assert [item.node_name for item in report.declined if reason in item.reason] == [name]
    assert applied(report) == ["prelu_to_relu", "prelu_to_relu", "list_initializers"]
    assert result is not None
    assert ops(result).count("PRelu") == 1
    assert next(node.name for node in result.graph.node if node.op_type == "PRelu") == name
    x = noise((1, 3, 4, 4))
    same_bits(run(three(), {"x": x}), run(result, {"x": x}))
    assert repair(three())[1] is None  # without partial nothing is written


def test_fixes_that_fix_nothing_cost_one_try_and_no_pass(monkeypatch: Patch) -> None:
    tried: list[int] = []
    right = _driver.Driver._try

    def count(self: Any, state: Any, facts: Any, batch: Any, names: Any) -> Any:
        tried.append(len(batch))
        return right(self, state, facts, batch, names)

    monkeypatch.setattr(_driver.Driver, "_try", count)
    monkeypatch.setattr(prelu_to_relu, "rewrite", changes_nothing)
    report, _ = repair(three(), partial=True)
    assert tried == [3, 1]  # then the initializers
    assert report.passes == 1
    assert [item.reason for item in report.declined] == ["OFX101 is still found after the rewrite"] * 3


def test_what_more_passes_would_fix_is_declined_for_that() -> None:
    report, _ = repair(three(), max_passes=1)
    assert {(item.rule, item.reason) for item in report.declined} == {("OFX010", "it takes more than 1 pass (--max-passes)")}


def test_a_rewrite_that_changes_the_interface_is_refused(monkeypatch: Patch) -> None:
    right = _driver.apply_changes

    def wrong(model: onnx.ModelProto, changes: Any, log: Any, view: Any) -> None:
        right(model, changes, log, view)
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 2
        model.graph.output[0].doc_string = "changed"

    monkeypatch.setattr(_driver, "apply_changes", wrong)
    monkeypatch.setattr(_gates, "checker_error", lambda model, level: None)
    report, result = repair(three())
    assert result is None
    assert "the model's inputs or outputs would change" in {item.reason for item in report.declined}


def test_a_proof_that_fails_takes_the_first_culprit_out_and_keeps_the_rest(monkeypatch: Patch) -> None:
    def wrong(region: Any, facts: Any, target: Any) -> None:
        region.replace(region.layer("Relu", "out", [region.node.inputs[0]]))

    spoil(monkeypatch, "two", wrong)
    report, result = repair(three(), partial=True)
    assert report.status == "partial"
    assert result is not None
    assert [item.node_name for item in report.declined] == ["two"]
    assert report.declined[0].reason.startswith("numeric proof: ")
    assert "elements differ, first at [" in report.declined[0].reason
    assert ": max abs " in report.declined[0].reason
    assert "; allowed: 1e-05 * (|value| + largest |value|)" in report.declined[0].reason
    x = noise((1, 3, 4, 4))
    same_bits(run(three(), {"x": x}), run(result, {"x": x}))


def test_a_model_that_the_checker_refuses_beforehand_is_held_to_what_it_passes() -> None:
    """ATen nodes have no schema: the strongest level that the input passes counts, not the strongest there is."""
    report, result = repair(pool("avg", (1, 3, 8, 8), (4, 4)))
    assert report.status == "repaired"
    assert result is not None
    onnx.checker.check_model(result, full_check=True)
    assert [item.domain for item in result.opset_import] == [""]


@pytest.mark.parametrize(("limit", "status"), [(1, "declined"), (2, "declined"), (3, "repaired")])
def test_max_passes_is_a_limit(limit: int, status: str) -> None:
    model = parse(
        """<ir_version: 6, opset_import: ["" : 11]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
        <float[3,1,1] s = {0.1, 0.2, 0.3}, float lo = {0}> { a = PRelu (x, s)  y = Clip (a, lo) }"""
    )
    report, result = repair(model, max_passes=limit)
    assert (report.status, report.passes) == (status, limit)
    assert (result is None) == (status == "declined")


def test_a_rewrite_that_goes_in_circles_ends(monkeypatch: Patch) -> None:
    """Each turn renames the node's doc string back and forth: the state was seen before."""
    monkeypatch.setattr(_driver, "broken_gate", lambda *arguments: None)
    turns = []

    def wrong(region: Any, facts: Any, target: Any) -> Change:
        turns.append(region.proto.name)
        return Change(region.scope, region.index, [region.proto])

    monkeypatch.setattr(prelu_to_relu, "rewrite", wrong)
    report, result = repair(parse(TWO.format(last="y = Relu (c)")), max_passes=50, verify=False)
    assert result is None
    assert report.passes < 10


# options --------------------------------------------------------------------------------------------------------------------


def test_only_fixes_what_it_names() -> None:
    report, result = repair(three(), only=("OFX010",), partial=True)
    assert applied(report) == ["list_initializers"]
    assert result is not None
    assert ops(result).count("PRelu") == 3
    assert applied(repair(three(), only=("OFX1",), partial=True)[0]) == ["prelu_to_relu"] * 3


def test_skip_leaves_what_it_names() -> None:
    report, result = repair(three(), skip=("OFX101",), partial=True)
    assert applied(report) == ["list_initializers"]
    report, result = repair(three(), skip=("OFX010",))
    assert (report.status, result) == ("declined", None)
    assert applied(report) == ["prelu_to_relu"] * 3


def test_allow_exact_leaves_what_only_rounds_alike() -> None:
    linear = resize((1, 3, 4, 4), sizes=[1, 3, 8, 8], mode="linear")
    report, result = repair(linear, allow="exact")
    assert (report.status, result) == ("declined", None)
    assert ("resize_to_matmul", "it is equivalent", "equivalent") in {
        (item.rewrite, item.reason, item.consent) for item in report.declined
    }
    nearest = resize((1, 3, 4, 4), sizes=[1, 3, 8, 8], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    report, result = repair(nearest, allow="exact")
    assert report.status == "repaired"
    assert report.proof is not None
    assert report.proof.exact


@pytest.mark.parametrize("targets", [("trt5.1", "trt7.1"), ("trt7.1", "trt5.1"), ("trt5.1", "trt7.1", "rtx1.7")])
def test_a_model_is_repaired_for_several_releases_at_once(targets: tuple[str, ...]) -> None:
    model = resize((1, 3, 4, 4), sizes=[1, 3, 9, 7], mode="cubic")
    report, result = repair(model, *targets)
    assert report.status == "repaired"
    assert [item.target for item in report.after] == list(targets)
    assert report.remaining == 0
    assert result is not None
    for target in targets:
        assert repair(result, target)[0].status == "clean"


def test_partial_gives_what_was_proven() -> None:
    model = parse(
        """<ir_version: 6, opset_import: ["" : 12]> g (float[1,3,4,4] x) => (float[1,3] y)
        <float[3,1,1] s = {0.1, 0.2, 0.3}> { a = PRelu (x, s)  y = Det (a) }"""
    )
    report, result = repair(model)
    assert (report.status, result) == ("declined", None)
    report, result = repair(model, partial=True)
    assert report.status == "partial"
    assert report.remaining > 0
    assert report.proof is not None
    assert report.proof.passed
    assert result is not None
    assert "Det" in ops(result)
    assert "PRelu" not in ops(result)


def test_partial_with_nothing_to_fix_gives_the_file_back() -> None:
    model = parse('<ir_version: 3, opset_import: ["" : 12]> g (float[1,3,4,4] x) => (float[1,3] y) { y = Det (x) }')
    report, result = repair(model, partial=True)
    assert report.status == "partial"
    assert result == model


def test_a_shape_freezes_dimensions_of_one_name_together() -> None:
    model = parse(
        """<ir_version: 3, opset_import: ["" : 9]> g (float[n,3,h,w] x, float[n,3,h,w] z) => (float[n,3,h,w] y)
        { t = Relu (x)  y = Add (t, z) }"""
    )
    assert repair(model)[0].status == "declined"
    report, result = repair(model, shapes={"x": (1, 3, 4, 6)})
    assert report.status == "repaired", report.reason
    assert result is not None
    shapes = {
        value.name: [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
        for value in (*result.graph.input, *result.graph.output)
    }
    assert shapes == {"x": [1, 3, 4, 6], "z": [1, 3, 4, 6], "y": [1, 3, 4, 6]}
    assert any("froze" in note for note in report.notes)
    assert report.fidelity is not None
    # before the repair, the findings are those of the file as it is
    assert [(finding.code, finding.values[0].name) for finding in report.before[0].findings] == [("OFX303", "x"), ("OFX303", "z")]
    assert report.fidelity.interface_changes


def test_shapes_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(UsageError, match="no input 'q'"):
        repair(three(), shapes={"q": (1,)})
    with pytest.raises(UsageError, match="does not fit"):
        repair(three(), shapes={"x": (1, 3, 5, 4)})
    two = parse('<ir_version: 3, opset_import: ["" : 9]> g (float[n,2] x, float[n,2] z) => (float[n,2] y) { y = Add (x, z) }')
    with pytest.raises(UsageError, match="n is 1 in one input and 2 in 'z'"):
        repair(two, shapes={"x": (1, 2), "z": (2, 2)})


SECRET = """<ir_version: 6, opset_import: ["" : 9, "my" : 1]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
<float[3,1,1] s = {0.1, 0.2, 0.3}> { a = PRelu (x, s)  y = my.Secret (a) }"""


def test_where_a_custom_node_keeps_the_model_from_running_the_changed_nodes_are_proven_alone() -> None:
    report, result = repair(parse(SECRET), partial=True)
    assert report.status == "partial"
    assert result is not None
    assert report.proof is not None
    assert [output.name for output in report.proof.outputs] == ["a"]
    assert (report.proof.kind, report.proof.samples) == ("regions", 8)
    assert "Secret" in report.proof.why
    assert len(report.proof.why) < 130
    assert "Secret" in report.proof.detail


STORED = """<ir_version: 6, opset_import: ["" : 9, "my" : 1]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
<int64 one = {1}> { a = Relu (x)  s = Shape (a)  c = Gather (s, one)  y = my.Secret (a, c) }"""


@pytest.mark.parametrize("right", [True, False])
def test_where_the_model_runs_nowhere_a_stored_value_is_compared_with_what_its_nodes_make(right: bool) -> None:
    before = parse(STORED)
    after = parse(STORED)
    del after.graph.node[1:3]
    after.graph.initializer.append(onnx.helper.make_tensor("c", onnx.TensorProto.INT64, [], [3 if right else 4]))
    proof = prove_regions(before, after, lambda _: (onnx.TensorProto.FLOAT, (1, 3, 4, 4)), samples=2)
    assert (proof.kind, proof.samples, [output.name for output in proof.outputs]) == ("regions", 2, ["c"])
    assert proof.passed == right


def test_where_the_model_runs_nowhere_and_no_node_is_changed_the_proof_is_no_numeric_one() -> None:
    proof = prove_regions(parse(STORED), parse(STORED), lambda _: None, why=CannotRunError("no", "because", "all words"))
    assert (proof.passed, proof.kind, proof.samples, proof.outputs) == (True, "structure", 0, ())
    assert (proof.why, proof.detail) == ("because", "all words")


def test_changed_nodes_that_do_not_run_either_say_why_once() -> None:
    before, after = parse(STORED), parse(STORED.replace("Secret", "Other"))

    def refused(why: str) -> CannotRunError:
        with pytest.raises(CannotRunError) as caught:
            prove_regions(before, after, lambda _: (onnx.TensorProto.FLOAT, (1, 3, 4, 4)), why=CannotRunError("no", why))
        return caught.value

    text = str(refused("because"))
    assert text.startswith("the model runs nowhere (because), nor do its changed nodes alone (")
    assert "Secret" in refused("because").detail
    own = text.rpartition("alone (")[2].removesuffix(")")
    assert str(refused(own)) == f"the model runs nowhere ({own}), nor do its changed nodes alone"


def test_a_wrong_rewrite_is_found_by_the_changed_nodes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(region: Region, facts: object, target: object) -> None:
        x, slope = region.node.inputs
        region.replace(region.layer("Mul", "scaled", [slope, x]))

    monkeypatch.setattr("onnxfix.rewrites.prelu_to_relu.rewrite", wrong)
    report, _ = repair(parse(SECRET), partial=True)
    assert "PRelu" in [finding.location.op_type for finding in report.after[0].findings]
    assert any("numeric proof" in item.reason for item in report.declined)


def test_what_cannot_run_at_all_is_unproven_and_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, why: Exception, **__: object) -> None:
        raise CannotRunError(str(why))

    monkeypatch.setattr("onnxfix.verify.region_proof.prove_regions", refuse)
    report, result = repair(parse(SECRET), partial=True)
    assert (report.status, result) == ("unproven", None)
    assert "Secret" in report.reason


def test_without_a_proof_the_report_says_so() -> None:
    report, result = repair(three(), verify=False)
    assert report.status == "repaired"
    assert report.proof is None
    assert "not verified" in report.notes
    assert result is not None


def test_a_gather_that_declines_hands_its_reason_to_the_report() -> None:
    report, result = repair(resize((1, 3, "h", 8), sizes=[1, 3, 16, 16], mode="nearest"))
    assert result is None
    assert any("no constant ratio" in item.reason for item in report.declined)
    assert resize_to_gather.__doc__


def test_nodes_of_one_name_have_their_own_reason_in_the_report() -> None:
    model = parse(
        '<ir_version: 7, opset_import: ["" : 11]> g (float[1,3,4,4] x, float[4] s) => (float[1,3,p,q] y, float[1,3,t,u] v) '
        "<float[8] roi = {0, 0, 0, 0, 1, 1, 1, 1}, float[4] twice = {1, 1, 2, 2}> { "
        '[up] y = Resize <mode = "linear"> (x, roi, s) '
        '[up] v = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, roi, twice) }'
    )
    report, _ = repair(model)
    entry = repair_entry(report)
    reasons = {
        tuple(item["location"]["outputs"]): item["fix"]["declined_reason"] for item in entry["findings"] if item["rule"] == "OFX101"
    }
    assert reasons == {
        ("y",): "the scales are computed at run time",
        ("v",): "coordinate mode tf_crop_and_resize is not covered",
    }
    assert {"key"}.isdisjoint(entry["repair"]["declined"][0])


def test_what_comes_of_a_shape_that_the_parser_reads_otherwise_is_no_new_fault() -> None:
    """The body of Attention takes sizes by Shape with a start, which 8.6 does not read: for a while shapes are others there."""
    model = parse(
        """<ir_version: 10, opset_import: ["" : 23]> g (float[2,4,9,4] q, float[2,4,9,4] k, float[2,4,9,4] v)
        => (float[2,4,9,4] y) {
          [n] y = Attention (q, k, v)
        }"""
    )
    for target in ("trt8.6", "trt8.0", "trt7.1"):
        report, _ = repair(model, target)
        assert report.status == "repaired"


def test_what_an_older_opset_brings_to_light_is_repaired_after_the_move() -> None:
    """Squeeze of opset 13 has its axes as an input; that they name the batch is known in opset 10 alone."""
    model = parse(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[1,1,4,5] x) => (float[1,4,5] y) <int64[1] a = {0}, int64[1] b = {2}>'
        " { m = ReduceMean (x, b)  z = Sub (x, m)  y = Squeeze (z, a) }"
    )
    report, repaired = repair(model, "trt6.0")
    assert repaired is not None
    assert "batch_of_one" in applied(report)

"""Repair loses nothing: what no fix touches is there afterwards, byte for byte."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from rewrites.harness import applied, load, noise, parse, repair, run, same_bits

import onnxfix.api
from onnxfix.model.load import serialize
from onnxfix.rewrites import _driver
from onnxfix.rewrites._edit import RULE_KEY, copy_model
from onnxfix.targets import find_target
from onnxfix.verify.aten import adaptive_avg_pool2d, adaptive_max_pool2d

from .rich import UNKNOWN, rich

TESTS = Path(__file__).parents[1]


def raw(message: object) -> bytes:
    data: bytes = message.SerializeToString(deterministic=True)  # type: ignore[attr-defined]
    return data


def repaired(**options: bool) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    before = rich(**options)
    report, after = repair(before, partial=True)
    assert after is not None
    assert report.proof is not None
    assert report.proof.passed
    assert {"prelu_to_relu", "resize_to_matmul", "opset_move"} <= set(applied(report))
    return before, after


@pytest.fixture(scope="module", params=[True, False], ids=["sparse", "listed"])
def pair(request: pytest.FixtureRequest) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    return repaired(sparse=request.param)


Pair = tuple[onnx.ModelProto, onnx.ModelProto]


def test_untouched_nodes_are_byte_identical(pair: Pair) -> None:
    before, after = pair
    made = {node.output[0]: node for node in after.graph.node}
    same = [node.name for node in before.graph.node if raw(node) == raw(made[node.output[0]])]
    assert same == ["conv", "sum", "dead"]  # the call gives way to the body of the function
    assert UNKNOWN in raw(made["c"])


def test_the_node_that_makes_an_old_output_has_the_old_name_note_and_metadata(pair: Pair) -> None:
    before, after = pair
    made = {node.output[0]: node for node in after.graph.node}
    for node in before.graph.node:
        new = made[node.output[0]]
        assert (new.name, new.doc_string) == (node.name, node.doc_string)
        kept = [entry for entry in new.metadata_props if entry.key != RULE_KEY]
        own = [entry for entry in kept if node.name != "call" or entry.key != "in"]  # what the function's node had already
        assert [raw(entry) for entry in own] == [raw(entry) for entry in node.metadata_props]
    rules = {node.name: entry.value for node in after.graph.node for entry in node.metadata_props if entry.key == RULE_KEY}
    assert {rules[name] for name in ("act", "act_too", "lin")} == {"OFX101"}
    assert {"conv", "sum", "dead"}.isdisjoint(rules)


def test_everything_around_the_nodes_is_kept(pair: Pair) -> None:
    before, after = pair
    for field in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        assert getattr(after, field) == getattr(before, field)
    assert list(map(raw, after.metadata_props)) == list(map(raw, before.metadata_props))
    assert list(map(raw, after.functions)) == list(map(raw, before.functions))
    assert {item.domain: item.version for item in after.opset_import} == {"": 9, "my": 3}
    old, new = before.graph, after.graph
    for field in ("name", "doc_string"):
        assert getattr(new, field) == getattr(old, field)
    for field in ("metadata_props", "quantization_annotation", "sparse_initializer", "value_info", "output"):
        assert list(map(raw, getattr(new, field))) == list(map(raw, getattr(old, field))), field
    assert list(map(raw, new.input))[: len(old.input)] == list(map(raw, old.input))
    stored = {tensor.name: raw(tensor) for tensor in new.initializer}
    for tensor in old.initializer:
        if tensor.name in ("w", "b", "slope", "unused", "twice"):
            assert stored[tensor.name] == raw(tensor)
    assert {"none", "lo", "sizes"}.isdisjoint(stored)  # what only fed replaced nodes, a branch's included


def test_unknown_fields_of_model_graph_nodes_and_tensors_are_kept(pair: Pair) -> None:
    before, after = pair
    # the PRelu that carried one is gone; of the rest there is one each: model, graph, node, tensor
    assert raw(before).count(UNKNOWN) == 5
    assert raw(after).count(UNKNOWN) == 4


def test_in_a_branch_only_the_node_at_issue_changes(pair: Pair) -> None:
    old, new = (next(node for node in model.graph.node if node.name == "choose") for model in pair)
    assert [attribute.doc_string for attribute in new.attribute] == ["a branch", "a branch"]
    assert [attribute.g.doc_string for attribute in new.attribute] == ["inside", "inside"]
    branches = [{attribute.name: attribute.g for attribute in node.attribute} for node in (old, new)]
    assert raw(branches[0]["then_branch"].node[1]) == raw(branches[1]["then_branch"].node[1])
    assert raw(branches[0]["else_branch"]) == raw(branches[1]["else_branch"])
    clip = branches[1]["then_branch"].node[0]
    assert (clip.name, list(clip.input)) == ("inner", ["a"])
    assert "note" in [entry.value for entry in clip.metadata_props]


def test_repairing_twice_changes_nothing(pair: Pair) -> None:
    data = serialize(pair[1])
    report, again = onnxfix.api.repair_model(load(data), [find_target("trt5.1")], onnxfix.api.RepairOptions(partial=True))
    assert applied(report) == []
    assert again == data


def test_a_clean_model_comes_out_as_the_very_bytes_of_the_file() -> None:
    """Even where they are not the ones that protobuf would write: fields out of order, unknown fields in front."""
    model = parse('<ir_version: 3, opset_import: ["" : 9]> g (float[1,3,4,4] x) => (float[1,3,4,4] y) { y = Relu (x) }')
    data = UNKNOWN + raw(onnx.ModelProto(graph=model.graph)) + raw(onnx.ModelProto(ir_version=3, opset_import=model.opset_import))
    report, written = onnxfix.api.repair_model(load(data), [find_target("trt5.1")])
    assert report.status == "clean"
    assert written == data


def test_two_processes_with_other_hash_seeds_write_the_same_bytes() -> None:
    script = (
        "import hashlib\nfrom fidelity.rich import rich\nfrom rewrites.harness import repair\n"
        "report, model = repair(rich(sparse=False), partial=True)\n"
        "print(hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest(), report.applied, report.declined)\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    _, after = repaired(sparse=False)
    assert hashlib.sha256(raw(after)).hexdigest() in said.pop()


def test_the_input_proto_is_never_changed() -> None:
    loaded = load(rich())
    before = raw(loaded.proto)
    onnxfix.api.repair_model(loaded, [find_target("trt5.1")], onnxfix.api.RepairOptions(partial=True))
    assert raw(loaded.proto) == before


# the ledger -----------------------------------------------------------------------------------------------------------------


def _note(model: onnx.ModelProto) -> None:
    model.graph.node[-1].doc_string = "touched"


def _branch(model: onnx.ModelProto) -> None:
    node = next(node for node in model.graph.node if node.name == "choose")
    next(item for item in node.attribute if item.name == "else_branch").g.node[0].name = "renamed"


def _weight(model: onnx.ModelProto) -> None:
    next(tensor for tensor in model.graph.initializer if tensor.name == "w").float_data[0] = 7


def _gone(model: onnx.ModelProto) -> None:
    names = [tensor.name for tensor in model.graph.initializer]
    if "unused" in names:  # more than one pass comes by
        del model.graph.initializer[names.index("unused")]


def _annotation(model: onnx.ModelProto) -> None:
    del model.graph.quantization_annotation[:]


def _metadata(model: onnx.ModelProto) -> None:
    model.metadata_props[0].value = "else"


def _function(model: onnx.ModelProto) -> None:
    model.functions[1].doc_string = ""


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_note, "node 'd' changed"),
        (_branch, "node 'e' changed"),
        (_weight, "initializer 'w' changed"),
        (_gone, "initializer 'unused' changed"),
        (_annotation, "a quantization annotation changed"),
        (_metadata, "the model's metadata changed"),
        (_function, "node|a function changed"),
    ],
)
def test_the_ledger_raises_where_something_changes_without_a_fix(spoil: object, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = _driver.apply_changes

    def wrong(model: onnx.ModelProto, *rest: object) -> None:
        right(model, *rest)  # type: ignore[arg-type]
        spoil(model)  # type: ignore[operator]

    monkeypatch.setattr(_driver, "apply_changes", wrong)
    with pytest.raises(RuntimeError, match=said):
        repair(rich(), partial=True, verify=False)


def test_the_ledger_counts_every_node_of_every_scope_once() -> None:
    before = rich()
    report, _ = repair(before, partial=True)
    ledger = report.fidelity
    assert ledger is not None
    inner = sum(len(item.g.node) for item in before.graph.node[7].attribute) + sum(len(item.node) for item in before.functions)
    assert ledger.nodes_before == len(before.graph.node) + inner
    assert ledger.identical + ledger.edited + ledger.removed == ledger.nodes_before
    assert ledger.nodes_after == ledger.nodes_before - ledger.removed + ledger.added


# around a rewritten node ----------------------------------------------------------------------------------------------------


def same_numbers(model: onnx.ModelProto, *targets: str) -> onnx.ModelProto:
    report, result = repair(model, *targets, partial=True)
    assert applied(report)
    assert result is not None
    feeds = {
        value.name: noise([dim.dim_value for dim in value.type.tensor_type.shape.dim])
        for value in model.graph.input
        if value.name not in {tensor.name for tensor in model.graph.initializer}
    }
    same_bits(run(model, feeds), run(result, feeds))
    return result


def test_an_initializer_that_others_read_stays() -> None:
    result = same_numbers(
        parse(
            """<ir_version: 6, opset_import: ["" : 9]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
            <float[3,1,1] s = {0.1, 0.2, 0.3}> { a = PRelu (x, s)  b = PRelu (a, s)  y = Add (b, s) }"""
        )
    )
    assert [tensor.name for tensor in result.graph.initializer if tensor.name == "s"] == ["s"]


def test_outputs_with_many_readers_and_outputs_of_the_graph_keep_their_names() -> None:
    result = same_numbers(
        parse(
            """<ir_version: 6, opset_import: ["" : 9]> g (float[1,3,4,4] x) => (float[1,3,4,4] a, float[1,3,4,4] y)
            <float[3,1,1] s = {0.1, 0.2, 0.3}> { a = PRelu (x, s)  b = Neg (a)  c = Exp (a)  y = Add (b, c) }"""
        )
    )
    assert [value.name for value in result.graph.output] == ["a", "y"]


def test_names_that_the_model_has_already_are_not_made_again() -> None:
    result = same_numbers(
        parse(
            """<ir_version: 6, opset_import: ["" : 9]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
            <float[3,1,1] s = {0.1, 0.2, 0.3}> { a = PRelu (x, s)  [a] b = PRelu (a, s)  [b] y = PRelu (b, s) }"""
        )
    )
    names = [name for node in result.graph.node for name in node.output]
    assert len(names) == len(set(names))


def test_helper_names_do_not_shadow_those_of_other_scopes() -> None:
    model = parse(
        """<ir_version: 8, opset_import: ["" : 9]> g (float[1,3,4,4] x, float[1,3,4,4] taken) => (float[1,3,4,4] y)
        <float[3,1,1] s = {0.1, 0.2, 0.3}> { [act] a = PRelu (x, s)  y = Add (a, taken) }"""
    )
    model.graph.input[1].name = "act/relu"
    model.graph.node[1].input[1] = "act/relu"
    same_numbers(model)


def test_a_value_that_only_a_branch_reads_is_no_orphan() -> None:
    model = parse(
        """<ir_version: 8, opset_import: ["" : 11]> g (float[1,3,4,4] x, float[1] c) => (float[1,3,4,4] y)
        <float[3,1,1] s = {0.1, 0.2, 0.3}, float[3,1,1] t = {0.4, 0.5, 0.6}, float zero = {0}> {
          k = Neg (s)  a = PRelu (x, k)  m = ReduceMax <keepdims = 0> (c)  f = Cast <to = 9> (m)
          y = If (f) <then_branch = p () => (float[1,3,4,4] u) { u = Mul (a, k) },
                      else_branch = q () => (float[1,3,4,4] v) { v = PRelu (a, t) }> }"""
    )
    result = same_numbers(model)
    assert "Neg" in [node.op_type for node in result.graph.node]


@pytest.mark.parametrize("target", ["rtx1.7", "trt8.4"])
def test_nodes_in_branches_are_rewritten_where_they_stand(target: str) -> None:
    model = parse(
        """<ir_version: 8, opset_import: ["" : 11, "org.pytorch.aten" : 1]> g (float[1,3,10,10] x, bool c) => (float[1,3,6,6] y)
        <int64[2] size = {6, 6}> {
          m = Abs (x)
          y = If (c) <then_branch = p () => (float[1,3,6,6] u) {
                        n = Neg (m)  [pool] u = org.pytorch.aten.adaptive_avg_pool2d (n, size) },
                      else_branch = q () => (float[1,3,6,6] v) { v = org.pytorch.aten.adaptive_max_pool2d (x, size) }> }"""
    )
    report, result = repair(model, target, partial=True)
    assert applied(report) == ["aten_adaptive_pool", "aten_adaptive_pool"]
    assert report.proof is not None
    assert report.proof.passed
    assert result is not None
    onnx.checker.check_model(result, full_check=True)
    (branches,) = [{item.name: item.g for item in node.attribute} for node in result.graph.node if node.op_type == "If"]
    assert [node.op_type for node in branches["then_branch"].node] == ["Neg", "MatMul", "MatMul"]
    assert [node.op_type for node in branches["else_branch"].node] == ["Gather", "Gather", "MaxPool"]
    assert not result.graph.initializer  # the size was read by the two nodes alone
    x = noise((1, 3, 10, 10))
    for choice, pool in ((True, adaptive_avg_pool2d(-np.abs(x), (6, 6))), (False, adaptive_max_pool2d(x, (6, 6))[0])):
        np.testing.assert_allclose(run(result, {"x": x, "c": np.array(choice)})["y"], pool, rtol=1e-5, atol=1e-6)
    assert report.fidelity is not None
    assert (report.fidelity.nodes_before, report.fidelity.identical, report.fidelity.edited) == (5, 2, 3)


def test_an_edit_in_a_branch_is_in_the_ledger_even_behind_nodes_that_come_and_go() -> None:
    """Positions change above the If, so its scopes have other paths afterwards."""
    model = parse(
        """<ir_version: 8, opset_import: ["" : 11]> g (float[1,3,4,4] x, bool c) => (float[1,3,4,4] y)
        <float[3,1,1] s = {0.1, 0.2, 0.3}, float lo = {0}> {
          a = PRelu (x, s)
          y = If (c) <then_branch = p () => (float[1,3,4,4] u) { n = Clip (a, lo)  u = Neg (n) },
                      else_branch = q () => (float[1,3,4,4] v) { v = Clip (a, lo) }>  }"""
    )
    later = copy_model(model)
    later.graph.node.add(op_type="Clip", input=["x", "lo"], output=["z"], name="late")
    later.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, [1, 3, 4, 4]))
    report, result = repair(later, partial=True)
    assert "opset_move" in applied(report)
    assert result is not None
    assert report.fidelity is not None
    assert report.fidelity.nodes_before == 6
    assert "lo" not in {tensor.name for tensor in result.graph.initializer}

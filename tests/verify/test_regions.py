"""Which parts of a model count as changed, and their proof by themselves."""

import onnx
import pytest

from onnxfix.verify.region_proof import prove_regions
from onnxfix.verify.regions import changed_values

from .conftest import parse

SOFTMAX = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax (x) }"


def in_opset(version: int, text: str = SOFTMAX, domain: str = "") -> onnx.ModelProto:
    return parse(f'<ir_version: 8, opset_import: ["{domain}" : {version}]> {text}')


@pytest.mark.parametrize("domains", [("", ""), ("ai.onnx", "ai.onnx"), ("ai.onnx", ""), ("", "ai.onnx")])
def test_a_softmax_over_other_axes_is_found_by_either_name_of_the_domain(domains: tuple[str, str]) -> None:
    before, after = (in_opset(version, domain=domain) for version, domain in zip((13, 11), domains, strict=True))
    assert changed_values(before, after) == ["y"]
    proof = prove_regions(before, after, lambda name: (onnx.TensorProto.FLOAT, (2, 3, 4)))
    assert (proof.passed, proof.samples) == (False, 8)


def test_opsets_between_which_no_node_changes_need_no_run() -> None:
    proof = prove_regions(in_opset(13), in_opset(14, domain="ai.onnx"), lambda name: None)
    assert (proof.passed, proof.samples, proof.note) == (True, 0, "no node is changed")


def test_a_node_that_means_something_else_inside_a_branch_counts() -> None:
    text = (
        "g (bool c, float[1,1,2,2] x) => (float[1,1,4,4] y) <float[0] n = {}, float[4] s = {1, 1, 2, 2}> { y = If (c) <"
        "then_branch = t () => (float[1,1,4,4] u) { u = Resize (x, n, s) }, "
        "else_branch = e () => (float[1,1,4,4] v) { v = Resize (x, n, s) }> }"
    )
    assert changed_values(in_opset(18, text), in_opset(17, text)) == ["y"]
    assert changed_values(in_opset(15, text), in_opset(14, text)) == []


def test_a_new_node_does_not_stand_for_an_old_one_of_its_kind() -> None:
    before = in_opset(13, "g (float[2,3,4] x) => (float[2,3,4] y) { a = Relu (x) y = Softmax (a) }")
    after = in_opset(11, "g (float[2,3,4] x) => (float[2,3,4] y) { new = Softmax (x) a = Relu (new) y = Softmax (a) }")
    assert changed_values(before, after) == ["a", "y"]

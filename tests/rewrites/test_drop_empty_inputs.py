"""Empty names at the end of a node's inputs: importers that count inputs take them for tensors; cutting them changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from onnxfix.api import lint_model, repair_model
from onnxfix.model.load import LoadedModel, load_model
from onnxfix.rewrites.options import RepairOptions

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "float[1,1,4,4] x"
CASES = {
    "Clip": (IMAGE, "float[1,1,4,4] y", 'y = Clip (x, "")'),
    "Conv": (IMAGE, "float[1,1,4,4] y", 'y = Conv (x, w, "")'),
    "Gemm": ("float[2,2] x", "float[2,2] y", 'y = Gemm (x, x, "")'),
    "Slice": ("float[4] x", "float[2] y", 'y = Slice (x, a, b, z, "")'),
    "Squeeze": ("float[1,3] x", "float[3] y", 'y = Squeeze (x, "")'),
    "Trilu": ("float[3,3] x", "float[3,3] y", 'y = Trilu (x, "")'),
    "Dropout": ("float[4] x", "float[4] y", 'y = Dropout (x, "", "")'),
}
STORED = "<float[1,1,1,1] w = {2}, int64[1] a = {0}, int64[1] b = {2}, int64[1] z = {0}>"


def build(inputs: str, outputs: str, node: str, empty: int) -> onnx.ModelProto:
    """The text form has no empty name at the end of a list; `empty` says how many the node gets."""
    plain = node.replace(', ""', "")
    head = '<ir_version: 8, opset_import: ["" : 17]>'
    model = onnx.parser.parse_model(f"{head} g ({inputs}) => ({outputs}) {STORED} {{ {plain} }}")
    model.graph.node[0].input.extend([""] * empty)
    return model


def load(folder: Path, model: onnx.ModelProto) -> LoadedModel:
    onnx.save(model, folder / "model.onnx")
    return load_model(folder / "model.onnx")


def run(data: bytes, x: np.ndarray) -> np.ndarray:
    import onnxruntime

    (y,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    return np.asarray(y)


@pytest.mark.parametrize("op", CASES)
def test_cut(op: str, tmp_path: Path) -> None:
    inputs, outputs, node = CASES[op]
    model = build(inputs, outputs, node, node.count('""'))
    report, data = repair_model(load(tmp_path, model), ["rtx1.7"], RepairOptions(samples=2))
    assert report.status == "repaired"
    assert [fix.rewrite for fix in report.applied] == ["drop_empty_inputs"]
    assert data is not None
    assert "" not in onnx.ModelProto.FromString(data).graph.node[0].input
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    # onnxruntime itself fails on a Squeeze with an empty name; elsewhere both must run alike
    given = build(inputs, outputs, node, 0) if op == "Squeeze" else model
    np.testing.assert_array_equal(run(data, x), run(given.SerializeToString(), x))


@pytest.mark.parametrize("node", ['y = Clip (x, "", h)', "y = Clip (x)"])
def test_names_that_hold_a_place_stay(node: str, tmp_path: Path) -> None:
    head = '<ir_version: 8, opset_import: ["" : 17]>'
    model = onnx.parser.parse_model(f"{head} g (float[4] x) => (float[4] y) <float h = {{6}}> {{ {node} }}")
    (found,) = lint_model(load(tmp_path, model), ["rtx1.7"]).targets
    assert found.findings == ()

"""TensorRT-RTX itself, which parses and builds without a GPU."""

import json

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from onnxfix import engines
from onnxfix.cli.build import command
from onnxfix.errors import MissingToolError, ModelError, UsageError
from onnxfix.report.json import document

from .conftest import needs_rtx

pytestmark = needs_rtx
RTX = "tensorrt-rtx"
SM86 = engines.BuildOptions(sm=("86",))
HEAD = '<ir_version: 8, opset_import: ["" : 13]> g '
MODEL = HEAD + "(float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) { t = Relu(x)  y = Neg(t) }"
DYNAMIC = HEAD + "(float[n, 3, 8, 8] x) => (float[n, 3, 8, 8] y) { t = Relu(x)  y = Neg(t) }"
REFUSED = (
    '<ir_version: 8, opset_import: ["" : 13, "com.acme" : 1]> g (float[4] x) => (float[4] y)'
    " { [first] t = Relu(x)  [second] u = com.acme.Spin(t)  [third] y = com.acme.Turn(u) }"
)


def run(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_a_plain_model_is_parsed(save):
    result = engines.parse(save(MODEL), RTX)
    assert (result.verdict, result.errors) == ("parsed", ())
    assert result.layers >= 2
    assert result.inputs == (engines.NetworkTensor("x", "FLOAT", (1, 3, 8, 8)),)
    assert result.version.startswith("1.")


def test_a_refusal_names_node_operator_and_reason(save):
    result = engines.parse(save(REFUSED), RTX)
    assert result.verdict == "refused"
    assert (result.errors[0].node, result.errors[0].name, result.errors[0].op_type) == (1, "second", "Spin")
    assert result.errors[0].message


def test_an_engine_is_built_without_a_gpu_for_named_architectures(save, tmp_path):
    result = engines.build(save(MODEL), tmp_path / "m.engine", engines.BuildOptions(sm=("75", "120"), workspace=64), engine=RTX)
    assert (result.verdict, result.sm, result.notes) == ("built", ("75", "120"), ())
    assert (tmp_path / "m.engine").stat().st_size == result.size > 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.engine", "m.engine.json", "m.onnx"]


def test_the_default_architecture_is_said(save, tmp_path, monkeypatch):
    monkeypatch.setattr("onnxfix.engines.settle.gpu_present", lambda: False)
    result = engines.build(save(MODEL), tmp_path / "m.engine", engine=RTX)
    assert result.sm == ("86",)
    assert "compute capability 8.6" in result.notes[0]


def test_an_unknown_architecture_lists_the_known(save, tmp_path):
    with pytest.raises(UsageError, match=r"--sm 90.*builds for 75, 80, 86"):
        engines.build(save(MODEL), tmp_path / "m.engine", options=engines.BuildOptions(sm=("90",)), engine=RTX)
    assert not (tmp_path / "m.engine").exists()


def test_open_sizes_need_a_profile_that_fits(save, tmp_path):
    path, out = save(DYNAMIC), tmp_path / "m.engine"

    def build(*shapes):
        return engines.build(path, out, engines.BuildOptions(sm=("86",), profiles={"x": engines.ShapeRange(*shapes)}), engine=RTX)

    with pytest.raises(UsageError, match="--shape x:Nx3x8x8 for one size"):
        engines.build(path, out, options=SM86, engine=RTX)
    with pytest.raises(UsageError, match=r"1x4x8x8 does not fit \?x3x8x8"):
        build((1, 4, 8, 8), (1, 4, 8, 8), (1, 4, 8, 8))
    with pytest.raises(UsageError, match="must grow"):
        build((2, 3, 8, 8), (1, 3, 8, 8), (4, 3, 8, 8))
    assert not out.exists()
    assert build((1, 3, 8, 8), (2, 3, 8, 8), (4, 3, 8, 8)).verdict == "built"


def test_weights_in_external_data_are_found_beside_the_model(save, tmp_path):
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model = onnx.parser.parse_model(HEAD + "(float[2, 64] x) => (float[2, 64] y) { y = MatMul(x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    path = tmp_path / "m.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    result = engines.build(path, tmp_path / "m.engine", options=SM86, engine=RTX)
    assert result.verdict == "built"
    assert result.size > weights.nbytes
    (tmp_path / "w.bin").unlink()
    with pytest.raises(ModelError, match=r"w\.bin"):
        engines.parse(path, RTX)


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_what_is_no_model_is_a_model_error(tmp_path, content):
    path = tmp_path / "m.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=r"m\.onnx"):
        engines.parse(path, RTX)


def test_outputs_that_cannot_be_written_are_refused_first(save, tmp_path):
    path = save(MODEL)
    with pytest.raises(UsageError, match="cannot be written"):
        engines.build(path, tmp_path / "none" / "m.engine", engine=RTX)
    data = path.read_bytes()
    with pytest.raises(UsageError, match="the model itself"):
        engines.build(path, path, engine=RTX)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        engines.build(path, tmp_path / "folder", options=SM86, engine=RTX)
    assert path.read_bytes() == data
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "m.onnx"]


def test_the_command_builds_and_says_what_for(save, tmp_path):
    result = run(save(MODEL), "--engine", RTX, "--sm", "8.6,89")
    assert result.exit_code == 0
    assert "parsed by TensorRT-RTX 1." in result.output
    assert "for compute capability 8.6, 8.9" in result.output
    assert (tmp_path / "m.engine").is_file()


def test_the_command_exits_1_on_a_refusal_and_lists_the_nodes(save, tmp_path):
    result = run(save(REFUSED), "--engine", RTX)
    assert result.exit_code == 1
    assert "graph/node[1] Spin second: " in result.output
    assert not (tmp_path / "m.engine").exists()


def test_the_command_reports_in_json(save, tmp_path):
    report = json.loads(run(save(MODEL), "--engine", RTX, "--sm", "86", "-f", "json").output)
    other = document([], exit_code=0)
    assert (report["schema"], report["tool"], set(report["run"])) == (other["schema"], other["tool"], set(other["run"]))
    build = report["models"][0]["build"]
    assert (build["verdict"], build["parse"]["verdict"], build["sm"]) == ("built", "parsed", ["86"])
    assert build["bytes"] == (tmp_path / "m.engine").stat().st_size
    refused = run(save(REFUSED), "--engine", RTX, "--parse-only", "-f", "json")
    assert refused.exit_code == 1
    assert json.loads(refused.output)["models"][0]["build"]["parse"]["errors"][0]["op_type"] == "Spin"


def test_shape_options_make_a_profile(save):
    path = save(DYNAMIC)
    assert run(path, "--engine", RTX, "--sm", "86", "--shape", "x:2x3x8x8").exit_code == 0
    assert run(path, "--engine", RTX, "--sm", "86", "--min-shape", "x:1x3x8x8", "--max-shape", "x:4x3x8x8").exit_code == 0
    lacking = run(path, "--engine", RTX, "--min-shape", "x:1x3x8x8")
    assert isinstance(lacking.exception, UsageError)
    assert "--max-shape is missing" in str(lacking.exception)
    both = run(path, "--engine", RTX, "--min-shape", "x:1x3x8x8", "--shape", "x:1x3x8x8")
    assert isinstance(both.exception, UsageError)
    assert "not both" in str(both.exception)


def test_a_target_has_to_be_the_installed_release(save, monkeypatch):
    path = save(MODEL)
    monkeypatch.setattr("onnxfix.engines.tool.Tool.version", lambda self: "1.7.1.116")
    assert run(path, "-t", "rtx1.7", "--parse-only").exit_code == 0
    monkeypatch.setattr("onnxfix.engines.tool.Tool.version", lambda self: "1.70.0")
    other = run(path, "-t", "rtx1.7", "--parse-only")
    assert isinstance(other.exception, MissingToolError)
    assert "TensorRT-RTX 1.70.0 is installed, not 1.7" in str(other.exception)
    assert isinstance(run(path, "-t", "rtx1.7", "--engine", "tensorrt").exception, UsageError)


def test_a_range_is_a_profile_and_repeats_show_how_builds_differ(save, tmp_path):
    path = save(DYNAMIC)
    done = run(path, "--engine", RTX, "--sm", "86", "--shape", "x:1x3x8x8..2x3x8x8..4x3x8x8", "--repeat", "2")
    assert done.exit_code == 0, done.output
    assert "2 builds: " in done.output
    assert {"m.engine", "m.2.engine", "m.engine.json", "m.2.engine.json"} <= {file.name for file in tmp_path.iterdir()}
    options = json.loads((tmp_path / "m.engine.json").read_text())["options"]
    assert options["profiles"]["x"] == {"min": [1, 3, 8, 8], "opt": [2, 3, 8, 8], "max": [4, 3, 8, 8]}
    wrong = run(path, "--engine", RTX, "--min-shape", "x:1x3x8x8..4x3x8x8", "--max-shape", "x:4x3x8x8")
    assert "one shape, such as NAME:2x3x224x224, not a range" in str(wrong.exception)


def test_a_refusal_says_whose_fault_it_is_and_saves_the_log(save, tmp_path):
    done = run(save(REFUSED), "--engine", RTX)
    assert done.exit_code == 1
    assert "at fault: parser: this release has no importer for Spin" in done.output
    assert "Spin" in (tmp_path / "m.engine.log").read_text()
    report = json.loads(run(save(REFUSED), "--engine", RTX, "-f", "json").output)
    assert report["models"][0]["build"]["fault"]["whose"] == "parser"
    run(save(MODEL), "--engine", RTX, "--parse-only", "--log", tmp_path / "all.log")
    assert (tmp_path / "all.log").exists()

import json

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from onnxfix.cli._options import parse_shapes
from onnxfix.cli.verify import command
from onnxfix.errors import ModelError, OnnxfixError, UsageError

from .conftest import parse

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g '


@pytest.fixture
def models(tmp_path):
    onnx.save(parse(HEAD + "(float[n, 4] x) => (float[n, 4] y) { t = Mul(x, x)  y = Neg(t) }"), tmp_path / "a.onnx")
    onnx.save(parse(HEAD + "(float[n, 4] x) => (float[n, 4] y) { t = Abs(x)  y = Neg(t) }"), tmp_path / "b.onnx")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_equal_models_exit_0_and_say_so(models):
    result = run(models / "a.onnx", models / "a.onnx")
    assert result.exit_code == 0
    assert "8 samples, seed 0, n = 1 2 3\n" in result.output
    assert result.output.endswith("equal within 1e-05 * (|value| + largest |value|)\n")


def test_different_models_exit_1_and_name_the_first_difference(models):
    result = run(models / "a.onnx", models / "b.onnx", "--bisect", "--metric", "max-abs", "--samples", "2")
    assert result.exit_code == 1
    assert "first difference: t (float32" in result.output
    assert "max abs" in result.output
    assert "cosine" not in result.output


def test_json_has_the_keys_of_the_report(models):
    result = run(models / "a.onnx", models / "b.onnx", "--bisect", "-f", "json", "--samples", "2", "--shape", "x:3x4")
    report = json.loads(result.output)
    assert result.exit_code == report["run"]["exit_code"] == 1
    assert report["schema"] == "onnxfix-report/1"
    assert report["verify"]["bindings"] == [{"n": 3}, {"n": 3}]
    assert set(report["verify"]) == {
        "passed",
        "kind",
        "why",
        "detail",
        "samples",
        "seed",
        "bindings",
        "outputs",
        "budget",
        "note",
        "measured",
    }
    assert set(report["verify"]["outputs"][0]) >= {"name", "max_abs", "max_rel", "cosine", "ulp_max", "passed"}
    assert report["verify"]["budget"]["rtol"] == {"float32": 1e-5}
    assert report["first_difference"]["name"] == "t"


def test_another_shape_has_no_figures(models):
    onnx.save(parse(HEAD + "(float[n, 4] x) => (float[m, k] y) { t = Mul(x, x)  y = Transpose(t) }"), models / "c.onnx")
    result = run(models / "a.onnx", models / "c.onnx", "--shape", "x:3x4")
    assert result.exit_code == 1
    assert "y (float32 [3, 4]): DIFFERS  another shape: [4, 3] instead of [3, 4]\n" in result.output
    assert "max abs" not in result.output
    report = json.loads(run(models / "a.onnx", models / "c.onnx", "-f", "json").output)
    assert report["verify"]["outputs"][0]["cosine"] is None


def test_inputs_come_from_a_file(models):
    np.savez(models / "in.npz", x=np.ones((2, 4), np.float32))
    result = run(models / "a.onnx", models / "b.onnx", "--inputs", models / "in.npz")
    assert result.exit_code == 0
    assert "1 sample, seed 0" in result.output


@pytest.mark.parametrize(("content", "said"), [(None, "no such file"), (b"", "no .npz"), (b"not a zip", "no .npz")])
def test_inputs_that_cannot_be_read_are_one_line(models, content, said):
    if content is not None:
        (models / "in.npz").write_bytes(content)
    result = run(models / "a.onnx", models / "a.onnx", "--inputs", models / "in.npz")
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_missing_model_is_named(models):
    result = run(models / "a.onnx", models / "none.onnx")
    assert isinstance(result.exception, ModelError)
    assert "none.onnx" in str(result.exception)
    assert isinstance(result.exception, OnnxfixError)
    assert result.exception.exit_code == 2


def test_other_inputs_are_advised_only_where_they_can_help(models):
    onnx.save(parse(HEAD + "(float[2, 3] x) => (float[q, 3] y) <int64[2] s = {4, 4}> { y = Reshape(x, s) }"), models / "size.onnx")
    onnx.save(parse(HEAD + "(float[2, 3] x) => (float[2, 3] y) <int64 s = {4}> { y = Add(x, s) }"), models / "type.onnx")
    size, types = (run(models / name, models / name).exception for name in ("size.onnx", "type.onnx"))
    assert "pass --shape or --inputs" in str(size)
    assert "onnxruntime: Reshape node" in str(size)
    assert "--" not in str(types)
    assert "Optype (Add)" in str(types)
    assert max(len(str(error)) for error in (size, types)) < 200


def test_shapes_are_read_and_names_may_hold_colons():
    assert parse_shapes(("x:2x3", "input:0:1")) == {"x": (2, 3), "input:0": (1,)}


@pytest.mark.parametrize("value", ["x", "x:", ":2x3", "x:2x", "x:2,3", "x:0x3", "x:-1x3", "x:ax3"])
def test_a_shape_of_another_form_is_a_usage_error(value):
    with pytest.raises(UsageError, match="NAME:2x3x224x224"):
        parse_shapes((value,))
    with pytest.raises(UsageError, match="already"):
        parse_shapes(("x:1", "x:1"))

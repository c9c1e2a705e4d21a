import subprocess
import sys

import pytest

from onnxfix.engines import choice, tool
from onnxfix.errors import MissingToolError, UsageError


@pytest.fixture
def machine(monkeypatch):
    def has(*modules, gpu=False):
        monkeypatch.setattr(tool.Tool, "is_installed", lambda self: self.module in modules)
        monkeypatch.setattr(choice, "gpu_present", lambda: gpu)

    return has


@pytest.mark.parametrize(
    ("modules", "gpu", "name"),
    [
        (["tensorrt", "tensorrt_rtx"], True, "tensorrt"),
        (["tensorrt", "tensorrt_rtx"], False, "tensorrt-rtx"),
        (["tensorrt_rtx"], True, "tensorrt-rtx"),
        (["tensorrt"], True, "tensorrt"),
    ],
)
def test_tensorrt_where_it_can_be_used_else_tensorrt_rtx(machine, modules, gpu, name):
    machine(*modules, gpu=gpu)
    assert choice.choose(None).name == name


@pytest.mark.parametrize(
    ("modules", "name", "said"),
    [
        ([], None, "neither TensorRT nor TensorRT-RTX is installed; in a clone of onnxfix: pip install '.[tensorrt-rtx]'"),
        (["tensorrt"], None, "TensorRT needs an NVIDIA GPU"),
        (["tensorrt_rtx"], "tensorrt", "TensorRT is not installed; in a clone of onnxfix: pip install '.[tensorrt]'"),
        (["tensorrt"], "tensorrt-rtx", "TensorRT-RTX is not installed; in a clone of onnxfix: pip install '.[tensorrt-rtx]'"),
    ],
)
def test_what_is_missing_is_said_with_how_to_get_it(machine, modules, name, said):
    machine(*modules)
    with pytest.raises(MissingToolError) as caught:
        choice.choose(name)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("modules", "gpu", "targets"),
    [([], True, set()), (["tensorrt_rtx"], False, {"rtx1.7"}), (["tensorrt"], False, set()), (["tensorrt"], True, {"trt10.9"})],
)
def test_a_machine_builds_for_the_releases_that_are_installed(machine, monkeypatch, modules, gpu, targets):
    machine(*modules, gpu=gpu)
    monkeypatch.setattr(tool.Tool, "version", lambda self: "1.7.1.116" if self.family == "rtx" else "10.9.0")
    assert {target for target in ("trt5.1", "trt10.9", "rtx1.7", "rtx1.70") if choice.builds_for(target)} == targets


def test_an_unknown_engine_is_a_usage_error():
    with pytest.raises(UsageError, match="tensorrt or tensorrt-rtx"):
        choice.choose("tvm")


def test_importing_engines_imports_no_native_library():
    code = (
        "import sys, onnxfix.engines as e; e.parse; e.build; import onnxfix.cli.build\n"
        "print([m for m in ('tensorrt', 'tensorrt_rtx', 'polygraphy', 'onnxruntime', 'onnx', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_build_for_a_release_without_package_points_to_its_device(tmp_path):
    import onnx
    from click.testing import CliRunner

    from onnxfix.cli.build import command

    file = tmp_path / "m.onnx"
    onnx.save(
        onnx.parser.parse_model('<ir_version: 7, opset_import: ["" : 11]> g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }'), file
    )
    for target, release, more in (("trt5.1", "5.1", ""), ("jetpack4.4", "7.1", " (x is Nx3: give --shape)")):
        done = CliRunner().invoke(command, [str(file), "--target", target])
        assert isinstance(done.exception, MissingToolError)
        assert str(done.exception).startswith(f"TensorRT {release} is no Python package; on the device that has it: trtexec")
        assert str(done.exception).endswith(f".engine{more}")

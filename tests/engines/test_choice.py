import subprocess
import sys

import pytest

from onnxfix.engines import _tool
from onnxfix.errors import MissingToolError, UsageError


@pytest.fixture
def machine(monkeypatch):
    def has(*modules, gpu=False):
        monkeypatch.setattr(_tool.Tool, "is_installed", lambda self: self.module in modules)
        monkeypatch.setattr(_tool, "gpu_present", lambda: gpu)

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
    assert _tool.choose(None).name == name


@pytest.mark.parametrize(
    ("modules", "name", "said"),
    [
        ([], None, "neither TensorRT nor TensorRT-RTX is installed; pip install 'onnxfix[tensorrt-rtx]'"),
        (["tensorrt"], None, "TensorRT needs an NVIDIA GPU"),
        (["tensorrt_rtx"], "tensorrt", "TensorRT is not installed; pip install 'onnxfix[tensorrt]'"),
        (["tensorrt"], "tensorrt-rtx", "TensorRT-RTX is not installed; pip install 'onnxfix[tensorrt-rtx]'"),
    ],
)
def test_what_is_missing_is_said_with_how_to_get_it(machine, modules, name, said):
    machine(*modules)
    with pytest.raises(MissingToolError) as caught:
        _tool.choose(name)
    assert str(caught.value).startswith(said)


def test_an_unknown_engine_is_a_usage_error():
    with pytest.raises(UsageError, match="tensorrt or tensorrt-rtx"):
        _tool.choose("tvm")


def test_importing_engines_imports_no_native_library():
    code = (
        "import sys, onnxfix.engines as e; e.parse; e.build; import onnxfix.cli.build\n"
        "print([m for m in ('tensorrt', 'tensorrt_rtx', 'polygraphy', 'onnxruntime', 'onnx', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

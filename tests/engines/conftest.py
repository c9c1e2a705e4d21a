"""Models to build, and a stand-in for the `tensorrt` module, which does nothing without a GPU."""

import importlib.util
import os
from pathlib import Path

import onnx
import pytest

from onnxfix.engines import ask, choice, settle

STAND_IN = Path(__file__).parent / "stand_in"
needs_rtx = pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is None,
    reason="tensorrt_rtx is not installed: pip install 'onnxfix[tensorrt-rtx]'",
)


@pytest.fixture
def save(tmp_path):
    def write(text, name="m.onnx"):
        onnx.save(onnx.parser.parse_model(text), tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def tensorrt(monkeypatch):
    """The stand-in is what `import tensorrt` finds here and in child processes, and there is a GPU."""
    monkeypatch.syspath_prepend(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(STAND_IN), os.environ.get("PYTHONPATH", "")]))
    for module in (choice, ask, settle):
        monkeypatch.setattr(module, "gpu_present", lambda: True)
    return monkeypatch

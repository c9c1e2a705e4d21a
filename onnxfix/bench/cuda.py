"""The few calls of the CUDA runtime that timing needs, by cuda-python. Tested against a recorded fake, not run on a GPU."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxfix.errors import MissingToolError, OnnxfixError

if TYPE_CHECKING:
    from onnxfix.verify.aten import Array

INSTALL = "in a clone of onnxfix: pip install '.[gpu]'"
# What is called here of `cuda.bindings.runtime`; the tests hold the names against the real module.
CALLS = (
    "cudaMalloc",
    "cudaFree",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaMemcpyAsync",
    "cudaStreamCreate",
    "cudaStreamDestroy",
    "cudaStreamSynchronize",
    "cudaStreamBeginCapture",
    "cudaStreamEndCapture",
    "cudaGraphInstantiate",
    "cudaGraphLaunch",
    "cudaGraphExecDestroy",
    "cudaGraphDestroy",
    "cudaEventCreate",
    "cudaEventDestroy",
    "cudaEventRecord",
    "cudaEventElapsedTime",
)


class CudaError(OnnxfixError):
    """A call of the CUDA runtime failed."""

    exit_code = 4


def runtime() -> Any:
    """The module `cuda.bindings.runtime`.

    Raises:
        MissingToolError: cuda-python is not installed.
    """
    try:
        return import_module("cuda.bindings.runtime")
    except ImportError:
        raise MissingToolError(f"timing on a GPU needs cuda-python, which is not installed; {INSTALL}") from None


class Cuda:
    """The CUDA runtime, with errors as exceptions; handles are what cuda-python gives.

    Args:
        module: `cuda.bindings.runtime`, or what stands in for it in tests.
    """

    def __init__(self, module: Any) -> None:
        self._module = module

    def _call(self, name: str, *arguments: Any) -> Any:
        code, *values = getattr(self._module, name)(*arguments)
        if int(code) != 0:
            raise CudaError(f"{name} failed: {getattr(code, 'name', code)}")
        return values[0] if values else None

    def malloc(self, size: int) -> int:
        """Device memory of `size` bytes (at least one): its address."""
        return int(self._call("cudaMalloc", max(size, 1)))

    def free(self, address: int) -> None:
        """Give device memory back."""
        self._call("cudaFree", address)

    def pin(self, array: Array) -> None:
        """Lock the memory of a host array, so that copies are asynchronous, as trtexec's are."""
        if array.nbytes:
            self._call("cudaHostRegister", array.ctypes.data, array.nbytes, 0)

    def unpin(self, array: Array) -> None:
        """Undo `pin`."""
        if array.nbytes:
            self._call("cudaHostUnregister", array.ctypes.data)

    def to_device(self, address: int, array: Array, stream: Any) -> None:
        """Copy a host array to device memory."""
        kind = self._module.cudaMemcpyKind.cudaMemcpyHostToDevice
        self._call("cudaMemcpyAsync", address, array.ctypes.data, array.nbytes, kind, stream)

    def to_host(self, array: Array, address: int, stream: Any) -> None:
        """Copy device memory into a host array."""
        kind = self._module.cudaMemcpyKind.cudaMemcpyDeviceToHost
        self._call("cudaMemcpyAsync", array.ctypes.data, address, array.nbytes, kind, stream)

    def stream(self) -> Any:
        """A new stream."""
        return self._call("cudaStreamCreate")

    def synchronize(self, stream: Any) -> None:
        """Wait for all work of a stream."""
        self._call("cudaStreamSynchronize", stream)

    def destroy_stream(self, stream: Any) -> None:
        """Give a stream back."""
        self._call("cudaStreamDestroy", stream)

    def event(self) -> Any:
        """A new event."""
        return self._call("cudaEventCreate")

    def record(self, event: Any, stream: Any) -> None:
        """Let the event happen when the stream comes to it."""
        self._call("cudaEventRecord", event, stream)

    def elapsed(self, begin: Any, end: Any) -> float:
        """Milliseconds between two events that have happened."""
        return float(self._call("cudaEventElapsedTime", begin, end))

    def destroy_event(self, event: Any) -> None:
        """Give an event back."""
        self._call("cudaEventDestroy", event)

    def begin_capture(self, stream: Any) -> None:
        """Let the calls that follow on the stream become a graph instead of running."""
        mode = self._module.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        self._call("cudaStreamBeginCapture", stream, mode)

    def end_capture(self, stream: Any) -> Any:
        """The graph of the calls since `begin_capture`, ready to be launched."""
        graph = self._call("cudaStreamEndCapture", stream)
        executable = self._call("cudaGraphInstantiate", graph, 0)
        self._call("cudaGraphDestroy", graph)
        return executable

    def launch(self, graph: Any, stream: Any) -> None:
        """Run a graph on a stream."""
        self._call("cudaGraphLaunch", graph, stream)

    def destroy_graph(self, graph: Any) -> None:
        """Give a graph back."""
        self._call("cudaGraphExecDestroy", graph)


def host_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array in C order to copy outputs into."""
    return np.zeros(shape, dtype)

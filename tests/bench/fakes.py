# ruff: noqa: N802, N815  the names are those of the libraries
"""Recorded fakes: the calls of the CUDA runtime, of TensorRT's runtime and of the driver's library that timing makes."""

from enum import IntEnum
from types import SimpleNamespace

import numpy as np


class Code(IntEnum):
    cudaSuccess = 0
    cudaErrorMemoryAllocation = 2


class FakeCuda:
    """Stands in for `cuda.bindings.runtime`: notes the calls; an event's time is the number of calls before it."""

    cudaMemcpyKind = SimpleNamespace(cudaMemcpyHostToDevice="in", cudaMemcpyDeviceToHost="out")
    cudaStreamCaptureMode = SimpleNamespace(cudaStreamCaptureModeThreadLocal="local")

    def __init__(self, fails=""):
        self.calls = []
        self.fails = fails
        self.times = {}
        self.made = 0
        self.memory = {}
        self.pinned = set()

    def _note(self, name, *arguments):
        self.calls.append((name, *arguments))
        return Code.cudaErrorMemoryAllocation if name == self.fails else Code.cudaSuccess

    def _new(self, name, *arguments):
        self.made += 1
        return self._note(name, *arguments), f"{name}{self.made}"

    def cudaMalloc(self, size):
        self.made += 1
        self.memory[self.made] = size
        return self._note("cudaMalloc", size), self.made

    def cudaFree(self, address):
        del self.memory[address]
        return (self._note("cudaFree", address),)

    def cudaHostRegister(self, address, size, flags):
        self.pinned.add(address)
        return (self._note("cudaHostRegister", size, flags),)

    def cudaHostUnregister(self, address):
        self.pinned.remove(address)
        return (self._note("cudaHostUnregister"),)

    def cudaMemcpyAsync(self, to, source, size, kind, stream):
        return (self._note("cudaMemcpyAsync", size, kind),)

    def cudaStreamCreate(self):
        return self._new("cudaStreamCreate")

    def cudaStreamDestroy(self, stream):
        return (self._note("cudaStreamDestroy"),)

    def cudaStreamSynchronize(self, stream):
        return (self._note("cudaStreamSynchronize"),)

    def cudaStreamBeginCapture(self, stream, mode):
        return (self._note("cudaStreamBeginCapture", mode),)

    def cudaStreamEndCapture(self, stream):
        return self._new("cudaStreamEndCapture")

    def cudaGraphInstantiate(self, graph, flags):
        return self._new("cudaGraphInstantiate", flags)

    def cudaGraphLaunch(self, graph, stream):
        return (self._note("cudaGraphLaunch"),)

    def cudaGraphExecDestroy(self, graph):
        return (self._note("cudaGraphExecDestroy"),)

    def cudaGraphDestroy(self, graph):
        return (self._note("cudaGraphDestroy"),)

    def cudaEventCreate(self):
        return self._new("cudaEventCreate")

    def cudaEventDestroy(self, event):
        return (self._note("cudaEventDestroy"),)

    def cudaEventRecord(self, event, stream):
        self.times[event] = len(self.calls)
        return (self._note("cudaEventRecord"),)

    def cudaEventElapsedTime(self, begin, end):
        return self._note("cudaEventElapsedTime"), float(self.times[end] - self.times[begin])

    def names(self):
        return [call[0] for call in self.calls]


class FakeTensorRT:
    """Stands in for TensorRT's runtime: an engine of one input `x` and one output `y`, [n, 4] float32, n at most 8."""

    TensorIOMode = SimpleNamespace(INPUT="input", OUTPUT="output")

    class Logger:
        ERROR = 1

        def __init__(self, level):
            pass

    class IProfiler:
        pass

    def __init__(self, calls, dtype=np.float32, loads=True, runs=True, layers=()):
        self.calls, self.dtype, self.loads, self.runs, self.layers = calls, dtype, loads, runs, layers

    def nptype(self, kind):
        if kind is None:
            raise TypeError("could not resolve")
        return kind

    def Runtime(self, logger):
        return SimpleNamespace(deserialize_cuda_engine=lambda data: Engine(self) if self.loads else None)


class Engine:
    num_io_tensors = 2

    def __init__(self, trt):
        self.trt = trt

    def create_execution_context(self):
        return Context(self.trt)

    def get_tensor_name(self, index):
        return "xy"[index]

    def get_tensor_mode(self, name):
        return "input" if name == "x" else "output"

    def get_tensor_dtype(self, name):
        return self.trt.dtype


class Context:
    def __init__(self, trt):
        self.trt, self.shape, self.profiler, self.addresses = trt, None, None, {}

    def set_input_shape(self, name, shape):
        self.shape = shape
        return shape[0] <= 8

    def get_tensor_shape(self, name):
        return self.shape

    def set_tensor_address(self, name, address):
        self.addresses[name] = address
        return True

    def execute_async_v3(self, stream):
        self.trt.calls.append(("execute_async_v3",))
        for number, name in enumerate(self.trt.layers):
            if self.profiler is not None:
                self.profiler.report_layer_time(name, float(number + 1))
        return self.trt.runs


class FakeNvml:
    """Stands in for `pynvml`: a GPU whose clock falls from state to state."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self, clocks=(1500, 1500), driver=True):
        self.clocks, self.driver = list(clocks), driver

    def nvmlInit(self):
        if not self.driver:
            raise RuntimeError("NVML Shared Library Not Found")

    def nvmlShutdown(self):
        pass

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetName(self, handle):
        return b"NVIDIA A10"

    def nvmlSystemGetDriverVersion(self):
        return "580.65"

    def nvmlSystemGetCudaDriverVersion(self):
        return 13000

    def nvmlDeviceGetCudaComputeCapability(self, handle):
        return (8, 6)

    def nvmlDeviceGetClockInfo(self, handle, kind):
        return (self.clocks.pop(0) if len(self.clocks) > 1 else self.clocks[0]) if kind == self.NVML_CLOCK_SM else 6000

    def nvmlDeviceGetTemperature(self, handle, sensor):
        return 55

    def nvmlDeviceGetPowerUsage(self, handle):
        return 71234

    def nvmlDeviceGetPowerManagementLimit(self, handle):
        return 150000

    def nvmlDeviceGetEccMode(self, handle):
        raise RuntimeError("Not Supported")

    def nvmlDeviceGetMigMode(self, handle):
        return (0, 0)

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=24 << 30)

"""Runs an engine and times it with CUDA events. Tested against recorded fakes of the calls it makes, not run on a GPU."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxfix.bench.cuda import host_array
from onnxfix.bench.statistics import median
from onnxfix.errors import OnnxfixError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxfix.bench.cuda import Cuda
    from onnxfix.verify.aten import Array

HEADLINE = "computeMs"
_PROFILE_RUNS = 20


class RunError(OnnxfixError):
    """The runtime does not load or run the engine."""

    exit_code = 1


class TensorRTRunner:
    """One engine in one execution context, with its inputs on the device.

    A run is: copy inputs to the device, compute, copy outputs back; each part lies between two CUDA events.

    Args:
        trt: the module `tensorrt` or `tensorrt_rtx`.
        cuda: the CUDA runtime.
        data: the engine.
        feeds: inputs by name.
        graph: record the computation as a CUDA graph and launch that; off where the engine cannot be recorded.
        transfers: time the copies too.

    Raises:
        RunError: the engine is not for this GPU or release, or an input is missing or does not fit.
        CudaError: a call of the CUDA runtime failed.
    """

    def __init__(
        self, trt: Any, cuda: Cuda, data: bytes, feeds: Mapping[str, Array], *, graph: bool = True, transfers: bool = True
    ) -> None:
        self._trt = trt
        self._cuda = cuda
        self._transfers = transfers
        self._logger = trt.Logger(trt.Logger.ERROR)
        self._runtime = trt.Runtime(self._logger)
        self._engine = self._runtime.deserialize_cuda_engine(data)
        if self._engine is None:
            raise RunError("the runtime does not load the engine: it was built for another GPU or another release")
        self._context = self._engine.create_execution_context()
        if self._context is None:
            raise RunError("the runtime makes no execution context for the engine; GPU memory may be short")
        self._inputs: dict[str, Array] = {}
        self._results: dict[str, Array] = {}
        self._memory: dict[str, int] = {}
        self._pinned: list[Array] = []
        self._graph: Any = None
        self._stream = cuda.stream()
        self._events = [cuda.event() for _ in range(4)]
        try:
            self._place(feeds)
            self._compute()  # the first run allocates, and TensorRT-RTX compiles its kernels in it
            cuda.synchronize(self._stream)
            if graph:
                self._capture()
        except BaseException:
            self.close()
            raise

    @property
    def uses_graph(self) -> bool:
        """Whether a CUDA graph is launched."""
        return self._graph is not None

    def _place(self, feeds: Mapping[str, Array]) -> None:
        """Give every input and output of the engine its memory, and the inputs their values."""
        trt, engine, context = self._trt, self._engine, self._context
        names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        inputs = [name for name in names if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        for name in inputs:
            if name not in feeds:
                raise RunError(f"no value for input {name} of the engine")
            # A copy of its own: memory can be pinned only once, and builds of a model share the inputs.
            array = np.array(feeds[name], dtype=self._dtype(name), order="C")
            if not context.set_input_shape(name, array.shape):
                raise RunError(f"input {name}: the engine has no optimization profile for the shape {list(array.shape)}")
            self._inputs[name] = array
        for name in names:
            if name not in self._inputs:
                shape = tuple(context.get_tensor_shape(name))
                if -1 in shape:
                    raise RunError(f"output {name}: its shape depends on values, so there is no memory to give it")
                self._results[name] = host_array(shape, self._dtype(name))
        for name, array in {**self._inputs, **self._results}.items():
            self._cuda.pin(array)
            self._pinned.append(array)
            self._memory[name] = self._cuda.malloc(array.nbytes)
            context.set_tensor_address(name, self._memory[name])
        for name, array in self._inputs.items():
            self._cuda.to_device(self._memory[name], array, self._stream)

    def _dtype(self, name: str) -> np.dtype[Any]:
        kind = self._engine.get_tensor_dtype(name)
        try:
            dtype: np.dtype[Any] = np.dtype(self._trt.nptype(kind))
        except TypeError:  # bfloat16, FP8 and INT4 have none
            raise RunError(f"{name}: numpy has no {getattr(kind, 'name', kind)}, so its values cannot be given or read") from None
        return dtype

    def _compute(self) -> None:
        if self._graph is not None:
            self._cuda.launch(self._graph, self._stream)
        elif not self._context.execute_async_v3(self._stream):
            raise RunError("the runtime does not run the engine")

    def _capture(self) -> None:
        if not getattr(self._context, "is_stream_capturable", lambda stream: True)(self._stream):
            return
        self._cuda.begin_capture(self._stream)
        self._compute()
        self._graph = self._cuda.end_capture(self._stream)

    def run(self) -> dict[str, float]:
        """Run once: `h2dMs`, `computeMs`, `d2hMs`, their sum `latencyMs` by events; `enqueueMs`, `hostLatencyMs` by the host."""
        cuda, stream = self._cuda, self._stream
        start, copied, computed, end = self._events
        begin = time.perf_counter_ns()
        cuda.record(start, stream)
        if self._transfers:
            for name, array in self._inputs.items():
                cuda.to_device(self._memory[name], array, stream)
        cuda.record(copied, stream)
        enqueue = time.perf_counter_ns()
        self._compute()
        enqueued = time.perf_counter_ns()
        cuda.record(computed, stream)
        if self._transfers:
            for name, array in self._results.items():
                cuda.to_host(array, self._memory[name], stream)
        cuda.record(end, stream)
        cuda.synchronize(stream)
        done = time.perf_counter_ns()
        times = {"computeMs": cuda.elapsed(copied, computed), "enqueueMs": (enqueued - enqueue) / 1e6}
        if self._transfers:
            times["h2dMs"], times["d2hMs"] = cuda.elapsed(start, copied), cuda.elapsed(computed, end)
            times["latencyMs"] = times["h2dMs"] + times["computeMs"] + times["d2hMs"]
        times["hostLatencyMs"] = (done - begin) / 1e6
        return times

    def outputs(self) -> dict[str, Array]:
        """The outputs by name, of a run now."""
        self._compute()
        for name, array in self._results.items():
            self._cuda.to_host(array, self._memory[name], self._stream)
        self._cuda.synchronize(self._stream)
        return {name: array.copy() for name, array in self._results.items()}

    def profile(self) -> list[dict[str, Any]]:
        """The time of each layer over a few runs, without CUDA graph, with the names that trtexec gives."""
        times: dict[str, list[float]] = {}

        class Profiler(self._trt.IProfiler):  # type: ignore[name-defined, misc]
            def __init__(inner) -> None:  # noqa: N805  `self` is the runner
                self._trt.IProfiler.__init__(inner)

            def report_layer_time(inner, layer_name: str, ms: float) -> None:  # noqa: N805
                times.setdefault(layer_name, []).append(ms)

        self._context.profiler = Profiler()
        for _ in range(_PROFILE_RUNS):
            if not self._context.execute_async_v3(self._stream):
                raise RunError("the runtime does not run the engine under the profiler")
            self._cuda.synchronize(self._stream)
        total = sum(sum(values) for values in times.values())
        return [
            {
                "name": name,
                "timeMs": sum(values),
                "averageMs": sum(values) / len(values),
                "medianMs": median(values),
                "percentage": sum(values) / total * 100 if total else 0.0,
            }
            for name, values in times.items()
        ]

    def close(self) -> None:
        """Give back all memory, events and the stream."""
        cuda = self._cuda
        if self._graph is not None:
            cuda.destroy_graph(self._graph)
        for address in self._memory.values():
            cuda.free(address)
        for array in self._pinned:
            cuda.unpin(array)
        for event in self._events:
            cuda.destroy_event(event)
        cuda.destroy_stream(self._stream)
        self._memory, self._pinned, self._events, self._graph = {}, [], [], None

"""The path to the GPU, against recorded fakes of the calls it makes; nothing here was run on a GPU."""

import importlib.util

import numpy as np
import pytest

from onnxfix.bench import cuda as cuda_calls
from onnxfix.bench import gpu_state
from onnxfix.bench.cuda import Cuda, CudaError
from onnxfix.bench.tensorrt import RunError, TensorRTRunner
from onnxfix.errors import MissingToolError

from .fakes import FakeCuda, FakeNvml, FakeTensorRT

FEEDS = {"x": np.arange(8, dtype=np.float64).reshape(2, 4)}


def runner(fake, feeds=FEEDS, **options):
    trt = {name: options.pop(name) for name in ("dtype", "loads", "runs", "layers") if name in options}
    return TensorRTRunner(FakeTensorRT(fake.calls, **trt), Cuda(fake), b"engine", feeds, **options)


def test_a_run_lies_between_events_and_is_launched_as_a_graph():
    fake = FakeCuda()
    one = runner(fake)
    assert one.uses_graph
    fake.calls.clear()
    times = one.run()
    assert fake.names()[:8] == [
        "cudaEventRecord",
        "cudaMemcpyAsync",
        "cudaEventRecord",
        "cudaGraphLaunch",
        "cudaEventRecord",
        "cudaMemcpyAsync",
        "cudaEventRecord",
        "cudaStreamSynchronize",
    ]
    assert [call[1:] for call in fake.calls if call[0] == "cudaMemcpyAsync"] == [(32, "in"), (32, "out")]
    assert {name: times[name] for name in ("h2dMs", "computeMs", "d2hMs", "latencyMs")} == {
        "h2dMs": 2.0,
        "computeMs": 2.0,
        "d2hMs": 2.0,
        "latencyMs": 6.0,
    }
    assert 0 <= times["enqueueMs"] <= times["hostLatencyMs"]


def test_without_graph_and_transfers_only_the_computation_is_timed():
    fake = FakeCuda()
    one = runner(fake, graph=False, transfers=False)
    assert not one.uses_graph
    fake.calls.clear()
    assert set(one.run()) == {"computeMs", "enqueueMs", "hostLatencyMs"}
    assert "cudaMemcpyAsync" not in fake.names()
    assert "execute_async_v3" in fake.names()


def test_everything_is_given_back():
    fake = FakeCuda()
    one = runner(fake)
    assert fake.memory
    assert fake.pinned
    one.close()
    assert (fake.memory, fake.pinned) == ({}, set())
    names = fake.names()
    assert names.count("cudaEventCreate") == names.count("cudaEventDestroy") == 4
    assert names.count("cudaStreamCreate") == names.count("cudaStreamDestroy") == 1
    assert names.count("cudaGraphInstantiate") == names.count("cudaGraphExecDestroy") == 1


def test_outputs_are_copied_back_in_the_engines_type():
    outputs = runner(FakeCuda(), dtype=np.float16).outputs()
    assert (outputs["y"].shape, outputs["y"].dtype) == ((2, 4), np.float16)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loads": False}, "built for another GPU or another release"),
        ({"runs": False}, "does not run the engine"),
        ({"feeds": {}}, "no value for input x"),
        ({"feeds": {"x": np.zeros((9, 4))}}, r"no optimization profile for the shape \[9, 4\]"),
        ({"dtype": None}, "numpy has no None"),
    ],
)
def test_an_engine_that_cannot_run_says_why_and_leaves_nothing(options, said):
    fake = FakeCuda()
    with pytest.raises(RunError, match=said):
        runner(fake, **options)
    assert (fake.memory, fake.pinned) == ({}, set())


def test_a_failing_call_is_named():
    with pytest.raises(CudaError, match="cudaMalloc failed: cudaErrorMemoryAllocation") as caught:
        runner(FakeCuda("cudaMalloc"))
    assert caught.value.exit_code == 4


def test_layers_have_trtexecs_names():
    layers = runner(FakeCuda(), layers=("conv", "relu", "pool")).profile()
    assert [layer["name"] for layer in layers] == ["conv", "relu", "pool"]
    assert layers[1] == {"name": "relu", "timeMs": 40.0, "averageMs": 2.0, "medianMs": 2.0, "percentage": pytest.approx(100 / 3)}


def test_the_state_of_a_gpu_leaves_out_what_it_does_not_say():
    nvml = FakeNvml()
    assert gpu_state.gpu_state(nvml) == {
        "sm clock MHz": 1500,
        "memory clock MHz": 6000,
        "temperature C": 55,
        "power W": 71.2,
        "power limit W": 150.0,
        "mig": False,
    }
    assert gpu_state.gpu_facts(nvml) == {
        "name": "NVIDIA A10",
        "sm": "86",
        "driver": "580.65",
        "cuda": "13.0",
        "memory MiB": 24576,
    }
    assert gpu_state.gpu_state(FakeNvml(driver=False)) == gpu_state.gpu_state(None) == {}


@pytest.mark.parametrize(("clocks", "moved"), [((1500, 1480), False), ((1500, 1400), True), ((1500, 1600), True)])
def test_a_clock_that_moves_by_more_than_two_percent_counts_as_throttled(clocks, moved):
    nvml = FakeNvml(clocks)
    before, after = gpu_state.gpu_state(nvml), gpu_state.gpu_state(nvml)
    assert gpu_state.throttled(before, after) is moved
    assert not gpu_state.throttled({}, after)


def test_cuda_python_has_the_calls_that_are_made():
    if importlib.util.find_spec("cuda.bindings") is None:
        pytest.skip("cuda-python is not installed: pip install 'onnxfix[gpu]'")
    module = cuda_calls.runtime()
    assert [name for name in cuda_calls.CALLS if not hasattr(module, name)] == []
    assert set(cuda_calls.CALLS) == {name for name in dir(FakeCuda) if name.startswith("cuda") and name[4:5].isupper()} - {
        "cudaMemcpyKind",
        "cudaStreamCaptureMode",
    }
    assert hasattr(module.cudaMemcpyKind, "cudaMemcpyHostToDevice")
    assert hasattr(module.cudaStreamCaptureMode, "cudaStreamCaptureModeThreadLocal")


def test_nvidia_ml_has_the_calls_that_are_made():
    nvml = gpu_state.library()
    if nvml is None:
        pytest.skip("nvidia-ml-py is not installed: pip install 'onnxfix[gpu]'")
    assert [
        name for name in (*gpu_state.CALLS, "NVML_CLOCK_SM", "NVML_CLOCK_MEM", "NVML_TEMPERATURE_GPU") if not hasattr(nvml, name)
    ] == []


def test_cuda_python_that_is_missing_is_a_missing_tool(monkeypatch):
    monkeypatch.setattr(cuda_calls, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(MissingToolError, match=r"needs cuda-python.*pip install '\.\[gpu\]'"):
        cuda_calls.runtime()

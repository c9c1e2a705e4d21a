"""CPU time of whole processes, best of five, start of the interpreter included."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

NODES = 1000
ROUNDS = 5

pytestmark = pytest.mark.timing


@pytest.fixture
def seconds(tmp_path: Path) -> Callable[..., tuple[float, int]]:
    """Least CPU time (user and system) of `onnxfix ARGUMENTS` in seconds, and its exit code."""
    # As installed by pip, with compiled modules: where writing them is off, every start would compile the checkout's.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "compiled")

    def run(*arguments: str) -> tuple[float, int]:
        times, codes = [], set()
        for _ in range(1 + ROUNDS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                [sys.executable, "-m", "onnxfix", *arguments], stdout=subprocess.DEVNULL, check=False, env=environment
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            codes.add(done.returncode)
        (code,) = codes
        return min(times[1:]), code

    return run


@pytest.fixture
def large_model(tmp_path: Path) -> Path:
    """A residual network of 1,000 nodes with what old releases refuse: batch of any size, Resize, PRelu, unlisted initializers."""
    random = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def constant(name: str, array: np.ndarray) -> str:
        weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(op: str, *inputs: str, **attributes: object) -> str:
        output = f"value{len(nodes)}"
        nodes.append(helper.make_node(op, list(inputs), [output], f"{op}_{len(nodes)}", **attributes))
        return output

    x = "image"
    while len(nodes) < NODES - 4:
        weight = constant(f"weight{len(nodes)}", random.standard_normal((8, 8, 3, 3)))
        x = node("Add", node("Relu", node("Conv", x, weight, pads=[1, 1, 1, 1])), x)
    x = node("PRelu", x, constant("slope", np.full((8, 1, 1), 0.25)))
    x = node(
        "Resize", x, constant("roi", np.zeros(0)), constant("scales", np.array([1, 1, 2, 2])), mode="nearest", nearest_mode="floor"
    )
    x = node("Relu", x)
    x = node("Softmax", x, axis=1)
    assert len(nodes) == NODES
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 8, 64, 64])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", 8, 128, 128])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)
    onnx.checker.check_model(model)
    path = tmp_path / "large.onnx"
    onnx.save(model, path)
    return path


def test_help_takes_at_most_150_ms(seconds: Callable[..., tuple[float, int]], measured: Callable[[str], None]) -> None:
    taken, code = seconds("--help")
    measured(f"onnxfix --help: {taken:.3f} s CPU, best of {ROUNDS} (at most 0.15)")
    assert code == 0
    assert taken <= 0.15


def test_lint_of_1000_nodes_takes_at_most_600_ms(
    seconds: Callable[..., tuple[float, int]], measured: Callable[[str], None], large_model: Path
) -> None:
    taken, code = seconds("lint", str(large_model), "--target", "trt5.1")
    measured(f"onnxfix lint of {NODES} nodes: {taken:.3f} s CPU, best of {ROUNDS} (at most 0.6)")
    assert code == 1
    assert taken <= 0.6


def test_lint_for_all_releases_takes_at_most_three_times_as_long_as_for_one(
    seconds: Callable[..., tuple[float, int]], large_model: Path, measured: Callable[[str], None]
) -> None:
    one, _ = seconds("lint", str(large_model), "-t", "trt8.6")
    every, _ = seconds("lint", str(large_model), "-t", "all")
    measured(f"onnxfix lint of {NODES} nodes for all releases: {every / one:.2f} times one release (at most 3)")
    assert every <= 3 * one

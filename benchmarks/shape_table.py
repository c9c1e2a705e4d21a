"""How many of the shape computations that exporters write become constants: ours beside four other tools, in one run.

    python -m benchmarks.shape_table [--rows]

Twelve patterns (what `view`, `interpolate`, `expand`, attention heads, channel shuffle, padding, slicing and grids are exported
as), each with four kinds of inputs: all static, the batch dynamic, height and width dynamic, all three. A model counts where
every parameter of its Reshape, Resize, Slice, Expand, Pad, Range and ConstantOfShape nodes is a constant afterwards, and
onnxruntime gives the outputs of the original at three sizes. Ours are the two rewrites that `repair` uses, fold_parameter and
fold_constant, on every node rather than on nodes with a finding. `--rows` prints each model, with the parameters left, or `wrong`
or `failed`. A tool that is not installed is left out with a note.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rewrites._edit import EditLog, apply_changes, copy_model
from onnxfix.rewrites._region import Change, Decline, Names, Region

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PARAMETERS = {
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Pad": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
}
KINDS = {"static": (2, 6, 10), "batch": ("n", 6, 10), "height, width": (2, "h", "w"), "all": ("n", "h", "w")}
SIZES = {
    "static": [(2, 6, 10)],
    "batch": [(2, 6, 10), (1, 6, 10), (5, 6, 10)],
    "height, width": [(2, 6, 10), (2, 7, 9), (2, 16, 8)],
    "all": [(2, 6, 10), (1, 7, 9), (3, 16, 8)],
}
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


class Pattern:
    """A graph under construction; methods return the names of values."""

    def __init__(self, channels: int) -> None:
        self.channels = channels
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def op(self, op: str, *inputs: str, **attributes: object) -> str:
        """A node with one output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(op, list(inputs), [name], name=f"{op}_{len(self.nodes)}", **attributes))
        return name

    def ints(self, *values: int, scalar: bool = False) -> str:
        """A constant of integers."""
        return self._constant(np.array(values[0] if scalar else values, np.int64))

    def floats(self, *values: float, scalar: bool = False) -> str:
        """A constant of float32."""
        return self._constant(np.array(values[0] if scalar else values, np.float32))

    def weights(self, *shape: int) -> str:
        """A constant of seeded noise."""
        return self._constant(np.random.default_rng(0).standard_normal(shape).astype(np.float32))

    def _constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(onnx.numpy_helper.from_array(array, name))
        return name

    def size(self, value: str, axis: int) -> str:
        """`value.size(axis)`."""
        return self.op("Gather", self.op("Shape", value), self.ints(axis, scalar=True), axis=0)

    def shape(self, *entries: str | int) -> str:
        """A one-dimensional shape of computed and fixed entries."""
        parts = [self.ints(e) if isinstance(e, int) else self.op("Unsqueeze", e, axes=[0]) for e in entries]
        return self.op("Concat", *parts, axis=0)

    def head(self, value: str) -> str:
        """`value.shape[:2]`."""
        return self.op("Slice", self.op("Shape", value), self.ints(0), self.ints(2), self.ints(0))


def flatten(p: Pattern) -> str:
    """x.view(x.size(0), -1)."""
    return p.op("Reshape", "x", p.shape(p.size("x", 0), -1))


def upsample_by_floor(p: Pattern) -> str:
    """F.interpolate(x, scale_factor=8) of PyTorch 1.x: floor(size * 8.0)."""

    def eightfold(axis: int) -> str:
        product = p.op("Mul", p.op("Cast", p.size("x", axis), to=FLOAT), p.floats(8, scalar=True))
        return p.op("Cast", p.op("Floor", product), to=INT64)

    sizes = p.op("Concat", p.head("x"), p.shape(eightfold(2), eightfold(3)), axis=0)
    how = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    return p.op("Resize", "x", p.floats(), p.floats(), sizes, **how)


def like_another(p: Pattern) -> str:
    """F.interpolate(conv(x), size=x.shape[2:])."""
    half = p.op("Conv", "x", p.weights(4, p.channels, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    sizes = p.op("Concat", p.head(half), p.shape(p.size("x", 2), p.size("x", 3)), axis=0)
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return p.op("Resize", half, p.floats(), p.floats(), sizes, **how)


def heads(p: Pattern) -> str:
    """x.view(b, n, heads, d).transpose(1, 2), and back."""
    batch, height, width = (p.size("x", axis) for axis in (0, 2, 3))
    rows = p.op("Transpose", "x", perm=[0, 2, 3, 1])
    rows = p.op("Reshape", rows, p.shape(batch, p.op("Mul", height, width), p.channels))
    rows = p.op("MatMul", rows, p.weights(p.channels, p.channels))
    count = p.size(rows, 1)
    depth = p.op("Div", p.size(rows, 2), p.ints(3, scalar=True))
    split = p.op("Transpose", p.op("Reshape", rows, p.shape(p.size(rows, 0), count, 3, depth)), perm=[0, 2, 1, 3])
    back = p.op("Transpose", split, perm=[0, 2, 1, 3])
    return p.op("Reshape", back, p.shape(batch, count, p.op("Mul", p.size(back, 2), p.size(back, 3))))


def channel_shuffle(p: Pattern) -> str:
    """x.view(b, 2, c // 2, h, w).transpose(1, 2).view(b, -1, h, w)."""
    batch, channels, height, width = (p.size("x", axis) for axis in range(4))
    half = p.op("Div", channels, p.ints(2, scalar=True))
    split = p.op("Transpose", p.op("Reshape", "x", p.shape(batch, 2, half, height, width)), perm=[0, 2, 1, 3, 4])
    return p.op("Reshape", split, p.shape(batch, -1, height, width))


def expand_token(p: Pattern) -> str:
    """cat(token.expand(b, -1, -1), x): the -1 by ConstantOfShape, Equal and Where."""
    wanted = p.shape(p.size("x", 0), -1, -1)
    fill = onnx.helper.make_tensor("one", INT64, [1], [1])
    ones = p.op("ConstantOfShape", p.ints(3), value=fill)
    wanted = p.op("Where", p.op("Equal", wanted, p.op("Mul", ones, p.ints(-1, scalar=True))), ones, wanted)
    token = p.op("Expand", p.weights(1, 1, p.channels), wanted)
    rows = p.op("Reshape", p.op("Transpose", "x", perm=[0, 2, 3, 1]), p.shape(p.size("x", 0), -1, p.channels))
    return p.op("Concat", token, rows, axis=1)


def pad_to_multiple(p: Pattern) -> str:
    """Pad the height to a multiple of 8."""
    height, eight = p.size("x", 2), p.ints(8, scalar=True)
    whole = p.op("Mul", p.op("Div", p.op("Add", height, p.ints(7, scalar=True)), eight), eight)
    return p.op("Pad", "x", p.shape(0, 0, 0, 0, 0, 0, p.op("Sub", whole, height), 0), p.floats(0, scalar=True))


def halves(p: Pattern) -> str:
    """a, b = x.chunk(2, 1); a * sigmoid(b)."""
    half = p.op("Div", p.size("x", 1), p.ints(2, scalar=True))
    middle, end = p.shape(half), p.shape(p.op("Mul", half, p.ints(2, scalar=True)))
    left = p.op("Slice", "x", p.ints(0), middle, p.ints(1))
    return p.op("Mul", left, p.op("Sigmoid", p.op("Slice", "x", middle, end, p.ints(1))))


def last_rows(p: Pattern) -> str:
    """x[:, :, h - 2:h]."""
    height = p.size("x", 2)
    start = p.op("Sub", height, p.ints(2, scalar=True))
    return p.op("Slice", "x", p.shape(start), p.shape(height), p.ints(2))


def scales_by_ratio(p: Pattern) -> str:
    """Opset 10: scales = (1, 1, 2 * h / h, 2 * w / w)."""

    def ratio(axis: int) -> str:
        size = p.op("Cast", p.size("x", axis), to=FLOAT)
        return p.op("Unsqueeze", p.op("Div", p.op("Mul", size, p.floats(2, scalar=True)), size), axes=[0])

    return p.op("Resize", "x", p.op("Concat", p.floats(1, 1), ratio(2), ratio(3), axis=0), mode="nearest")


def grid(p: Pattern) -> str:
    """Add arange(w).expand(h, w) to x."""
    height, width = p.size("x", 2), p.size("x", 3)
    row = p.op("Cast", p.op("Range", p.ints(0, scalar=True), width, p.ints(1, scalar=True)), to=FLOAT)
    return p.op("Add", "x", p.op("Expand", p.op("Unsqueeze", row, axes=[0]), p.shape(height, width)))


def detection_head(p: Pattern) -> str:
    """conv(x).view(b, 3, 5, h, w).permute(0, 1, 3, 4, 2).view(b, -1, 5)."""
    made = p.op("Conv", "x", p.weights(15, p.channels, 1, 1))
    batch, height, width = (p.size(made, axis) for axis in (0, 2, 3))
    split = p.op("Transpose", p.op("Reshape", made, p.shape(batch, 3, 5, height, width)), perm=[0, 1, 3, 4, 2])
    return p.op("Reshape", split, p.shape(batch, -1, 5))


PATTERNS: tuple[tuple[Callable[[Pattern], str], int, int], ...] = (
    (flatten, 3, 11),
    (upsample_by_floor, 3, 11),
    (like_another, 3, 11),
    (heads, 12, 11),
    (channel_shuffle, 4, 11),
    (expand_token, 12, 11),
    (pad_to_multiple, 3, 11),
    (halves, 4, 11),
    (last_rows, 3, 11),
    (scales_by_ratio, 3, 10),
    (grid, 3, 11),
    (detection_head, 3, 11),
)


def build(pattern: Callable[[Pattern], str], channels: int, opset: int, kind: str) -> onnx.ModelProto:
    """The model of one pattern; its output has a rank and named dimensions, as real models have."""
    p = Pattern(channels)
    result = pattern(p)
    batch, height, width = KINDS[kind]
    x = onnx.helper.make_tensor_value_info("x", FLOAT, [batch, channels, height, width])
    y = onnx.helper.make_tensor_value_info(result, FLOAT, None)
    graph = onnx.helper.make_graph(p.nodes, pattern.__name__, [x], [y], p.tensors)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)
    rank = run(model, feeds(kind, channels)[0]).ndim
    named = [f"out{axis}" for axis in range(rank)]
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info(result, FLOAT, named))
    return model


def feeds(kind: str, channels: int) -> list[dict[str, np.ndarray]]:
    """Inputs at the sizes of the kind."""
    random = np.random.default_rng(1)
    return [{"x": random.standard_normal((n, channels, h, w)).astype(np.float32)} for n, h, w in SIZES[kind]]


def run(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The first output, by onnxruntime without optimisation."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, inputs)[0]
    return result


def parameters_left(model: onnx.ModelProto) -> int:
    """How many parameter inputs are still computed."""
    constant = {tensor.name for tensor in model.graph.initializer} | {""}
    constant |= {node.output[0] for node in model.graph.node if node.op_type == "Constant"}
    return sum(
        slot < len(node.input) and node.input[slot] not in constant
        for node in model.graph.node
        for slot in PARAMETERS.get(node.op_type, ())
    )


def ours(model: onnx.ModelProto) -> onnx.ModelProto:
    """fold_parameter and fold_constant on every node, until nothing changes."""
    from onnxfix.rewrites import fold_constant, fold_parameter
    from onnxfix.targets import find_target

    target = find_target("trt7.1")
    result = copy_model(model)

    def one() -> bool:
        facts, names = Facts(ModelView(result)), Names(result)
        for node in facts.view.nodes():
            scope = facts.of(node.scope)
            for module in (fold_parameter, fold_constant):
                if module is fold_parameter and node.op_type not in PARAMETERS:
                    continue
                region = Region(node.proto, node.scope.path, node.index, scope, node.scope.opsets, names)
                answer: list[Change] | Change | Decline = module.rewrite(region, scope, target)
                if not isinstance(answer, Decline):
                    changes = answer if isinstance(answer, list) else [answer]
                    apply_changes(result, [(change, "") for change in changes], EditLog())
                    return True
        return False

    while one():
        pass
    return result


def onnxsim(model: onnx.ModelProto) -> onnx.ModelProto:
    """The default passes of onnxsim."""
    import onnxsim as tool

    result: onnx.ModelProto = tool.simplify(model)[0]
    return result


def onnxslim(model: onnx.ModelProto) -> onnx.ModelProto:
    """The default passes of onnxslim."""
    import onnxslim as tool

    result: onnx.ModelProto = tool.slim(model)
    return result


def polygraphy(model: onnx.ModelProto) -> onnx.ModelProto:
    """What `polygraphy surgeon sanitize --fold-constants` does."""
    from polygraphy.backend.onnx import fold_constants, infer_shapes

    result: onnx.ModelProto = fold_constants(infer_shapes(model))
    return result


def onnxruntime(model: onnx.ModelProto) -> onnx.ModelProto:
    """The graph optimisation of onnxruntime at the level "basic"."""
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        options.log_severity_level = 4
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


TOOLS = {
    "onnxfix": ours,
    "onnxslim": onnxslim,
    "onnxsim": onnxsim,
    "polygraphy": polygraphy,
    "onnxruntime": onnxruntime,
}


def outcome(tool: Callable[[onnx.ModelProto], onnx.ModelProto], model: onnx.ModelProto, inputs: list[dict[str, np.ndarray]]) -> str:
    """The number of parameters left, `wrong` where an output differs, `failed` where the tool or its result does not run."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            result = tool(copy_model(model))
            for feed in inputs:
                before, after = run(model, feed), run(result, feed)
                if before.shape != after.shape or not np.allclose(before, after, rtol=1e-5, atol=1e-5):
                    return "wrong"
    except Exception:  # whatever another tool raises is its row's outcome
        return "failed"
    return str(parameters_left(result))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shape_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", action="store_true", help="print every model too")
    given = parser.parse_args(arguments)
    tools = {}
    for name, tool in TOOLS.items():
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{name}: left out, not installed ({error})", file=sys.stderr)
        else:
            tools[name] = tool
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    results: dict[str, list[str]] = {name: [] for name in tools}
    if given.rows:
        print(f"{'pattern':18}{'dynamic':15}{'before':>7}" + "".join(f"{name:>13}" for name in tools))
    for pattern, channels, opset in PATTERNS:
        for kind in KINDS:
            model, inputs = build(pattern, channels, opset, kind), feeds(kind, channels)
            for name, tool in tools.items():
                results[name].append(outcome(tool, model, inputs))
            if given.rows:
                cells = "".join(f"{results[name][-1]:>13}" for name in tools)
                print(f"{pattern.__name__:18}{kind:15}{parameters_left(model):>7}{cells}")
    print(f"of {len(PATTERNS) * len(KINDS)} models{'all constant':>14}{'wrong':>8}{'failed':>8}")
    for name, cells in results.items():
        print(f"{name:12}{cells.count('0'):>16}{cells.count('wrong'):>8}{cells.count('failed'):>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

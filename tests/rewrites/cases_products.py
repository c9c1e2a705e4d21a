"""Products of matrices, grids and recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cases import F32, ROUNDING, Case, Draw, array, dims, model_of, pick, serves, whole
from .test_places import EQUATIONS

if TYPE_CHECKING:
    import onnx


@serves("gemm_plain", "gemm_to_matmul")
def gemm(draw: Draw, name: str) -> Case:
    rows, inner, width = (whole(draw, 1, 4) for _ in range(3))
    flips = pick(draw, (0, 0), (1, 0), (0, 1))
    feeds = {
        "x": array(draw, (inner, rows) if flips[0] else (rows, inner)),
        "w": array(draw, (width, inner) if flips[1] else (inner, width)),
    }
    if pick(draw, True, False):
        feeds["c"] = array(draw, pick(draw, (width,), (rows, width), (1,), ()))
    names = list(feeds)
    constants = {key: feeds.pop(key) for key in pick(draw, ("w", "c"), ()) if key in feeds}
    factors = pick(draw, {}, {"alpha": 0.5}, {"beta": 2.0}, {"alpha": 0.25, "beta": 0.5})
    model = model_of(
        "Gemm", names, feeds, opset=pick(draw, 11, 13), constants=constants, transA=flips[0], transB=flips[1], **factors
    )
    return Case(model, feeds, ROUNDING)


@serves("matmul_constant_rank")
def constant_factor(draw: Draw, name: str) -> Case:
    inner = whole(draw, 1, 4)
    x = array(draw, (*dims(draw, 1, 3), inner))
    value = array(draw, (*[1] * whole(draw, 0, 2), inner, whole(draw, 1, 3)))
    constants = {"k": value}
    if x.ndim > 2 and pick(draw, True, False):
        constants = {"k": array(draw, (whole(draw, 1, 3), x.shape[-2]))}
        return Case(model_of("MatMul", ["k", "x"], {"x": x}, opset=13, constants=constants), {"x": x}, ROUNDING)
    if x.ndim == 2:
        constants = {"k": value.reshape(value.shape[-2:])}
    return Case(model_of("MatMul", ["x", "k"], {"x": x}, opset=9, constants=constants), {"x": x}, ROUNDING)


@serves("einsum_to_matmul")
def by_letters(draw: Draw, name: str) -> Case:
    equation, shapes = pick(draw, *EQUATIONS)
    feeds = {f"x{number}": array(draw, shape) for number, shape in enumerate(shapes)}
    expected = np.einsum(equation, *(value.astype(np.float64) for value in feeds.values()))
    model = model_of("Einsum", list(feeds), feeds, opset=12, equation=equation, kinds=[(F32, expected.ndim)])
    return Case(model, feeds, 1e-5, reference={"y": np.asarray(expected, np.float32)})


@serves("affine_grid_to_matmul")
def affine(draw: Draw, name: str) -> Case:
    axes = pick(draw, 2, 3)
    size = np.array([whole(draw, 1, 2), 3, *(whole(draw, 1, 4) for _ in range(axes))])
    theta = array(draw, (int(size[0]), axes, axes + 1))
    model = model_of(
        "AffineGrid",
        ["x", "s"],
        {"x": theta},
        opset=20,
        ir=9,
        constants={"s": size},
        kinds=[(F32, axes + 2)],
        align_corners=pick(draw, 0, 1),
    )
    return Case(model, {"x": theta}, 1e-5)


@serves("grid_sample_to_gather")
def sampled(draw: Draw, name: str) -> Case:
    axes = pick(draw, 2, 2, 3)
    shape = (whole(draw, 1, 2), whole(draw, 1, 2), *(whole(draw, 2, 4) for _ in range(axes)))
    places = (shape[0], *(whole(draw, 1, 3) for _ in range(axes)), axes)
    random = np.random.default_rng(whole(draw, 0, 999))
    feeds = {"x": array(draw, shape), "g": random.uniform(-2.3, 2.3, places).astype(np.float32)}
    opset = 20 if axes == 3 else pick(draw, 16, 20)
    mode = pick(draw, "nearest", "linear" if opset == 20 else "bilinear")
    more = {"mode": mode, "padding_mode": pick(draw, "zeros", "border", "reflection"), "align_corners": pick(draw, 0, 1)}
    return Case(model_of("GridSample", ["x", "g"], feeds, opset=opset, ir=9, **more), feeds, 1e-5, target="trt8.0")


@serves("schema_body")
def function_body(draw: Draw, name: str) -> Case:
    op, shapes, opset, more = pick(
        draw,
        ("HardSwish", [(2, 3)], 14, {}),
        ("Celu", [(2, 3)], 12, {"alpha": 2.0}),
        ("MeanVarianceNormalization", [(2, 3, 2, 2)], 13, {}),
        ("LogSoftmax", [(2, 3)], 13, {}),
        ("ThresholdedRelu", [(2, 3)], 10, {}),
        ("LayerNormalization", [(2, 3), (3,)], 17, {}),
        ("Gelu", [(2, 3)], 20, {}),
        ("Range", None, 11, {}),
    )
    if shapes is None:
        op, shapes, opset, more = "ReduceSumSquare", [(2, 3)], 18, {}
    feeds = {f"x{number}": array(draw, shape) for number, shape in enumerate(shapes)}
    return Case(model_of(op, list(feeds), feeds, opset=opset, ir=9, **more), feeds, 1e-4, target="trt7.1")


def _layer(draw: Draw, *, state: bool) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    op = pick(draw, "LSTM", "GRU", "RNN")
    direction, layout = pick(draw, "forward", "reverse", "bidirectional"), 0
    directions, gates = (2 if direction == "bidirectional" else 1), {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    steps, batch, width, hidden = whole(draw, 1, 4), whole(draw, 1, 2), whole(draw, 1, 3), whole(draw, 1, 3)
    # large weights make a last bit larger with every step
    shapes = {
        "w": (directions, gates * hidden, width),
        "r": (directions, gates * hidden, hidden),
        "b": (directions, 2 * gates * hidden),
    }
    constants = {key: array(draw, shape).clip(-2, 2) for key, shape in shapes.items()}
    # gates that large data close leave outputs near 0, of which onnxruntime has few digits right
    feeds = {"x": array(draw, (steps, batch, width)).clip(-3, 3)}
    names = ["x", "w", "r", "b", "", "h", "c"][: 7 if op == "LSTM" else 6]
    for key in names[5:]:
        if state:
            feeds[key] = array(draw, (directions, batch, hidden))
        else:
            constants[key] = np.zeros((directions, batch, hidden), np.float32)
    if pick(draw, True, False):
        names[4] = "l"
        constants["l"] = np.full(batch, steps, np.int32)
    outputs = ["y", "yh", "yc"][: 3 if op == "LSTM" else 2]
    model = model_of(
        op, names, feeds, opset=14, constants=constants, outputs=outputs, hidden_size=hidden, direction=direction, layout=layout
    )
    return model, feeds


@serves("unroll_recurrent")
def recurrent(draw: Draw, name: str) -> Case:
    model, feeds = _layer(draw, state=pick(draw, True, False))
    return Case(model, feeds, 1e-5)


@serves("drop_zero_state")
def zero_state(draw: Draw, name: str) -> Case:
    model, feeds = _layer(draw, state=False)
    return Case(model, feeds, target="trt8.6")

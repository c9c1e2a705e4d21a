"""Reductions, normalisations, shares and sums along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import BUT_BRANCH, F32, F64, I32, I64, ROUNDING, Case, Draw, array, dims, model_of, pick, serves, whole

MICROSOFT = "com.microsoft"


def _normal(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    """Without mean, over the deviation, in float64: onnxruntime's own differ from it by more than ours."""
    centred = x.astype(np.float64) - x.mean(axes, dtype=np.float64, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon))


@serves("instance_norm_to_mean")
def instances(draw: Draw, name: str) -> Case:
    shape = dims(draw, 3, 5)
    feeds = {"x": array(draw, shape), "s": array(draw, shape[1:2]), "b": array(draw, shape[1:2])}
    epsilon, tail = pick(draw, 1e-5, 1e-2), (-1,) + (1,) * (len(shape) - 2)
    y = _normal(feeds["x"], tuple(range(2, len(shape))), epsilon) * feeds["s"].reshape(tail) + feeds["b"].reshape(tail)
    constants = {key: feeds.pop(key) for key in "sb"} if pick(draw, True, False) else {}
    model = model_of("InstanceNormalization", ["x", "s", "b"], feeds, opset=pick(draw, 9, 13), constants=constants, epsilon=epsilon)
    return Case(model, feeds, 1e-4, reference={"y": y.astype(np.float32)})


@serves("layer_norm_to_mean")
def layers(draw: Draw, name: str) -> Case:
    shape = dims(draw, 1, 4, 5)
    axis = whole(draw, -len(shape), len(shape) - 1)
    dtype = pick(draw, F32, F32, F64)
    feeds = {"x": array(draw, shape, dtype)}
    constants = {key: array(draw, shape[axis:], dtype) for key in ("s", "b")[: whole(draw, 1, 2)]}
    outputs = ["y", "mean", "inverse"][: whole(draw, 1, 3)] if dtype == F32 else ["y"]
    model = model_of("LayerNormalization", ["x", *constants], feeds, opset=17, constants=constants, outputs=outputs, axis=axis)
    return Case(model, feeds, 1e-4)


@serves("rms_norm_to_mean")
def root_mean_squares(draw: Draw, name: str) -> Case:
    shape = dims(draw, 1, 4, 5)
    axis = whole(draw, -len(shape), len(shape) - 1)
    x, scale = array(draw, shape), array(draw, shape[axis:])
    model = model_of("RMSNormalization", ["x", "s"], {"x": x}, opset=23, ir=10, constants={"s": scale}, axis=axis)
    wide = x.astype(np.float64)
    axes = tuple(range(axis % len(shape), len(shape)))
    y = wide / np.sqrt((wide**2).mean(axes, keepdims=True) + 1e-5) * scale
    return Case(model, {"x": x}, 1e-5, reference={"y": y.astype(np.float32)}, places=BUT_BRANCH)


@serves("group_norm_to_mean")
def groups(draw: Draw, name: str) -> Case:
    groups, size = whole(draw, 1, 3), whole(draw, 1, 2)
    opset = pick(draw, 18, 21)
    x = array(draw, (2, groups * size, *dims(draw, 1, 3)))
    length = groups if opset == 18 else groups * size
    constants = {"s": array(draw, (length,)), "b": array(draw, (length,))}
    model = model_of(
        "GroupNormalization",
        ["x", "s", "b"],
        {"x": x},
        opset=opset,
        ir=10,
        constants=constants,
        num_groups=groups,
        kinds=[(F32, x.ndim)],
    )
    return Case(model, {"x": x}, 1e-4)


@serves("mean_variance_to_mean")
def mean_and_variance(draw: Draw, name: str) -> Case:
    x, axes = array(draw, dims(draw, 4, 4)), pick(draw, [0, 2, 3], [1, 3])
    wide = x.astype(np.float64)
    centred = wide - wide.mean(tuple(axes), keepdims=True)
    # onnxruntime takes the variance as E[x*x] - E[x]^2, which may come out below 0
    y = centred / (np.sqrt((centred**2).mean(tuple(axes), keepdims=True)) + 1e-9)
    model = model_of("MeanVarianceNormalization", ["x"], {"x": x}, opset=13, axes=axes)
    return Case(model, {"x": x}, 1e-4, reference={"y": y.astype(np.float32)}, places=BUT_BRANCH)


@serves("lp_norm_to_reduce")
def norms(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 4))
    return Case(
        model_of("LpNormalization", ["x"], {"x": x}, opset=9, axis=whole(draw, -x.ndim, x.ndim - 1), p=pick(draw, 1, 2)),
        {"x": x},
        ROUNDING,
    )


@serves("batch_norm_to_scale")
def batch_norm(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 2, 5))
    constants = {key: array(draw, x.shape[1:2], positive=key == "v") for key in "sbmv"}
    model = model_of("BatchNormalization", ["x", *"sbmv"], {"x": x}, opset=pick(draw, 9, 15), constants=constants, epsilon=1e-3)
    return Case(model, {"x": x}, 1e-5)


@serves("batch_norm_to_mean")
def batch_statistics(draw: Draw, name: str) -> Case:
    x = array(draw, (2, *dims(draw, 1, 4)))
    feeds = {"x": x, **{key: array(draw, x.shape[1:2], positive=key == "v") for key in "sbmv"}}
    outputs = ["y", "running_mean", "running_var"]
    model = model_of(
        "BatchNormalization",
        list(feeds),
        feeds,
        opset=15,
        outputs=outputs,
        kinds=[(F32, x.ndim), (F32, 1), (F32, 1)],
        training_mode=1,
        momentum=0.8,
    )
    return Case(model, feeds, 1e-4)


@serves("skip_layer_norm_to_mean")
def skip_layers(draw: Draw, name: str) -> Case:
    shape = (2, whole(draw, 1, 3), whole(draw, 2, 6))
    feeds = {"x": array(draw, shape), "s": array(draw, shape)}
    constants = {key: array(draw, shape[-1:]) for key in "gbi"[: whole(draw, 1, 3)]}
    outputs = pick(draw, ["y"], ["y", "", "", "t"])
    more: dict[str, Any] = {"domain": MICROSOFT, "epsilon": 1e-5, "kinds": [(F32, 3)] * (1 if len(outputs) == 1 else 2)}
    model = model_of(
        "SkipLayerNormalization", ["x", "s", *constants], feeds, opset=17, constants=constants, outputs=outputs, **more
    )
    return Case(model, feeds, 1e-4)


REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")


@serves("drop_noop_reduction")
def reductions_of_nothing(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3))
    axes = np.array(pick(draw, [], [x.ndim - 1], [0]), np.int64)
    model = model_of(pick(draw, *REDUCTIONS), ["x", "axes"], {"x": x}, opset=18, constants={"axes": axes}, noop_with_empty_axes=1)
    return Case(model, {"x": x}, ROUNDING, target="trt8.6")


@serves("logsumexp_stable")
def logarithms_of_sums(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 4)) * np.float32(pick(draw, 1, 10))
    axis = whole(draw, -x.ndim, x.ndim - 1)
    if pick(draw, True, False):
        return Case(model_of("LogSoftmax", ["x"], {"x": x}, opset=13, axis=axis), {"x": x}, ROUNDING)
    keep = pick(draw, 0, 1)
    if pick(draw, True, False):
        model = model_of("ReduceLogSumExp", ["x"], {"x": x}, opset=pick(draw, 11, 13), axes=[axis], keepdims=keep)
    else:
        model = model_of("ReduceLogSumExp", ["x", "a"], {"x": x}, opset=18, constants={"a": np.array([axis])}, keepdims=keep)
    return Case(model, {"x": x}, ROUNDING)


@serves("softmax_to_flat")
def shares_of_several_axes(draw: Draw, name: str) -> Case:
    op = pick(draw, "LogSoftmax", "Softmax", "Hardmax")
    x = array(draw, dims(draw, 2, 4), delicate=op == "Hardmax")
    if op == "Hardmax":
        x = np.nan_to_num(x)
    open_dims = {"x": ("n", *x.shape[1:])} if pick(draw, True, False) else None
    return Case(model_of(op, ["x"], {"x": x}, opset=pick(draw, 9, 11), open_dims=open_dims, axis=1), {"x": x}, ROUNDING)


@serves("softmax_to_last")
def shares_along_the_last(draw: Draw, name: str) -> Case:
    op = pick(draw, "LogSoftmax", "Softmax", "Hardmax")
    x = array(draw, dims(draw, 1, 4))
    axis = whole(draw, -x.ndim, x.ndim - 2) if x.ndim > 1 else -1
    return Case(model_of(op, ["x"], {"x": x}, opset=13, axis=axis), {"x": x}, ROUNDING)


@serves("hardmax_to_gather")
def first_maxima(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 4))
    axis = whole(draw, -x.ndim, x.ndim - 1)
    opset = pick(draw, 13, 11)
    return Case(model_of("Hardmax", ["x"], {"x": x}, opset=opset, axis=axis if opset == 13 else x.ndim - 1), {"x": x})


@serves("argmax_to_first")
def last_of_equals(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 4))
    return Case(
        model_of(
            pick(draw, "ArgMax", "ArgMin"),
            ["x"],
            {"x": x},
            opset=pick(draw, 12, 13),
            axis=whole(draw, -x.ndim, x.ndim - 1),
            keepdims=pick(draw, 0, 1),
            select_last_index=1,
        ),
        {"x": x},
    )


@serves("argmax_to_equal")
def places_of_integers(draw: Draw, name: str) -> Case:
    dtype = pick(draw, I32, I64)
    x = array(draw, dims(draw, 1, 3), dtype) // pick(draw, 1, 50) + dtype.type(pick(draw, 0, 2**30))
    axis, keep = whole(draw, -x.ndim, x.ndim - 1), pick(draw, 0, 1)
    model = model_of(pick(draw, "ArgMax", "ArgMin"), ["x"], {"x": x}, opset=pick(draw, 11, 13), axis=axis, keepdims=keep)
    return Case(model, {"x": x}, target="trt8.6")


@serves("topk_to_largest")
def smallest(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3, 5))
    # without ties, whose order ONNX leaves open
    x = (x + np.arange(x.size, dtype=np.float32).reshape(x.shape) * np.float32(200)).astype(np.float32)
    axis = whole(draw, -x.ndim, x.ndim - 1)
    k = np.array([whole(draw, 1, x.shape[axis])])
    model = model_of("TopK", ["x", "k"], {"x": x}, opset=11, constants={"k": k}, outputs=["y", "i"], axis=axis, largest=0)
    return Case(model, {"x": x})


@serves("cumsum_to_matmul")
def running_sums(draw: Draw, name: str) -> Case:
    shape = (*dims(draw, 0, 3), whole(draw, 1, 6))
    x = array(draw, shape)
    axis = np.array(whole(draw, -x.ndim, x.ndim - 1))
    model = model_of(
        "CumSum",
        ["x", "a"],
        {"x": x},
        opset=11,
        constants={"a": axis},
        exclusive=pick(draw, 0, 1),
        reverse=pick(draw, 0, 1),
    )
    return Case(model, {"x": x}, ROUNDING)


@serves("dft_to_matmul")
def transforms(draw: Draw, name: str) -> Case:
    if pick(draw, True, False):
        x = array(draw, (2, whole(draw, 8, 20)))
        constants = {"step": np.array(whole(draw, 1, 4)), "length": np.array(whole(draw, 2, 8))}
        names = ["x", "step", "", "length"]
        model = model_of("STFT", names, {"x": x}, opset=17, constants=constants, kinds=[(F32, 4)], onesided=pick(draw, 0, 1))
        return Case(model, {"x": x}, 1e-5)
    x = array(draw, (2, whole(draw, 2, 9), pick(draw, 1, 2)))
    more = pick(draw, {}, {"inverse": 1}, {"onesided": 1} if x.shape[-1] == 1 else {})
    return Case(model_of("DFT", ["x"], {"x": x}, opset=17, kinds=[(F32, 3)], axis=1, **more), {"x": x}, 1e-5)

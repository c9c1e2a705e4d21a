"""Runs one rewrite on one node of a small model, outside the repair loop, and compares with onnxruntime."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
import onnx.parser

from onnxfix.api import RepairOptions, repair_model
from onnxfix.model.facts import Facts
from onnxfix.model.load import LoadedModel, parse_model, serialize
from onnxfix.model.view import ModelView
from onnxfix.results import RepairReport
from onnxfix.rewrites import opset_move
from onnxfix.rewrites._edit import EditLog, apply_changes, copy_model
from onnxfix.rewrites._passes import Edit, Request
from onnxfix.rewrites._region import Decline, Names, Region
from onnxfix.rewrites.catalogue import REWRITES, Applicability
from onnxfix.targets import find_target

Arrays = dict[str, np.ndarray]


def parse(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def one_node(
    op: str,
    inputs: Sequence[str],
    shapes: Mapping[str, tuple[object, ...]],
    *,
    opset: int,
    constants: Mapping[str, np.ndarray] | None = None,
    dtype: int = onnx.TensorProto.FLOAT,
    out_dtype: int | None = None,
    domain: str = "",
    outputs: Sequence[str] = ("y",),
    out_rank: int | None = None,
    ir: int = 8,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of the single node `node`; outputs have the rank of the first input, or `out_rank`, and named dimensions."""
    rank = out_rank if out_rank is not None else len(next(iter(shapes.values())))
    node = onnx.helper.make_node(op, list(inputs), list(outputs), name="node", domain=domain, **attributes)
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info(name, dtype, shape) for name, shape in shapes.items()],
        [
            onnx.helper.make_tensor_value_info(name, out_dtype or dtype, [f"{name}{axis}" for axis in range(rank)])
            for name in outputs
            if name
        ],
        [onnx.numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    imports = [onnx.helper.make_opsetid("", opset)]
    if domain:
        imports.append(onnx.helper.make_opsetid(domain, 1))
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=ir)


def rewrite(model: onnx.ModelProto, name: str, *, node: str = "node", target: str = "trt5.1") -> onnx.ModelProto:
    """The model after rewrite `name` of the node called `node`; AssertionError with the reason where it declines."""
    answer = ask(model, name, node=node, target=target)
    assert not isinstance(answer, str), f"{name} declines: {answer}"
    return answer


def ask(model: onnx.ModelProto, name: str, *, node: str = "node", target: str = "trt5.1") -> onnx.ModelProto | str:
    """As `rewrite`, but the reason where the rewrite declines."""
    view = ModelView(model)
    facts = Facts(view)
    found = next(item for item in view.nodes() if item.proto.name == node)
    scope = facts.of(found.scope)
    region = Region(found.proto, found.scope.path, found.index, scope, found.scope.opsets, Names(model))
    answer = importlib.import_module(f"onnxfix.rewrites.{name}").rewrite(region, scope, find_target(target))
    if isinstance(answer, Decline):
        return answer.reason
    changes = answer if isinstance(answer, list) else [answer if answer is not None else region.change()]
    result = copy_model(model)
    apply_changes(result, [(change, "TEST") for change in changes], EditLog())
    check(result)
    return result


def run_pass(model: onnx.ModelProto, name: str, *values: str, target: str = "trt5.1") -> onnx.ModelProto:
    """The model after the pass `name` over it, asked for because of `values`; AssertionError with the reason where it declines."""
    module = importlib.import_module(f"onnxfix.rewrites.{name}")
    request = Request(Facts(ModelView(model)), values, "TEST", (find_target(target),))
    result = copy_model(model)
    answer = module.check(request) or module.run(result, request, Edit(ModelView(result), Names(model), EditLog(), "TEST"))
    assert answer is None, f"{name} declines: {answer}"
    check(result)
    return result


def lower(model: onnx.ModelProto, low: int, *, target: str = "trt10.0", rewrites: bool = True) -> onnx.ModelProto | str:
    """The whole model in opset `low`, or why it cannot follow; without the catalogue's rewrites where they are not wanted."""
    result = copy_model(model)
    known = REWRITES if rewrites else {"fold_constant": REWRITES["fold_constant"]}
    allow = Applicability.EQUIVALENT if rewrites else Applicability.EXACT
    with patch.object(opset_move, "REWRITES", known):
        facts, names = Facts(ModelView(model)), Names(model)
        answer = opset_move.move(result, facts, low, "TEST", names, EditLog(), find_target(target), allow)
    if isinstance(answer, Decline):
        return answer.reason
    check(result)
    return result


def check(model: onnx.ModelProto) -> None:
    """The checker's opinion, with types and shapes, where all domains are its own."""
    domains = {item.domain for item in model.opset_import} - {"", "ai.onnx", "ai.onnx.ml"}
    onnx.checker.check_model(model, full_check=not domains)


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def run(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> Arrays:
    """onnxruntime on the model as it is written: CPU, no optimisation."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_prepacking", "1")  # packed constants are multiplied by another kernel
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, {name: np.array(value) for name, value in feeds.items()}), strict=True))


def noise(shape: Sequence[int], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(tuple(shape)).astype(dtype)


def same_bits(left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> None:
    """Both hold equal arrays, to the bit save for the sign of zero and the payload of NaN."""
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype
        np.testing.assert_array_equal(right[name], array, err_msg=name, strict=True)


def error(left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> float:
    """The largest absolute difference over the largest magnitude of the output."""
    assert left.keys() == right.keys()
    worst = 0.0
    for name, array in left.items():
        assert (array.shape, array.dtype) == (right[name].shape, right[name].dtype)
        wide = array.astype(np.float64)
        largest = np.abs(wide).max(initial=0.0)
        worst = max(worst, float(np.abs(wide - right[name].astype(np.float64)).max(initial=0.0) / (largest or 1.0)))
    return worst


def load(model: onnx.ModelProto | bytes, folder: Path = Path("/nonexistent")) -> LoadedModel:
    """As if read from a file."""
    data = model if isinstance(model, bytes) else serialize(model)
    return LoadedModel(parse_model(data, "m.onnx"), folder / "m.onnx", data, "0" * 64)


def repair(model: onnx.ModelProto | bytes, *targets: str, **options: Any) -> tuple[RepairReport, onnx.ModelProto | None]:
    """`repair_model` on a model in memory; the proto that would be written, None where there is none."""
    report, data = repair_model(load(model), [find_target(name) for name in targets or ("trt5.1",)], RepairOptions(**options))
    return report, None if data is None else parse_model(data, "m.onnx")


def applied(report: RepairReport) -> list[str]:
    return [fix.rewrite for fix in report.applied]

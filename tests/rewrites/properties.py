"""What every rewrite of a node promises, checked on one model in several settings."""

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import onnx
from hypothesis import settings

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rewrites._edit import EditLog, apply_changes, copy_model
from onnxfix.rewrites._gates import checker_error, checker_level, interface
from onnxfix.rewrites._region import Decline, Names, Region
from onnxfix.targets import find_target

from .harness import Arrays, error, run

CONDITION = {"condition": np.array(True)}
ROUNDS = {"rounds": np.array(2), "always": np.array(True)}


def examples(count: int) -> settings:
    """That many examples, the same ones every time: a machine under load is no failure."""
    return settings(max_examples=count, deadline=None, derandomize=True)


def holds(
    model: onnx.ModelProto,
    name: str,
    feeds: Mapping[str, np.ndarray] | Sequence[Mapping[str, np.ndarray]],
    *,
    target: str = "trt5.1",
    bound: float | None = None,
    expected: Arrays | None = None,
) -> float:
    """Rewrite the node `node` of a model and check every promise; the largest error, relative to the largest value.

    The result passes the checker as the model does, keeps inputs and outputs, and computes the same within `bound` (None: to the
    bit): as it is, with outputs that another node reads too, and inside a branch of If.
    """
    samples: Sequence[Mapping[str, np.ndarray]] = [feeds] if isinstance(feeds, Mapping) else feeds
    worst = 0.0
    for variant, more in ((model, {}), (read_twice(model), {}), (in_branch(model), CONDITION)):
        result = rewritten(variant, name, target)
        assert checker_error(result, checker_level(variant)) is None
        assert interface(result) == interface(variant)
        for sample in samples:
            given = {**sample, **more}
            before, after = run(variant, given) if expected is None else expected, run(result, given)
            got = error(before, {key: after[key] for key in before})
            assert got <= (bound or 0.0), f"{name}: error {got:.2g}"
            for key, array in before.items():
                if array.dtype.kind == "f":
                    np.testing.assert_array_equal(np.isnan(array), np.isnan(after[key]))
            worst = max(worst, got)
    return worst


def rewritten(model: onnx.ModelProto, name: str, target: str) -> onnx.ModelProto:
    """The model after the rewrite of its node `node`, in whatever graph it is; AssertionError with the reason where it declines."""
    answer = tried(model, name, target)
    assert not isinstance(answer, Decline), f"{name} declines: {answer.reason}"
    return answer


def tried(model: onnx.ModelProto, name: str, target: str, node: str = "node", path: str = "") -> onnx.ModelProto | Decline:
    """As `rewritten`, for any node of the model, by its name or its path; a Decline where the rewrite does not serve it."""
    view = ModelView(model)
    found = next(item for item in view.nodes() if (item.path == path if path else item.proto.name == node))
    facts = Facts(view).of(found.scope)
    region = Region(found.proto, found.scope.path, found.index, facts, found.scope.opsets, Names(model))
    answer = importlib.import_module(f"onnxfix.rewrites.{name}").rewrite(region, facts, find_target(target))
    if isinstance(answer, Decline):
        return answer
    changes = answer if isinstance(answer, list) else [answer if answer is not None else region.change()]
    result = copy_model(model)
    apply_changes(result, [(change, "TEST") for change in changes], EditLog())
    return result


def read_twice(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model whose outputs are read by a second node each, whose result is an output as well."""
    copy = copy_model(model)
    for value in list(copy.graph.output):
        copy.graph.node.append(onnx.helper.make_node("Identity", [value.name], [f"{value.name}_again"], name=f"{value.name}_copy"))
        again = copy.graph.output.add()
        again.CopyFrom(value)
        again.name = f"{value.name}_again"
    return copy


def in_branch(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model's nodes inside one branch of an If, which reads inputs and initializers of the outer graph."""
    copy = copy_model(model)
    graph = copy.graph
    branches = []
    for prefix, name in (("then", "node"), ("else", "other")):
        renamed = {made: f"{prefix}_{made}" for made in _made(graph.node)}
        nodes = []
        for node in graph.node:
            inner = onnx.NodeProto()
            inner.CopyFrom(node)
            _rename(inner, renamed)
            inner.name = name if node.name == "node" else node.name and f"{prefix}_{node.name}"
            nodes.append(inner)
        outputs = []
        for value in graph.output:
            inner_value = onnx.ValueInfoProto()
            inner_value.CopyFrom(value)
            inner_value.name = f"{prefix}_{value.name}"
            outputs.append(inner_value)
        branches.append(onnx.helper.make_graph(nodes, prefix, [], outputs))
    choice = onnx.helper.make_node(
        "If", ["condition"], [value.name for value in graph.output], name="choice", then_branch=branches[0], else_branch=branches[1]
    )
    del graph.node[:]
    graph.node.append(choice)
    graph.input.append(onnx.helper.make_tensor_value_info("condition", onnx.TensorProto.BOOL, []))
    return copy


def hidden(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model whose outputs are copies of what its nodes make, so that these are no outputs of a graph."""
    copy = copy_model(model)
    renamed = {value.name: f"{value.name}_inner" for value in copy.graph.output}
    for node in copy.graph.node:
        _rename(node, renamed)
    copy.graph.node.extend(onnx.helper.make_node("Identity", [inner], [name]) for name, inner in renamed.items())
    return copy


def _rename(node: onnx.NodeProto, renamed: Mapping[str, str]) -> None:
    node.input[:] = [renamed.get(name, name) for name in node.input]
    node.output[:] = [renamed.get(name, name) for name in node.output]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                _rename(inner, renamed)
            for value in (*attribute.g.input, *attribute.g.output):
                value.name = renamed.get(value.name, value.name)


def in_loop(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model's nodes inside the body of a Loop that runs as often as an input says, and stacks what they make."""
    copy = copy_model(model)
    graph = copy.graph
    nodes = list(graph.node)
    renamed = {name: f"body_{name}" for name in _made(nodes)}
    body = onnx.GraphProto(name="body")
    body.input.append(onnx.helper.make_tensor_value_info("round", onnx.TensorProto.INT64, []))
    body.input.append(onnx.helper.make_tensor_value_info("going", onnx.TensorProto.BOOL, []))
    # before opset 11 a Loop carries something
    body.input.append(onnx.helper.make_tensor_value_info("carried", onnx.TensorProto.INT64, []))
    body.node.append(onnx.helper.make_node("Identity", ["going"], ["goes_on"]))
    body.node.append(onnx.helper.make_node("Identity", ["carried"], ["carried_on"]))
    body.output.append(onnx.helper.make_tensor_value_info("goes_on", onnx.TensorProto.BOOL, []))
    body.output.append(onnx.helper.make_tensor_value_info("carried_on", onnx.TensorProto.INT64, []))
    for node in nodes:
        inner = body.node.add()
        inner.CopyFrom(node)
        _rename(inner, renamed)
    for value in graph.output:
        inner_value = body.output.add()
        inner_value.CopyFrom(value)
        inner_value.name = renamed[value.name]
        if value.type.tensor_type.HasField("shape"):
            dims = list(value.type.tensor_type.shape.dim)
            del value.type.tensor_type.shape.dim[:]
            value.type.tensor_type.shape.dim.add().dim_param = "rounds"
            value.type.tensor_type.shape.dim.extend(dims)
    loop = onnx.helper.make_node(
        "Loop", ["rounds", "always", "rounds"], ["state", *(value.name for value in graph.output)], name="loop", body=body
    )
    del graph.node[:]
    graph.node.append(loop)
    graph.input.append(onnx.helper.make_tensor_value_info("rounds", onnx.TensorProto.INT64, []))
    graph.input.append(onnx.helper.make_tensor_value_info("always", onnx.TensorProto.BOOL, []))
    return copy


def in_function(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model's nodes as the body of a function of its own, which the main graph calls; initializers are constants there."""
    copy = copy_model(model)
    copy.ir_version = max(copy.ir_version, 8)
    graph = copy.graph
    stored = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in stored]
    outputs = [value.name for value in graph.output]
    constants = [onnx.helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in graph.initializer]
    body = [*constants, *graph.node]
    function = onnx.helper.make_function("own", "Whole", inputs, outputs, body, list(copy.opset_import))
    copy.functions.append(function)
    copy.opset_import.append(onnx.helper.make_opsetid("own", 1))
    del graph.node[:], graph.initializer[:]
    kept = [value for value in graph.input if value.name not in stored]
    del graph.input[:]
    graph.input.extend(kept)
    graph.node.append(onnx.helper.make_node("Whole", inputs, outputs, name="call", domain="own"))
    return copy


def _made(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """The names of all values that the nodes make, in their subgraphs too."""
    for node in nodes:
        yield from (name for name in node.output if name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from (value.name for value in attribute.g.input)
                yield from _made(attribute.g.node)

"""What every rewrite of a node promises, checked on one model in several settings."""

from collections.abc import Mapping, Sequence

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
    for variant, more in ((model, {}), (read_twice(model), {}), (in_branch(model), {"condition": np.array(True)})):
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
    import importlib

    view = ModelView(model)
    found = next(item for item in view.nodes() if item.proto.name == "node")
    facts = Facts(view).of(found.scope)
    region = Region(found.proto, found.scope.path, found.index, facts, found.scope.opsets, Names(model))
    answer = importlib.import_module(f"onnxfix.rewrites.{name}").rewrite(region, facts, find_target(target))
    assert not isinstance(answer, Decline), f"{name} declines: {answer.reason}"
    changes = answer if isinstance(answer, list) else [region.change()]
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
        nodes = []
        for node in graph.node:
            inner = onnx.NodeProto()
            inner.CopyFrom(node)
            made = {output for each in graph.node for output in each.output}
            inner.input[:] = [f"{prefix}_{item}" if item in made else item for item in node.input]
            inner.output[:] = [f"{prefix}_{item}" if item else "" for item in node.output]
            inner.name = name if node.name == "node" else f"{prefix}_{node.name}"
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

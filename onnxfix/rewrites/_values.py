"""The value of what no input changes, as the runtime of the proof computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxfix.model.facts import ScopeFacts


def constant_value(facts: ScopeFacts, name: str) -> np.ndarray | None:
    """The array of a constant value, or None where it is none, or nothing here can compute it.

    A computed value is what onnxruntime makes of the nodes that lead to it, so that storing it changes no bit; onnx's reference
    serves where onnxruntime has no kernel. They round functions such as Exp differently.
    """
    value = facts.value(name)
    if value.tensor is not None or not value.constant or facts.numbers(name) is not None:
        return facts.constant(name)
    return value_among(facts, name, {}, {})


def value_among(
    facts: ScopeFacts, name: str, makers: Mapping[str, onnx.NodeProto], stored: Mapping[str, onnx.TensorProto]
) -> np.ndarray | None:
    """As `constant_value`, for a value that also nodes which are not in the model yet may make, or lead to."""
    model = onnx.ModelProto(ir_version=8)
    nodes: dict[int, onnx.NodeProto] = {}
    waiting, seen = [name], {name}
    while waiting:
        wanted = waiting.pop()
        if wanted in stored:
            model.graph.initializer.append(stored[wanted])
            continue
        proto = makers.get(wanted)
        if proto is None:
            owner = facts.scope.owner(wanted)
            maker = owner.producers.get(wanted) if owner is not None else None
            if maker is None or facts.value(wanted).tensor is not None or facts.numbers(wanted) is not None:
                array = facts.constant(wanted)
                if array is None:
                    return None
                model.graph.initializer.append(onnx.numpy_helper.from_array(array, wanted))
                continue
            if not facts.is_constant(wanted):
                return None
            proto = maker.proto
        if any(attribute.HasField("g") or attribute.graphs for attribute in proto.attribute):
            return None
        nodes[id(proto)] = proto
        sources = [source for source in dict.fromkeys(proto.input) if source and source not in seen]
        waiting += sources
        seen.update(sources)
    return _run(model, list(nodes.values()), name, facts.scope.opsets)


def _run(model: onnx.ModelProto, nodes: list[onnx.NodeProto], name: str, opsets: dict[str, int]) -> np.ndarray | None:
    from onnxfix.model.view import topological_order
    from onnxfix.verify.run import CannotRunError, Runner

    model.opset_import.extend(onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items())
    model.graph.name = "constant"
    model.graph.node.extend(nodes[index] for index in topological_order(nodes))
    model.graph.output.append(onnx.ValueInfoProto(name=name))
    try:
        result = Runner(model).run({})[name]
    except CannotRunError:
        return None
    return result if isinstance(result, np.ndarray) else None

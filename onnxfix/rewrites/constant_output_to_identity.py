"""An output that the parser holds as a constant, behind an Identity: that is a layer, and layers' tensors can be outputs.

Guard: a release with an explicit batch, since one with an implicit batch would give the constant once for every sample; the output
is no input of the model too. Other readers keep reading the constant itself. Bit-equal.

Source: onnx-tensorrt at the commits that targets.toml names for 7.0 and 7.1, builtin_op_importers.cpp, Identity (`addIdentity` of
what `convertToTensor` makes of the weights).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._edit import add_initializer
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.interface_type import rename_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.model.view import Scope
    from onnxfix.rewrites._passes import Edit, Request


def check(request: Request) -> Decline | None:
    """Why the pass does not serve; None where it does."""
    for target in request.targets:
        if target.implicit_batch:
            return Decline(f"{target.title} has no batch in its tensors: it would give the constant once for every sample")
    main = request.facts.view.main
    if any(name in main.inputs and not _is_listed(request, name) for name in _asked(main, request.values)):
        return Decline("the output is an input of the model, whose default a caller may override")
    return None


def run(model: onnx.ModelProto, request: Request, edit: Edit) -> Decline | None:
    """Change the model."""
    main, graph = edit.view.main, model.graph
    for name in _asked(main, request.values):
        inner = edit.names.free(f"{name}/constant", set())
        maker = main.producers.get(name)
        if maker is None:
            _rename_initializer(model, name, inner, edit)
        else:
            edit.touch(main, maker.proto)
            maker.proto.output[list(maker.proto.output).index(name)] = inner
        for node, _ in main.consumers.get(name, ()):
            edit.touch(node.scope, node.proto)
            rename_input(node.proto, name, inner)
        graph.node.append(onnx.helper.make_node("Identity", [inner], [name], name=edit.names.free(f"{name}/given", set())))
    edit.sort()
    return None


def _asked(main: Scope, names: Sequence[str]) -> list[str]:
    return [name for name in main.outputs if name in names]


def _is_listed(request: Request, name: str) -> bool:
    """True for an initializer of a model below IR version 4, which lists all of them among its inputs."""
    return request.facts.view.proto.ir_version < 4 and name in request.facts.view.main.initializers


def _rename_initializer(model: onnx.ModelProto, name: str, inner: str, edit: Edit) -> None:
    graph = model.graph
    position = next(index for index, tensor in enumerate(graph.initializer) if tensor.name == name)
    tensor = onnx.TensorProto()
    tensor.CopyFrom(graph.initializer[position])
    tensor.name = inner
    del graph.initializer[position]
    edit.log.initializers_dropped.add(name)
    listed = [index for index, value in enumerate(graph.input) if value.name == name]
    for index in listed:
        del graph.input[index]
    add_initializer(model, graph, tensor)

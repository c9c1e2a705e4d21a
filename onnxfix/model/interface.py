"""A model's inputs and opsets: do given shapes fit, can dynamic dimensions be frozen, are the operators' versions known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.errors import ModelError, UsageError
from onnxfix.model.opsets import domain_of, opsets_of
from onnxfix.model.view import captured_names, topological_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# Below it every initializer is listed among the inputs, which says nothing about overriding.
FIRST_IR_OF_DEFAULTS = 4


def check_opsets(proto: onnx.ModelProto, path: str) -> None:
    """Raise ModelError where the model imports no opset of ONNX's own domain, or one newer than the installed onnx knows."""
    newest = onnx.defs.onnx_opset_version()
    version = opsets_of(proto.opset_import).get("")
    if version is None and any(not domain_of(node.domain) for node in proto.graph.node):
        raise ModelError(f"{path}: imports no opset, so its operators have no version; export it again")
    if version is not None and version > newest:
        raise ModelError(f"{path}: opset {version} is newer than onnx {onnx.__version__} knows ({newest}); upgrade onnx")


def check_shapes(proto: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]], source: str = "--shape") -> None:
    """Raise UsageError where a shape names no input, does not fit the declared one, or two give one name two sizes.

    The message begins with `source`, which says where the shapes come from.
    """
    stored = {tensor.name for tensor in proto.graph.initializer}
    declared = {value.name: value for value in proto.graph.input if value.name not in stored}
    named: dict[str, int] = {}
    for name, shape in shapes.items():
        if name not in declared:
            raise UsageError(f"{source}: the model has no input {name!r}; its inputs are {', '.join(declared) or 'none'}")
        kind = declared[name].type.tensor_type
        if not kind.HasField("shape"):
            continue
        dims = kind.shape.dim
        fits = len(dims) == len(shape) and all(
            not dim.HasField("dim_value") or dim.dim_value == size for dim, size in zip(dims, shape, strict=True)
        )
        if not fits:
            raise UsageError(f"{source}: input {name!r} is {_by_x(dims)}, which {'x'.join(map(str, shape))} does not fit")
        for dim, size in zip(dims, shape, strict=True):
            if dim.dim_param and named.setdefault(dim.dim_param, size) != size:
                raise UsageError(f"{source}: {dim.dim_param} is {named[dim.dim_param]} in one input and {size} in {name!r}")


def open_inputs(proto: onnx.ModelProto) -> dict[str, str]:
    """The inputs with dynamic dimensions, and their shapes as text: `batchx3x?x?`."""
    stored = {tensor.name for tensor in proto.graph.initializer}
    shapes = {value.name: value.type.tensor_type.shape.dim for value in proto.graph.input if value.name not in stored}
    return {name: _by_x(dims) for name, dims in shapes.items() if not all(dim.HasField("dim_value") for dim in dims)}


def _by_x(dims: Iterable[onnx.TensorShapeProto.Dimension]) -> str:
    return "x".join(str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims)


def freeze(proto: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> tuple[onnx.ModelProto, list[str]]:
    """A copy with the given shapes in place of dynamic dimensions, everywhere where those are named, and what was frozen.

    Without any it is the model itself.
    """
    notes: list[str] = []
    if not shapes:
        return proto, notes
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    known: dict[str, int] = {}
    for value in model.graph.input:
        shape = shapes.get(value.name)
        if shape is None:
            continue
        kind = value.type.tensor_type
        if not kind.HasField("shape"):
            kind.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in shape)
        for axis, (dim, size) in enumerate(zip(kind.shape.dim, shape, strict=True)):
            if not dim.HasField("dim_value"):
                notes.append(f"{dim.dim_param or f'axis {axis}'} of input {value.name} to {size}")
                if dim.dim_param:
                    known[dim.dim_param] = size
                dim.dim_value = size
    for values, kind_of in ((model.graph.input, "input"), (model.graph.output, ""), (model.graph.value_info, "")):
        for value in values:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in known:
                    if kind_of:
                        notes.append(f"{dim.dim_param} of {kind_of} {value.name} to {known[dim.dim_param]}")
                    dim.dim_value = known[dim.dim_param]
    return (model, notes) if notes else (proto, notes)


def retyped(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """The inputs and outputs whose element type is another in `after`, as clauses."""
    notes = []
    for what, first, second in (
        ("input", before.graph.input, after.graph.input),
        ("output", before.graph.output, after.graph.output),
    ):
        old = {value.name: value.type.tensor_type.elem_type for value in first}
        for value in second:
            kinds = (old.get(value.name, 0), value.type.tensor_type.elem_type)
            if all(kinds) and kinds[0] != kinds[1]:
                was, now = (onnx.TensorProto.DataType.Name(kind) for kind in kinds)
                notes.append(f"{what} {value.name} is {now} now, was {was}")
    return notes


def rebatched(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """The inputs and outputs that have one more axis, of size 1, before theirs in `after`, as clauses."""
    notes = []
    for what, first, second in (
        ("input", before.graph.input, after.graph.input),
        ("output", before.graph.output, after.graph.output),
    ):
        old = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in first}
        for value in second:
            dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            if value.name in old and dims == [1, *old[value.name]]:
                was, now = ("x".join(map(str, shape)) for shape in (old[value.name], dims))
                notes.append(f"{what} {value.name} is {now} now, was {was}")
    return notes


def new_outputs(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """The outputs that only one of the models has, as clauses."""
    first, second = ({value.name: None for value in model.graph.output} for model in (before, after))
    gone, come = [name for name in first if name not in second], [name for name in second if name not in first]
    return [f"outputs {', '.join(come)} in place of {', '.join(gone)}"] if gone or come else []


def lost_overrides(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """The initializers of `before` that a caller could override and that are no inputs of `after`, or reach fewer values there.

    From IR version 4 on an initializer that is a graph input too is that input's default; below, all are listed.
    """
    if before.ir_version < FIRST_IR_OF_DEFAULTS:
        return []
    stored = {tensor.name for tensor in before.graph.initializer}
    defaults = [value.name for value in before.graph.input if value.name in stored]
    reached, left = (_reached(model.graph, defaults) for model in (before, after))
    lost = 0
    for name, bits in reached.items():
        if name in left:
            lost |= bits & ~left[name]
    given = {value.name for value in after.graph.input}
    return [
        f"input {name}, which had a default, is {'a constant now' if lost >> bit & 1 else 'gone'}"
        for bit, name in enumerate(defaults)
        if lost >> bit & 1 or name not in given
    ]


def _reached(graph: onnx.GraphProto, sources: list[str]) -> dict[str, int]:
    """Which of `sources` each made value depends on, as the bits of a number; a shape depends on no value."""
    bits = {name: 1 << bit for bit, name in enumerate(sources)}
    made: dict[str, int] = {}
    for index in topological_order(graph.node):
        node = graph.node[index]
        total = 0
        if node.op_type not in ("Shape", "Size"):
            for name in (*node.input, *captured_names(node)):
                total |= made.get(name, 0) | bits.get(name, 0)
        made.update(dict.fromkeys(filter(None, node.output), total))
    return made

"""Axes against an implicit batch (5.0 to 6.0): the network's tensors have no axis 0.

Source of all of these: onnx-tensorrt branch 5.1, builtin_op_importers.cpp and onnx2trt_utils.hpp (convert_axis).
"""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.limits import attribute_or_default
from onnxfix.checks.parser_values import Kind
from onnxfix.model.dims import Poly

_AXIS = "Assertion failed: axis >= 0 && axis < nbDims"


def _outside(axis: int, rank: int) -> bool:
    """convert_axis: a negative axis counts from the back, others lose 1; both must then lie in the parser's axes."""
    converted = axis + rank if axis < 0 else axis - 1
    return not 0 <= converted < rank


@check("batch_axis.axis")
def axis(context: Context) -> Problem | None:
    """The attribute `axis` must name an axis that the parser sees in input 0."""
    name = context.node.input(0)
    rank = context.values.rank(name)
    value = attribute_or_default(context.node, "axis")
    if rank is None or not isinstance(value, int) or not _outside(value, rank):
        return None
    if context.values.kind(name) is Kind.TENSOR:
        return Problem("works along the batch axis, which an implicit batch does not have", (0,), _AXIS)
    return Problem(
        f"works along axis {value} of a constant that the parser takes for a tensor without batch; shape arithmetic is not "
        "imported",
        (0,),
        _AXIS,
    )


@check("batch_axis.of_a_constant")
def of_a_constant(context: Context) -> Problem | None:
    """A constant has all its axes: one less than `axis` is another axis, and Gather puts the batch of its positions before them."""
    name = context.node.input(0)
    rank = context.values.rank(name)
    value = attribute_or_default(context.node, "axis")
    if context.values.kind(name) is not Kind.WEIGHTS or rank is None or not isinstance(value, int) or not -rank < value < rank:
        return None
    if value > 0:
        return Problem(f"works along axis {value - 1} of the constant instead of axis {value}", (0,))
    looked_up = value < 0 and context.node.op_type == "Gather" and context.values.kind(context.node.input(1)) is Kind.TENSOR
    return Problem("puts the batch of the positions before the axes of the constant", (0,)) if looked_up else None


@check("batch_axis.reduce")
def reduce(context: Context) -> Problem | None:
    """`axes` must not name the batch axis; none at all names every axis. Axes as an input are another check's."""
    rank = context.values.rank(context.node.input(0))
    axes = context.node.attr("axes")
    if rank is None or (axes is None and context.node.input(1)):
        return None
    if axes is None:
        # the importer numbers the axes from 0 and then strips the batch from them: axis 0 becomes -1
        return Problem("without axes reduces the batch too, which an implicit batch forbids", (0,), _AXIS) if rank else None
    if any(_outside(item, rank) for item in axes):
        return Problem("reduces the batch axis, which an implicit batch does not have", (0,), _AXIS)
    return None


@check("batch_axis.reduce_by_input")
def reduce_by_input(context: Context) -> Problem | None:
    """Where axes are an input (from opset `since` on), the importer looks for the attribute, and without it numbers every axis."""
    node = context.node
    if (node.opset or 0) < int(context.args["since"]) or node.attr("axes") is not None or not node.input(1):
        return None
    return Problem("gives its axes as an input, and without the attribute the batch is reduced too", (0, 1))


@check("batch_axis.transpose")
def transpose(context: Context) -> Problem | None:
    """A tensor's axis 0 stays where it is."""
    name = context.node.input(0)
    rank = context.values.rank(name)
    if context.values.kind(name) in (Kind.WEIGHTS, Kind.LOST) or rank is None:
        return None
    perm = context.node.attr("perm", tuple(reversed(range(rank))))
    if not perm or perm[0] == 0:
        return None
    return Problem("moves the batch axis", (0,), "Assertion failed: perm.order[BATCH_DIM] == BATCH_DIM")


@check("batch_axis.unsqueeze")
def unsqueeze(context: Context) -> Problem | None:
    """A tensor gets no new axis 0; negative axes are read as they stand, which fails as well."""
    name = context.node.input(0)
    axes = context.node.attr("axes", ())
    if context.values.kind(name) in (Kind.WEIGHTS, Kind.LOST):
        return None
    if 0 in axes:
        return Problem("adds an axis before the batch", (0,), "Assertion failed: axis != BATCH_DIM")
    if any(item < 0 for item in axes):
        return Problem("with negative axes is misread: the importer counts them from the front")
    return None


@check("batch_axis.slice")
def slice_(context: Context) -> Problem | None:
    """Nothing may be cut from the front of axis 0, and other axes must exist."""
    name = context.node.input(0)
    rank = context.values.rank(name)
    starts, axes = context.node.attr("starts"), context.node.attr("axes")
    if rank is None or starts is None:
        return None
    for item, start in zip(axes if axes is not None else range(len(starts)), starts, strict=False):
        if item == 0 and start != 0:
            what = "the batch axis" if context.values.kind(name) is Kind.TENSOR else "axis 0 of a shape"
            return Problem(f"cuts {what}, which this importer takes for the batch", (0,), "Assertion failed: starts[i] == 0")
        if item != 0 and _outside(item, rank):
            return Problem(f"cuts axis {item}, which the parser does not see", (0,), _AXIS)
    return None


@check("batch_axis.reshape")
def reshape(context: Context) -> Problem | None:
    """The entries after the first must hold one sample: at most one -1, no 0, and the same number of elements."""
    data, target = context.node.input(0), context.facts.numbers(context.node.input(1))
    dims = context.values.dims(data)
    if context.values.kind(data) is not Kind.TENSOR or target is None or dims is None:
        return None
    rest = [int(item) for item in target[1:]]
    if rest.count(-1) > 1 or any(item < -1 for item in rest):
        return Problem("has more than one -1 after the batch", (1,), "Assertion failed: infer_dim == -1")
    if any(isinstance(item, Poly) for item in dims):
        return None
    if -1 in rest:
        # with a -1 the library fills in zeros itself; without one the importer multiplies them as they stand
        rest = [int(dims[axis]) if item == 0 and axis < len(dims) else item for axis, item in enumerate(rest)]  # type: ignore[arg-type]
    wanted = 1
    for item in rest:
        wanted *= abs(item)
    size = 1
    for dim in dims:
        size *= int(dim)  # type: ignore[arg-type]
    if (-1 in rest and (wanted == 0 or size % wanted)) or (-1 not in rest and wanted != size):
        return Problem(
            f"to {[int(item) for item in target]} does not keep the {size} elements of one sample after the batch axis",
            (1,),
            "Assertion failed: get_shape_size(new_shape) == get_shape_size(tensor.getDimensions())",
        )
    return None


@check("batch_axis.reshape_shape")
def reshape_shape(context: Context) -> Problem | None:
    """The new shape must be INT64; the importer's own Shape and Size give INT32."""
    maker = context.node.scope.producers.get(context.node.input(1))
    if maker is None or maker.op_type not in ("Shape", "Size"):
        return None
    return Problem(
        f"takes its new shape from {maker.op_type}, which the importer gives as INT32",
        (1,),
        "Assertion failed: new_shape_weights.type == ::ONNX_NAMESPACE::TensorProto::INT64",
    )


@check("batch_axis.reshape_batch")
def reshape_batch(context: Context) -> Problem | None:
    """The importer drops entry 0 of the new shape and keeps the batch, whatever the entry says."""
    node = context.node
    if context.values.kind(node.input(0)) is not Kind.TENSOR or reshape(context) is not None:
        return None
    before, after = context.facts.shape(node.input(0)), context.facts.shape(node.outputs[0])
    if not before or not after or before[0] == after[0]:
        return None
    if isinstance(before[0], Poly) or isinstance(after[0], Poly):
        return None
    return Problem(f"changes the batch from {before[0]} to {after[0]}; the importer keeps it", (0,))


@check("batch_axis.pad")
def pad(context: Context) -> Problem | None:
    """Padding of rank-4 data only, and none of batch and channels."""
    pads = context.node.attr("pads")
    if pads is None:
        return None
    if len(pads) != 8:
        return Problem(f"pads {len(pads) // 2} axes; only rank 4 is taken", (), "Assertion failed: onnx_padding.size() == 8")
    if any(pads[index] for index in (0, 1, 4, 5)):
        return Problem("pads batch or channels; only height and width can be")
    return None


@check("batch_axis.slice_as_padding")
def slice_as_padding(context: Context) -> Problem | None:
    """Slices are negative paddings: only the last two axes, written from the front, may be cut, and axis 0 not named at all.

    Source: onnx-tensorrt v5.0 (0b5aeae), builtin_op_importers.cpp, Slice.
    """
    node = context.node
    name = node.input(0)
    dims = context.values.dims(name)
    starts, ends, axes = node.attr("starts"), node.attr("ends"), node.attr("axes")
    if dims is None or starts is None or ends is None or axes is None:
        return None
    for item, start, end in zip(axes, starts, ends, strict=False):
        if _outside(item, len(dims)):
            return Problem(f"names axis {item}, which an implicit batch does not have", (0,), _AXIS)
        if item in (len(dims) - 1, len(dims)):
            continue
        dim = dims[item + len(dims) if item < 0 else item - 1]
        if isinstance(dim, Poly):
            return None
        low, high = (min(max(bound + int(dim) if bound < 0 else bound, 0), int(dim)) for bound in (start, end))
        if high - low != dim:
            return Problem(
                f"cuts axis {item}; only the last two can be cut, and only where they are counted from the front",
                (0,),
                "Assertion failed: (ends[i] - starts[i]) == dims.d[axis]",
            )
    return None

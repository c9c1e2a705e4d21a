"""Chooses sizes for the symbolic dimensions of a model's inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from onnxfix.errors import UsageError
from onnxfix.verify.graph import real_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnx

# Multiples of 32 first, since encoders that halve their input five times need them; then sizes that are not.
_SIZES = (64, 96, 32, 128, 48, 80, 40, 56)
# Small and odd ones, where bounds and paddings meet the other end; most models refuse some of them.
_ODD_SIZES = (5, 3, 7, 1)
# Sizes for every symbol alike, tried when the model refuses the others: it may add or multiply two of its inputs.
_COMMON_SIZES = (64, 32, 128, 224, 256, 512, 16, 8, 4, 2, 1)
_BATCHES = (1, 2, 3)
# Above this an input is made smaller: a proof has to end.
_MAX_ELEMENTS = 1 << 22


@dataclass(frozen=True, slots=True)
class Binding:
    """One choice of sizes.

    Attributes:
        dims: the size of each symbolic dimension by name; one without a name is called `input[axis]`.
        shapes: the shape of each input that this gives.
        optional: whether it is nothing to tell if the model refuses it.
    """

    dims: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    optional: bool = False


def symbolic_shapes(
    model: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> tuple[dict[str, list[int | str]], dict[str, int]]:
    """Each input's shape, symbols as strings, and the sizes that `shapes` gives to symbols.

    Args:
        model: the model.
        shapes: input name to its whole shape, as `--shape` gives it.

    Raises:
        UsageError: an input has no known rank and no shape in `shapes`; or `shapes` names no input, or contradicts the model.
    """
    fixed: dict[str, int] = {}
    known: dict[str, list[int | str]] = {}
    given = dict(shapes or {})
    for value in real_inputs(model.graph):
        name, shape = value.name, given.pop(value.name, None)
        kind = value.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            raise UsageError(
                f"input {name}: no values can be made for {str(kind).removesuffix('_type')} inputs; pass --inputs FILE.npz"
            )
        if not value.type.tensor_type.HasField("shape"):
            if shape is None:
                raise UsageError(f"input {name}: the model does not say its rank; pass --shape {name}:AxBxC")
            known[name] = list(shape)
            continue
        dims: list[int | str] = [
            dim.dim_param
            if dim.dim_param
            else dim.dim_value
            if dim.HasField("dim_value") and dim.dim_value >= 0
            else f"{name}[{axis}]"
            for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        ]
        if shape is not None:
            if len(shape) != len(dims):
                raise UsageError(f"input {name}: --shape has {len(shape)} dimensions, the model {len(dims)}")
            for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
                expected = fixed.setdefault(dim, size) if isinstance(dim, str) else dim
                if expected != size:
                    raise UsageError(f"input {name}: --shape has {size} at axis {axis}, the model {expected}")
        known[name] = dims
    if given:
        raise UsageError(f"--shape names {next(iter(given))}, which is no input; the inputs are {', '.join(known) or 'none'}")
    return known, fixed


def binding_of(model: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> Binding:
    """The binding that follows from the whole shape of every input.

    Raises:
        UsageError: as `symbolic_shapes`.
    """
    known, fixed = symbolic_shapes(model, shapes)
    return _bind(known, fixed)


def _bind(known: Mapping[str, list[int | str]], dims: Mapping[str, int]) -> Binding:
    shapes = {name: tuple(dims[d] if isinstance(d, str) else d for d in shape) for name, shape in known.items()}
    return Binding(dict(dims), shapes)


def bindings(model: onnx.ModelProto, samples: int, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Iterator[Binding]:
    """Bindings to try, in order: `samples` that differ, then more for a model that refuses some of them.

    Behind each of the first comes an optional one of small odd sizes, so that a model that takes them has them as every second
    sample. Symbols of the same name have the same size. The first axis of an input with others is taken for the batch.
    Without symbols there is one binding, given `samples` times.

    Raises:
        UsageError: as `symbolic_shapes`.
    """
    known, fixed = symbolic_shapes(model, shapes)
    batches = {shape[0] for shape in known.values() if len(shape) > 1 and isinstance(shape[0], str)}
    inner = {dim for shape in known.values() for dim in shape[1:] if isinstance(dim, str)}
    free = [d for d in dict.fromkeys(d for shape in known.values() for d in shape if isinstance(d, str)) if d not in fixed]
    batches -= inner

    def limited(dims: dict[str, int]) -> Binding:
        binding = _bind(known, fixed | dims)
        while max((prod(shape) for shape in binding.shapes.values()), default=0) > _MAX_ELEMENTS:
            smaller = {d: size if d in batches else max(size // 2, 1) for d, size in dims.items()}
            if smaller == dims:
                break
            dims = smaller
            binding = _bind(known, fixed | dims)
        return binding

    if not free:
        yield from [limited({})] * samples
        return
    for sample in range(samples):
        for sizes in (_SIZES, _ODD_SIZES):
            binding = limited(
                {
                    d: _BATCHES[sample % len(_BATCHES)] if d in batches else sizes[(sample + index) % len(sizes)]
                    for index, d in enumerate(free)
                }
            )
            if sizes is _SIZES:
                yield binding
            elif sample < len(_ODD_SIZES) and not batches.issuperset(free):
                yield replace(binding, optional=True)
    for size in _COMMON_SIZES:
        yield limited({d: 1 if d in batches else size for d in free})
    yield limited(dict.fromkeys(free, 1))

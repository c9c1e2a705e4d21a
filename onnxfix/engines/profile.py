"""The optimization profile of a model whose sizes are open, where nobody gave one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.engines.options import ShapeRange
from onnxfix.verify.bindings import bindings, symbolic_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx


def usual_profile(model: onnx.ModelProto, dims: Mapping[str, int] | None = None) -> dict[str, ShapeRange]:
    """One shape for each input with open sizes, empty where all sizes are given.

    Args:
        model: the model.
        dims: sizes that it is known to run on, such as those of a proof; usual ones otherwise.

    Raises:
        UsageError: the rank of an input is not known.
    """
    known, _ = symbolic_shapes(model)
    wanted = {name: shape for name, shape in known.items() if any(isinstance(size, str) for size in shape)}
    if not wanted:
        return {}
    sizes = {**next(bindings(model, 1)).dims, **(dims or {})}
    shapes = {name: tuple(sizes[size] if isinstance(size, str) else size for size in shape) for name, shape in wanted.items()}
    return {name: ShapeRange(shape, shape, shape) for name, shape in shapes.items()}

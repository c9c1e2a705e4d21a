"""What a model declares of its outputs against what its nodes give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxfix.model.dims import Poly

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import ModelView


def declared_otherwise(view: ModelView, facts: ScopeFacts) -> tuple[str, str] | None:
    """(name, sentence) of the first graph output whose declared static dimensions its nodes contradict; None where none does."""
    for value in view.proto.graph.output:
        given = facts.shape(value.name)
        if given is None or not value.type.tensor_type.HasField("shape"):
            continue
        declared = [dim.dim_value if dim.HasField("dim_value") else None for dim in value.type.tensor_type.shape.dim]
        static = [None if isinstance(dim, Poly) else int(dim) for dim in given]
        if len(declared) != len(static) or any(
            None not in (want, have) and want != have for want, have in zip(declared, static, strict=True)
        ):
            return value.name, f"output {value.name!r} is declared {_show(declared)}, its nodes give {_show(list(given))}"
    return None


def _show(dims: list[Any]) -> str:
    return "[" + ",".join("?" if dim is None else str(dim) for dim in dims) + "]"

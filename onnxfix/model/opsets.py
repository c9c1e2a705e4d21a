"""Operator domains, their versions, and what onnx's schemas say of operators.

ONNX's own domain has two names: the empty one and `ai.onnx`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnx

# Operators whose result is not the same at every run.
RANDOM = frozenset({"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"})


def domain_of(name: str) -> str:
    """The one name under which a domain is known here: empty for ONNX's own."""
    return "" if name == "ai.onnx" else name


def opsets_of(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The imported version of each domain."""
    return {domain_of(item.domain): item.version for item in imports}


@cache
def schema_of(op: str, opset: int, domain: str = "") -> onnx.defs.OpSchema | None:
    """The schema of an operator at `opset`, a deprecated one too; None where there is none."""
    import onnx  # here, since commands that read no model import this module

    try:
        return onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        return None


def schema_at(op: str, opset: int, domain: str = "") -> onnx.defs.OpSchema | None:
    """As `schema_of`, but None where the operator is deprecated: nothing may be written with it."""
    schema = schema_of(op, opset, domain)
    return None if schema is None or schema.deprecated else schema


def has_body(op: str, opset: int, domain: str = "") -> bool:
    """True where the schema of the operator at `opset` has a function body that computes what it does, for some types of inputs.

    The body of Bernoulli draws other numbers than the operator.
    """
    schema = schema_at(op, opset, domain)
    if schema is None or op in RANDOM:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)  # type: ignore[attr-defined]  # not in the stubs

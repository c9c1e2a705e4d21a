"""Operator domains and their versions. ONNX's own domain has two names: the empty one and `ai.onnx`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnx


def domain_of(name: str) -> str:
    """The one name under which a domain is known here: empty for ONNX's own."""
    return "" if name == "ai.onnx" else name


def opsets_of(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The imported version of each domain."""
    return {domain_of(item.domain): item.version for item in imports}

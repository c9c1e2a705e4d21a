"""Node paths (`graph/node[3]/then_branch/node[1]`) and fingerprints."""

from __future__ import annotations

import hashlib


def node_path(scope: str, index: int) -> str:
    """The path of node `index` (position in its node list) in the scope with path `scope`."""
    return f"{scope}/node[{index}]"


def function_path(domain: str, name: str, overload: str) -> str:
    """The path of a model-local function's scope."""
    return f"function({domain}:{name}{':' + overload if overload else ''})"


def fingerprint(*parts: object) -> str:
    """A short stable identifier of the given parts: 16 hexadecimal digits of their SHA-256."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:16]

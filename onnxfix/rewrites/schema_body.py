"""An operator as the function body that ONNX's schema gives it, last of all: the losses, Attention, and what else has one.

The body is written in the model's own opset; what it is made of is looked at again, as any other node. Guard: known element types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites.lowering import _body

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    body = _body.expand(region)
    if isinstance(body, Decline):
        return body if body.reason else Decline("ONNX gives it no function body", plain=True)
    return [body]

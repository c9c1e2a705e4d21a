"""AliasWithName, which Caffe2's exporter leaves behind, as Identity.

Source: caffe2/operators/alias_with_name.cc. The same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Decline, Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    region.replace(region.layer("Identity", "same", [region.node.inputs[0]]))
    return None

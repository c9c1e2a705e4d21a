"""LSTM, GRU and RNN of two directions with activation_alpha and activation_beta written out for every activation.

ONNX hands the values out to those activations that take one; the importers count by place, and fill up a shorter list. Where all
values are equal, as many of them as there are activations mean the same in both ways. Guard: equal activations in both directions,
and one value, given for each activation that takes it. Bit-equal over 6 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


TAKES = {
    "activation_alpha": ("Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "ThresholdedRelu"),
    "activation_beta": ("Affine", "HardSigmoid", "ScaledTanh"),
}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in region.proto.attribute}
    names = [name.decode() for name in attributes.get("activations") or []]
    half = len(names) // 2
    if not names or names[:half] != names[half:]:
        return Decline("the directions have other activations")
    changed = False
    for attribute in region.edited.attribute:
        if attribute.name not in TAKES:
            continue
        values = list(attribute.floats)
        if len(set(values)) != 1 or len(values) < sum(name in TAKES[attribute.name] for name in names):
            return Decline(f"{attribute.name} has several values, or not all that its activations take")
        changed = changed or len(values) != len(names)
        del attribute.floats[:]
        attribute.floats.extend(values[:1] * len(names))
    return None if changed else Decline("they are written out already", plain=True)

"""FusedConv of onnxruntime, which its own optimizer writes, as Conv and the activation; an input to add comes before that.

Source: onnxruntime, docs/ContribOperators.md. Guard: Relu, Tanh, Sigmoid, LeakyRelu, Clip or HardSigmoid. The same bits over 8
cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import float_kind
from onnxfix.rewrites._layers import clip
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


NUMBERS = {"LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Clip": ("min", "max")}
PLAIN = ("Relu", "Sigmoid", "Tanh")


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    attrs, names, inputs = dict(region.node.attrs), region.proto.input, list(region.node.inputs)
    activation, numbers = str(attrs.pop("activation", "")), [float(item) for item in attrs.pop("activation_params", ())]
    if activation not in PLAIN and len(numbers) != len(NUMBERS.get(activation, ())):
        return Decline(f"its activation is {activation or 'not named'}")
    if activation not in PLAIN and activation not in NUMBERS:
        return Decline(f"its activation is {activation or 'not named'}")
    made = region.layer("Conv", "conv", [tensor for tensor, name in zip(inputs[:3], names, strict=False) if name], **attrs)
    if len(names) > 3 and names[3]:
        made = region.layer("Add", "sum", [made, inputs[3]])
    if activation == "Clip":
        region.replace(clip(region, "activation", made, numbers[0], numbers[1], kind))
        return None
    region.replace(region.layer(activation, "activation", [made], **dict(zip(NUMBERS.get(activation, ()), numbers, strict=True))))
    return None

"""MaxPool and AveragePool: ceil_mode (from opset 10) becomes padding at the end, or goes where it changes nothing.

Guard: static sizes, no dilations. With ceil_mode the last window may reach beyond the padded input by
`extra = stride * (out - 1) + kernel - (size + pads)`; a window that would begin in the padding at the end is dropped. MaxPool takes
`extra` as padding at the end, which changes no maximum; AveragePool divides by what it covers, so only extra 0 is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxfix.model.dims import Poly
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    ceil = any(attribute.name == "ceil_mode" and attribute.i for attribute in region.proto.attribute)
    if not ceil or low >= 10:
        return _general.lower(region, low)
    attrs = {attribute.name: attribute for attribute in region.proto.attribute}
    if "dilations" in attrs and any(item != 1 for item in attrs["dilations"].ints):
        return Decline(f"{region.proto.op_type} has no dilations in opset {low}")
    if "auto_pad" in attrs and attrs["auto_pad"].s not in (b"NOTSET", b"VALID"):
        return Decline("auto_pad and ceil_mode together are not covered")
    shape = region.facts.shape(region.proto.input[0])
    if shape is None or any(isinstance(dim, Poly) for dim in shape[2:]):
        return Decline("the data has dynamic sizes, and ceil_mode adds a window for some of them")
    sizes = [int(dim) for dim in shape[2:] if not isinstance(dim, Poly)]
    ends = _ends(attrs, sizes)
    rank = len(sizes)
    pads = list(attrs["pads"].ints) if "pads" in attrs else [0] * 2 * rank
    if ends != pads[rank:] and region.proto.op_type != "MaxPool":
        return Decline("ceil_mode adds a window over less than a kernel of data")
    _general.drop_attribute(region, "ceil_mode")
    _general.drop_attribute(region, "dilations")
    if ends != pads[rank:]:
        _general.set_attribute(region, "pads", [*pads[:rank], *ends])
    return None


def _ends(attrs: dict[str, Any], sizes: list[int]) -> list[int]:
    """The padding at the end with which flooring gives the windows that ceil_mode gives."""
    rank = len(sizes)
    kernel = list(attrs["kernel_shape"].ints)
    strides = list(attrs["strides"].ints) if "strides" in attrs else [1] * rank
    pads = list(attrs["pads"].ints) if "pads" in attrs else [0] * 2 * rank
    ends = []
    for axis, size in enumerate(sizes):
        padded = size + pads[axis] + pads[axis + rank]
        out = -(-(padded - kernel[axis]) // strides[axis]) + 1
        if (out - 1) * strides[axis] >= size + pads[axis]:
            out -= 1
        ends.append(max(pads[axis + rank], strides[axis] * (out - 1) + kernel[axis] - size - pads[axis]))
    return ends

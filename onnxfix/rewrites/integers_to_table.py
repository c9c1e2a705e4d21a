"""A function of one whole number of a known range, as Gather from the table of its values.

For importers that cast no integers and know no Mod: positions that ArgMax and TopK give lie in a range, and so does what Mod, Div,
Mul and Add make of them. The table is what onnx's reference computes for every number of the range. Guard: one run-time input, of
whole numbers in 0..MAX_TABLE; the others constants of one element; the result no boolean. The same bits over 20 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.constants import evaluate
from onnxfix.rewrites._bounds import bound
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MAX_TABLE = 1 << 16


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    if facts.dtype(region.proto.output[0]) == onnx.TensorProto.BOOL:
        return Decline("it makes booleans", plain=True)
    table = table_of(region, facts)
    if isinstance(table, Decline):
        return table
    region.replace(lookup(region, "value", *table))
    return None


def lookup(region: Region, role: str, index: gs.Tensor, table: np.ndarray) -> gs.Variable:
    """The elements of a table of one axis; the axis is named from the back, which an importer with an implicit batch needs."""
    return region.layer("Gather", role, [region.constant(f"{role}_table", table), index], axis=-1)


def table_of(region: Region, facts: ScopeFacts) -> tuple[gs.Tensor, np.ndarray] | Decline:
    """The input that decides, and the node's value for each number that it can be."""
    names = region.proto.input
    slots = [slot for slot, name in enumerate(names) if not facts.is_constant(name)]
    if len({names[slot] for slot in slots}) != 1:
        return Decline("not one run-time value decides", plain=True)
    source = names[slots[0]]
    size = bound(facts, source)
    if size is None:
        return Decline(f"nothing bounds {source}", plain=True)
    if size > MAX_TABLE:
        return Decline(f"{source} has {size} possible values")
    kind = onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(source))
    feeds: dict[str, np.ndarray] = {source: np.arange(size).astype(kind)}
    for name in names:
        if name != source:
            array = facts.constant(name)
            if array is None or array.size != 1 or array.ndim > (facts.rank(source) or 0):
                return Decline("a constant beside it has more than one element")
            feeds[name] = array.reshape(())
    results = evaluate(region.proto, feeds, region.opsets)
    table = None if results is None else results.get(region.proto.output[0])
    if table is None or table.shape != (size,):
        return Decline("nothing here can compute its values")
    return region.node.inputs[slots[0]], table

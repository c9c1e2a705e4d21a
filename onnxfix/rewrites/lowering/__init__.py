"""Writing one node in an older opset: an operator whose form or meaning changed has a file here, all others a general rule.

The general rule (`_general`): a node whose attributes, inputs and element types are legal at the lower opset, and whose operator
means the same there, stays as it is (attributes that only state a newer default are dropped). Where nothing but the element type is
in the way, it is computed in a wider one (`_types`).

`lower(region, low)` of an operator's file either edits the proto into its form in opset `low`, or replaces the node by layers of
the model's own opset, which get down in the next round of the move (`opset_move`); `region.exact = False` says that those round
otherwise. What declines here is offered to the catalogue's rewrites that start from the operator, and last to the body that ONNX's
schema gives it (`_body`).

onnx's own converter is not used: it brings 13 % of the node tests down to opset 9, and changes the answer of Softmax on the way.
"""

"""Writing one node in an older opset: an operator whose form or meaning changed has a file here, all others a general rule.

The general rule: a node whose attributes, inputs and element types are legal at the lower opset, and whose operator means the same
there, stays as it is (attributes that only state a newer default are dropped). onnx's own converter is not used: it brings 13 % of
the node tests down to opset 9, and changes the answer of Softmax on the way.
"""

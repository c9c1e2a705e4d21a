"""A model with something in every corner of the format, and a few nodes that TensorRT 5.1 or 7.1 cannot parse."""

from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
from google.protobuf.internal.encoder import _VarintBytes

TEXT = """
<ir_version: 10, opset_import: ["" : 11, "my" : 3], producer_name: "pytorch", producer_version: "1.7", domain: "org.example",
 model_version: 42, doc_string: "a model", metadata_props: ["task" : "segment", "licence" : "none"]>
rich (float[1,3,8,8] x, float[1,3,8,8] z, bool flag) => (float[1,3,16,16] y, float[1,3,16,16] extra, float[1,3,8,8] side)
<float[3,1,1] slope = {0.1, 0.2, 0.3}, float[3,3,1,1] w = {1,2,3,4,5,6,7,8,9}, float[3] b = {1,2,3}, float[3,1,1] unused = {7,8,9},
 float[0] none = {}, float[4] twice = {1, 1, 2, 2}, float lo = {-1}, int64[4] sizes = {1, 3, 16, 16}>
{
  [conv] c = Conv (x, w, b)
  [act] a = PRelu (c, slope)
  [act_too] a2 = PRelu (z, slope)
  [sum] s = Add (a, a2)
  [call] f = my.Twice (s)
  [up] y = Resize <coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor"> (f, none, twice)
  [lin] extra = Resize <mode = "linear"> (f, none, none, sizes)
  [choose] side = If (flag) <
    then_branch = yes () => (float[1,3,8,8] t) { [inner] k = Clip (a, lo)  t = Relu (k) },
    else_branch = no () => (float[1,3,8,8] e) { e = Neg (a2)  drawn = RandomUniform <shape = [1]> () }>
  [dead] d = Relu (x)
}
<domain: "my", opset_import: ["" : 11], overload: "">
Twice (p) => (q) { q = Add (p, p) }
"""
# A field that no release of onnx knows, number 999, wire type 2: 3 bytes.
UNKNOWN = _VarintBytes(999 << 3 | 2) + b"\x03abc"


def rich(*, sparse: bool = True) -> onnx.ModelProto:
    """The model; without sparse initializers it can be listed for TensorRT 5.1."""
    model = onnx.parser.parse_model(TEXT)
    graph = model.graph
    graph.doc_string = "the graph"
    graph.metadata_props.add(key="graph", value="note")
    for number, node in enumerate(graph.node):
        node.doc_string = f"node {number}"
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=f"file.py:{number}")
    for branch in graph.node[7].attribute:
        branch.doc_string = "a branch"
        branch.g.doc_string = "inside"
        branch.g.node[0].metadata_props.add(key="inner", value="note")
    for tensor in graph.initializer:
        tensor.doc_string = f"about {tensor.name}"
        tensor.metadata_props.add(key="kind", value="weight")
    for value in (*graph.input, *graph.output):
        value.doc_string = f"value {value.name}"
        value.metadata_props.add(key="meaning", value=value.name)
    graph.value_info.append(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [1, 3, 8, 8], "after conv"))
    graph.value_info.append(onnx.helper.make_tensor_value_info("f", onnx.TensorProto.FLOAT, [1, 3, 8, 8]))
    note = graph.quantization_annotation.add(tensor_name="c")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="b")
    other = model.functions.add()
    other.CopyFrom(model.functions[0])
    other.overload = "other"
    other.doc_string = "never called"
    model.functions[0].doc_string = "called"
    model.functions[0].node[0].metadata_props.add(key="in", value="function")
    if sparse:
        tensor = graph.sparse_initializer.add(dims=[3])
        tensor.values.CopyFrom(onnx.numpy_helper.from_array(np.array([2.5], np.float32), "thin"))
        tensor.indices.CopyFrom(onnx.numpy_helper.from_array(np.array([1], np.int64), "thin_at"))
    model.ParseFromString(model.SerializeToString())
    graph = model.graph
    # unknown fields: on the model, the graph, two nodes, a tensor
    with_unknown(graph.node[0])
    with_unknown(graph.node[1])
    with_unknown(graph.initializer[0])
    with_unknown(graph)
    return with_unknown(model)


def with_unknown(message: Any) -> Any:
    """Merge the unknown field into a message."""
    message.MergeFromString(UNKNOWN)
    return message

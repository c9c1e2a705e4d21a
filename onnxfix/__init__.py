"""Say which nodes of an ONNX model a TensorRT release cannot parse, rewrite them, and prove the result equal."""

__version__ = "0.1.0"

"""Reading, viewing and writing ONNX models; knows nothing of TensorRT."""

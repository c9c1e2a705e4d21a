"""Builds engines with TensorRT or TensorRT-RTX, whichever is installed."""

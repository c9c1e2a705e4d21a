"""Measurements of onnxfix, each a command: `python -m benchmarks.<name>`."""

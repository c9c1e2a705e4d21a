import onnx


def parse(text: str) -> onnx.ModelProto:
    model: onnx.ModelProto = onnx.parser.parse_model(text)
    return model

from pathlib import Path

import onnx

SEED_MODELS = Path(__file__).parents[2] / "fixtures" / "seedmodels"


def parse(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def seed_model(name: str) -> Path:
    return SEED_MODELS / name

from pathlib import Path

import onnx
import pytest

SEED_MODELS = Path(__file__).parents[3] / "shared" / "seedmodels" / "models"


def parse(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def seed_model(name: str) -> Path:
    path = SEED_MODELS / name
    if not path.is_file():
        pytest.skip(f"the shared seed model {name} is not here")
    return path

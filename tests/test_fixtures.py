"""The fixtures are those that their manifest and README describe."""

import ast
import hashlib
import re
from pathlib import Path

import onnx
import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"
MODELS = sorted((FIXTURES / "seedmodels").glob("*.onnx"))
NAME = re.compile(r"torch(?P<version>[\d.]+)_(?P<case>\w+)_opset(?P<opset>\d+)\.onnx")


def parts(model: Path) -> tuple[str, str, int]:
    """PyTorch's version, the case and the opset that a file name tells."""
    match = NAME.fullmatch(model.name)
    assert match is not None, model.name
    return match["version"], match["case"], int(match["opset"])


def test_the_manifest_names_every_model_with_its_digest() -> None:
    lines = (FIXTURES / "MANIFEST.sha256").read_text().splitlines()
    digests = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert digests == {f"seedmodels/{model.name}": hashlib.sha256(model.read_bytes()).hexdigest() for model in MODELS}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_a_name_tells_the_exporter_and_the_opset(model: Path) -> None:
    version, _, opset = parts(model)
    proto = onnx.load(model)
    assert proto.producer_name == "pytorch"
    assert version.startswith(f"{proto.producer_version}.")
    assert [item.version for item in proto.opset_import if item.domain == ""] == [opset]


def test_the_models_cover_every_case_version_and_opset() -> None:
    script = ast.parse((FIXTURES / "export_seed_models.py").read_text())
    (table,) = (node.value for node in script.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CASES")
    assert isinstance(table, ast.Dict)
    cases = {key.value for key in table.keys if isinstance(key, ast.Constant)}
    assert {parts(model)[1] for model in MODELS} == cases
    assert {parts(model)[0] for model in MODELS} == {"1.2.0", "1.3.1", "1.7.1"}
    assert {parts(model)[2] for model in MODELS} == {9, 10, 11}


def test_the_table_of_the_readme_lists_the_models() -> None:
    listed = set()
    for row in re.findall(r"^\| `(\w+)` \|(.*)\|$", (FIXTURES / "README.md").read_text(), flags=re.MULTILINE):
        case, cells = row[0], row[1].split("|")
        for version, cell in zip(("1.2.0", "1.3.1", "1.7.1"), cells[1:4], strict=True):
            listed |= {(version, case, int(opset)) for opset in re.findall(r"opset (\d+)", cell)}
    assert listed == {parts(model) for model in MODELS}

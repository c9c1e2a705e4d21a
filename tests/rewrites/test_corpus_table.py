"""The table over a corpus: shapes where a release needs them, each repaired model compared once more, every outcome counted."""

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

ROOT = Path(__file__).parents[2]
table_module = pytest.importorskip("benchmarks.corpus_table", reason="benchmarks/ does not come with the source archive")

DYNAMIC = """<ir_version: 8, opset_import: ["" : 11]>
g (float[1,3,H,W] x) => (float[1,3,H2,W2] y) <float[4] scales = {1.0,1.0,2.0,2.0}> {
    y = Resize <mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric"> (x, , scales)
}"""
REFUSED = """<ir_version: 8, opset_import: ["" : 13]>
g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }"""


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(onnx.parser.parse_model(text), path)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    save(tmp_path / "trouble" / "dynamic.onnx", DYNAMIC)
    save(tmp_path / "trouble" / "plain.onnx", REFUSED)
    lines = [
        {"key": "trouble/dynamic.onnx", "feeds": [{"name": "x", "shape": [1, 3, 8, 6]}]},
        {"key": "trouble/plain.onnx", "feeds": [{"shape": [2, 3]}]},
        {"key": "trouble/refused_by_the_exporter.onnx", "status": "refused"},
    ]
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def table(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.corpus_table", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_table_gives_shapes_only_to_releases_that_need_them(corpus: Path) -> None:
    rows = corpus / "rows.jsonl"
    done = table(corpus, "-t", "trt5.1", "-t", "trt8.2", "--rows", rows)
    assert (done.returncode, done.stderr) == (0, "")
    assert "| trt5.1 | 2 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 100.0% | 1 |" in done.stdout
    assert "| trt8.2 | 2 | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 100.0% | 0 |" in done.stdout
    assert len(rows.read_text().splitlines()) == 4


def test_a_folder_without_models_is_one_line(corpus: Path) -> None:
    done = table(corpus, "--theme", "timm")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_another_value_or_shape_differs(tmp_path: Path) -> None:
    save(tmp_path / "a.onnx", REFUSED)
    for name, text in {"same": "", "value": "Sigmoid", "shape": "Transpose"}.items():
        save(tmp_path / f"{name}.onnx", REFUSED.replace("Relu", text or "Relu").replace("[2,3] y", "[N,M] y"))
    found = {name: table_module.differs(tmp_path / "a.onnx", tmp_path / f"{name}.onnx", {}) for name in ("same", "value", "shape")}
    assert found["same"] == ""
    assert found["value"].startswith("y: differs by")
    assert found["shape"] == "y: shape (3, 2), was (2, 3)"


def test_reasons_are_counted_without_names_and_numbers() -> None:
    assert table_module.kind_of("OFX101 Loop: input 'x.3' has 12 axes") == table_module.kind_of("OFX101 Loop: input 'y' has 4 axes")
    assert table_module.kind_of("OFX101 Loop: no rewrite") != table_module.kind_of("OFX102 Loop: no rewrite")


def test_what_the_parser_says_is_counted_beside_what_it_says_of_the_original() -> None:
    def result(name: str, parsed: object) -> object:
        return table_module.Result("trt5.1", "trouble", table_module.Row(name, "repaired"), parsed=parsed)

    said = [
        result("a", table_module.Parsed("")),
        result("b", table_module.Parsed("Loop: input 'x' is 3", "Loop: no")),
        result("c", table_module.Parsed("Loop: input 'y' is 4")),
        result("d", None),
    ]
    lines = table_module.asked(said, 5)
    assert lines[2:] == [
        "| trt5.1 | 3 | 1 | 2 | 1 |",
        "      2  Loop: input … is N  e.g. b for trt5.1; the original: Loop: no",
    ]


def test_the_installed_parser_is_asked_for_each_result(corpus: Path) -> None:
    pytest.importorskip("tensorrt_rtx")
    done = table(corpus, "-t", "trt5.1", "--ask-parser")
    assert (done.returncode, done.stderr) == (0, "")
    assert "| trt5.1 | 1 | 1 | 0 | 0 |" in done.stdout


def test_what_the_parser_refuses_comes_with_its_words(tmp_path: Path) -> None:
    pytest.importorskip("tensorrt_rtx")
    save(tmp_path / "good.onnx", REFUSED)
    save(
        tmp_path / "bad.onnx", REFUSED.replace("Relu", "Det").replace("float[2,3]", "float[3,3]").replace("float[3,3] y", "float y")
    )
    parser = table_module.Parser()
    try:
        assert parser.words(tmp_path / "good.onnx") == ""
        assert "Det" in parser.words(tmp_path / "bad.onnx")
    finally:
        parser.close()

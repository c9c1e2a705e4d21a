"""The layers of CONTRIBUTING.md: which part of the package may import which, and what may stand at the top of a module."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "onnxfix"
# Part, and what it must not import: a regular expression over dotted names. Imports for types alone count too.
FORBIDDEN = [
    ("model", r"onnxfix\.(?!model|errors)|tensorrt"),
    ("targets", r"onnxfix\.(?!targets|errors)|onnx$|numpy$"),
    ("checks", r"onnxfix\.(rewrites|rules|report|cli|verify|engines)|onnx_graphsurgeon"),
    ("rules", r"onnxfix\.(rewrites(?!\.catalogue)|report|cli|verify|engines)|onnx_graphsurgeon"),
    ("verify", r"onnxfix\.(rules|targets|checks|rewrites|report|cli)|onnx_graphsurgeon"),
    ("engines", r"onnxfix\.(rules|targets|checks|rewrites|report|cli)|onnx_graphsurgeon"),
    ("bench", r"onnxfix\.(rules|targets|checks|rewrites|report|cli)|onnx_graphsurgeon"),
    ("report", r"onnxfix\.(rules\.(?!finding|rule$)|checks|rewrites(?!\.catalogue)|cli|engines)|onnx_graphsurgeon"),
    ("rewrites", r"onnxfix\.(checks|report|cli|engines)"),
]
HEAVY = r"(cuda|matplotlib|numpy|onnx|onnxruntime|onnx_graphsurgeon|polygraphy|pynvml|rich|tensorrt|tensorrt_rtx)(\.|$)"


def imported(module: Path) -> Iterator[tuple[str, bool, bool]]:
    """Each module that `module` imports, whether at its top, and whether for types alone."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            names = [f"{node.module}.{alias.name}" if node.module == "onnxfix" else str(node.module) for alias in node.names]
        yield from ((name, id(node) in top, id(node) in types) for name in names)


def modules(part: str = "") -> list[Path]:
    found = sorted((PACKAGE / part).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize(("part", "pattern"), FORBIDDEN, ids=[part for part, _ in FORBIDDEN])
def test_a_part_imports_only_what_is_below_it(part: str, pattern: str) -> None:
    wrong = {(module.name, name) for module in modules(part) for name, _, _ in imported(module) if re.match(pattern, name)}
    assert wrong == set()


def test_only_the_region_runs_graphsurgeon() -> None:
    users = {
        module.relative_to(PACKAGE).as_posix()
        for module in modules()
        for name, _, types in imported(module)
        if name.startswith("onnx_graphsurgeon") and not types
    }
    assert users == {"rewrites/_region.py"}


def test_a_rewrite_does_not_read_the_view() -> None:
    """Those with an underscore are the loop and its tools, not rewrites."""
    rewrites = [module for module in modules("rewrites") if not module.name.startswith("_")]
    wrong = {
        module.name for module in rewrites for name, _, types in imported(module) if name == "onnxfix.model.view" and not types
    }
    assert wrong == set()


def test_the_command_line_imports_heavy_packages_only_where_they_are_used() -> None:
    wrong = {(module.name, name) for module in modules("cli") for name, top, _ in imported(module) if top and re.match(HEAVY, name)}
    assert wrong == set()


def test_no_module_imports_a_runtime_at_its_top() -> None:
    """Only a function may: onnxruntime, Polygraphy, rich and TensorRT are slow to load, or not there."""
    pattern = r"(cuda|matplotlib|onnxruntime|polygraphy|pynvml|rich|tensorrt|tensorrt_rtx)(\.|$)"
    wrong: set[tuple[str, str]] = set()
    for module in modules():
        tree = ast.parse(module.read_text(encoding="utf-8"))
        deferred = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in deferred:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
                wrong.update((module.relative_to(PACKAGE).as_posix(), name) for name in names if re.match(pattern, name))
    assert wrong == set()

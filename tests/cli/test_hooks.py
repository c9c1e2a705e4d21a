"""The pre-commit hooks, run by the real pre-commit in a throw-away repository with the onnxfix of this environment."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import digest, save
from .test_lint import POINTER

MANIFEST = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
PRE_COMMIT = [sys.executable, "-m", "pre_commit"]
# Refused by TensorRT 5.1, which finds initializers only among the graph's inputs; listing them is an exact fix.
UNLISTED = """<ir_version: 4, opset_import: ["" : 9]>
g (float[1,3,4,4] x) => (float[1,3,4,4] y) <float[1] w = {2}> { [n] y = Mul (x, w) }"""

pytest.importorskip("pre_commit", reason="pre-commit is not installed (pip install 'onnxfix[dev]')")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def hooks() -> list[dict[str, Any]]:
    import yaml

    found: list[dict[str, Any]] = yaml.safe_load(MANIFEST.read_text())
    return found


@pytest.fixture
def repository(folder: Path) -> Path:
    """A git repository that uses both hooks, for TensorRT 5.1."""
    shutil.rmtree(folder / ".git")
    subprocess.run(["git", "init", "-q"], check=True)
    # The hook's environment is this one: installing it anew would test pip and the network.
    local = [
        hook | {"language": "system", "entry": shlex.join([sys.executable, "-m", *shlex.split(hook["entry"])])} for hook in hooks()
    ]
    (folder / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [{"repo": "local", "hooks": local}]}))
    (folder / "onnxfix.toml").write_text('targets = ["trt5.1"]')
    return folder


def commit_hook(name: str) -> subprocess.CompletedProcess[str]:
    subprocess.run(["git", "add", "-A"], check=True)
    return subprocess.run([*PRE_COMMIT, "run", name, "--verbose"], capture_output=True, text=True, check=False)


def test_the_manifest_is_valid() -> None:
    subprocess.run([*PRE_COMMIT, "validate-manifest", str(MANIFEST)], check=True)
    assert [hook["id"] for hook in hooks()] == ["onnxfix-lint", "onnxfix-repair"]


def test_lint_passes_a_clean_model_and_fails_on_a_blocked_one(repository: Path) -> None:
    save(repository / "good.onnx")
    done = commit_hook("onnxfix-lint")
    assert done.returncode == 0, done.stdout
    save(repository / "models" / "bad.onnx", UNLISTED)
    done = commit_hook("onnxfix-lint")
    assert done.returncode == 1
    assert "exit code: 1" in done.stdout
    assert "OFX010" in done.stdout


@pytest.mark.parametrize("name", ["onnxfix-lint", "onnxfix-repair"])
def test_a_hook_fails_where_no_target_is_set(repository: Path, name: str) -> None:
    (repository / "onnxfix.toml").unlink()
    save(repository / "good.onnx")
    done = commit_hook(name)
    assert done.returncode == 1
    assert "exit code: 2" in done.stdout
    assert "error: no target: name the release" in done.stdout


def test_lint_skips_pointers_and_other_files(repository: Path) -> None:
    (repository / "pointer.onnx").write_bytes(POINTER)
    (repository / "model.onnx.txt").write_text("no model")
    done = commit_hook("onnxfix-lint")
    assert done.returncode == 0, done.stdout
    assert "Git LFS pointer" in done.stdout


def test_repair_changes_the_file_fails_once_and_then_passes(repository: Path) -> None:
    model = repository / "bad.onnx"
    save(model, UNLISTED)
    before = digest(model)
    first = commit_hook("onnxfix-repair")
    assert first.returncode == 1
    assert "exit code: 1" in first.stdout, first.stdout
    assert digest(model) != before
    assert not list(repository.glob("*.bak"))
    again = commit_hook("onnxfix-repair")
    assert again.returncode == 0, again.stdout
    assert commit_hook("onnxfix-lint").returncode == 0

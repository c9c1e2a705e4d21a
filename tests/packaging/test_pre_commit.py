"""The hooks as a user has them: pre-commit installs onnxfix from a repository at a revision, and git runs it at a commit.

What each hook does with each kind of file is tested in tests/cli/test_hooks.py, without an installation.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "fixtures" / "seedmodels"
# All findings have an exact fix; after it the model is clean.
EXACT = SEEDS / "torch1.2.0_nearest_scale8_opset9.onnx"
# The fix is equal up to rounding, which the repair hook does not do by itself.
EQUIVALENT = SEEDS / "torch1.7.1_bilinear_align_corners_opset11.onnx"
CLEAN = SEEDS / "torch1.2.0_adaptive_pool_1x1_opset9.onnx"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"

pytest.importorskip("pre_commit", reason="pre-commit is not installed (pip install 'onnxfix[dev]')")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings of the user away, pre-commit's environments in a folder that all tests here share."""
    return os.environ | {
        "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit")),
        "PIP_RETRIES": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@t",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@t",
    }


@pytest.fixture(scope="module")
def hooks(
    environment: dict[str, str], clone: Path, install: Callable[..., subprocess.CompletedProcess[str]]
) -> Callable[..., Path]:
    """Make a repository that uses the hooks named, at `clone`'s commit, for TensorRT 5.1; the hooks are installed in it."""
    revision = subprocess.run(["git", "-C", clone, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()

    def make(folder: Path, *names: str) -> Path:
        config = {"repos": [{"repo": str(clone), "rev": revision, "hooks": [{"id": name} for name in names]}]}
        (folder / ".pre-commit-config.yaml").write_text(json.dumps(config))
        (folder / "onnxfix.toml").write_text('targets = ["trt5.1"]\n')
        git(folder, environment, "init", "-q")
        done = install([sys.executable, "-m", "pre_commit", "install", "--install-hooks"], cwd=folder, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return folder

    return make


def git(folder: Path, environment: dict[str, str], *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, env=environment)


@pytest.fixture
def commit(environment: dict[str, str]) -> Callable[[Path], tuple[bool, str]]:
    """Commit all files of a repository: whether git took it, and what the hooks said."""

    def run(folder: Path) -> tuple[bool, str]:
        git(folder, environment, "add", "-A")
        done = subprocess.run(
            ["git", "commit", "-m", "models"], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode == 0, done.stdout + done.stderr

    return run


def test_lint_stops_a_commit_of_a_blocked_model_only(
    hooks: Callable[..., Path], commit: Callable[[Path], tuple[bool, str]], tmp_path: Path
) -> None:
    folder = hooks(tmp_path, "onnxfix-lint")
    (folder / "clean.onnx").write_bytes(CLEAN.read_bytes())
    (folder / "pointer.onnx").write_bytes(POINTER)
    taken, said = commit(folder)
    assert taken, said
    (folder / "blocked.onnx").write_bytes(EXACT.read_bytes())
    taken, said = commit(folder)
    assert not taken
    assert "exit code: 1" in said
    assert "OFX302" in said
    assert (folder / "blocked.onnx").read_bytes() == EXACT.read_bytes()


def test_repair_rewrites_stops_the_commit_once_and_then_lets_it_through(
    hooks: Callable[..., Path], commit: Callable[[Path], tuple[bool, str]], tmp_path: Path
) -> None:
    folder = hooks(tmp_path, "onnxfix-repair", "onnxfix-lint")
    model = folder / "models" / "decoder.onnx"
    model.parent.mkdir()
    model.write_bytes(EXACT.read_bytes())
    (folder / "pointer.onnx").write_bytes(POINTER)
    taken, said = commit(folder)
    assert not taken
    assert "files were modified by this hook" in said
    repaired = hashlib.sha256(model.read_bytes()).hexdigest()
    assert model.read_bytes() != EXACT.read_bytes()
    assert (folder / "pointer.onnx").read_bytes() == POINTER
    taken, said = commit(folder)
    assert taken, said
    assert hashlib.sha256(model.read_bytes()).hexdigest() == repaired
    assert sorted(path.name for path in folder.rglob("*") if ".git" not in path.parts and path.is_file()) == [
        ".pre-commit-config.yaml",
        "decoder.onnx",
        "onnxfix.toml",
        "pointer.onnx",
    ]


def test_repair_leaves_a_model_alone_whose_fix_is_not_exact(
    hooks: Callable[..., Path], commit: Callable[[Path], tuple[bool, str]], tmp_path: Path
) -> None:
    folder = hooks(tmp_path, "onnxfix-repair")
    (folder / "resize.onnx").write_bytes(EQUIVALENT.read_bytes())
    taken, said = commit(folder)
    assert not taken
    assert "--allow equivalent" in said
    assert (folder / "resize.onnx").read_bytes() == EQUIVALENT.read_bytes()

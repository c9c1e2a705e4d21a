"""What the distributions hold, and that an installed onnxfix finds its rules."""

import email
import email.message
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "fixtures" / "seedmodels" / "torch1.7.1_prelu_opset10.onnx"

pytest.importorskip("build", reason="build is not installed (pip install 'onnxfix[dev]')")


def python(*arguments: str, executable: Path | str = sys.executable, cwd: Path | None = None) -> str:
    done = subprocess.run([str(executable), *arguments], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, the wheel that is built from it, and `direct/` with that of the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    python("-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    python("-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder / "direct"), str(ROOT))
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


def files_below(folder: Path, prefix: str) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"{prefix}{path.relative_to(folder).as_posix()}" for path in files}


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def test_the_wheel_holds_the_package_and_the_rules_and_nothing_else(wheel: Path) -> None:
    names = {name for name in contents(wheel) if ".dist-info/" not in name}
    assert names == files_below(ROOT / "onnxfix", "onnxfix/") | files_below(ROOT / "rules", "onnxfix/_rules/")
    assert "onnxfix/py.typed" in names


def test_the_wheel_of_the_source_archive_is_that_of_the_checkout(dist: Path, wheel: Path) -> None:
    (direct,) = (dist / "direct").glob("*.whl")
    assert contents(wheel) == contents(direct)


def test_the_source_archive_holds_what_the_tests_need(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {"LICENSE", "README.md", "CONTRIBUTING.md", "pyproject.toml", ".pre-commit-hooks.yaml", "rules/targets.toml"} <= names
    assert files_below(ROOT / "fixtures" / "seedmodels", "fixtures/seedmodels/") <= names


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> email.message.Message:
    (name,) = (name for name in contents(wheel) if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(contents(wheel)[name])


def test_tensorrt_comes_only_with_an_extra(metadata: email.message.Message) -> None:
    needed = metadata.get_all("Requires-Dist") or []
    plain = {item.split(";")[0].strip() for item in needed if "extra ==" not in item}
    assert not [item for item in plain if "tensorrt" in item or "torch" in item]
    assert {re.split(r"[<>=]", item)[0] for item in plain} == {
        "click",
        "numpy",
        "onnx",
        "onnx-graphsurgeon",
        "onnxruntime",
        "polygraphy",
        "rich",
    }
    assert set(metadata.get_all("Provides-Extra") or []) == {"tensorrt", "tensorrt-rtx", "gpu", "plot", "simplify", "dev"}


def test_the_metadata_says_license_and_python(metadata: email.message.Message, wheel: Path) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert any(name.endswith("/licenses/LICENSE") for name in contents(wheel))


def environment(folder: Path, arguments: Iterable[str]) -> Path:
    """A fresh environment in which `pip install ARGUMENTS` was run; it borrows the dependencies of this one."""
    venv.create(folder, with_pip=False, symlinks=True)
    executable = folder / "bin" / "python"
    own = Path(python("-c", "import sysconfig; print(sysconfig.get_path('purelib'))", executable=executable).strip())
    # A path file adds one folder and reads no path files in it, so an editable onnxfix of this environment stays out.
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python("-m", "pip", "--python", str(executable), "install", "-q", "--no-deps", "--no-build-isolation", *arguments)
    return executable


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel."""
    return environment(tmp_path_factory.mktemp("wheel") / "env", [str(wheel)])


RULES = "from onnxfix.targets._files import rules_dir; print(rules_dir())"


def test_an_installed_wheel_finds_its_own_rules(installed: Path, tmp_path: Path) -> None:
    found = Path(python("-c", RULES, executable=installed, cwd=tmp_path).strip())
    assert found.is_relative_to(installed.parents[1])
    assert found.parts[-2:] == ("onnxfix", "_rules")
    # The figures of a model show that rule and operator files are read from there.
    done = subprocess.run([installed, "-m", "onnxfix", "lint", MODEL, "-t", "trt5.1"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "PRelu" in done.stdout


def test_the_entry_point_and_the_module_are_the_same_command(installed: Path, tmp_path: Path) -> None:
    script = subprocess.run([installed.parent / "onnxfix", "rules"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert python("-m", "onnxfix", "rules", executable=installed, cwd=tmp_path) == script.stdout
    assert "OFX101" in script.stdout


def test_an_editable_install_reads_the_rules_of_the_checkout(tmp_path: Path) -> None:
    executable = environment(tmp_path / "env", ["--editable", str(ROOT)])
    assert Path(python("-c", RULES, executable=executable, cwd=tmp_path).strip()) == ROOT / "rules"

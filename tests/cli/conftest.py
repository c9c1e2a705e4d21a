"""Runs the command line in this process, in an empty folder, with no configuration around it."""

import dataclasses
import hashlib
import io
import json
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest

from onnxfix.__main__ import main
from onnxfix.results import AppliedFix, Fidelity, LintReport, ModelInfo, RepairReport, TargetReport
from onnxfix.rewrites.options import RepairOptions
from onnxfix.rules.finding import Finding, Location, Severity, ValueRef, verdict_of
from onnxfix.targets import Evidence

SCHEMA = json.loads((Path(__file__).parents[2] / "onnxfix" / "report" / "schema.json").read_text())
CLEAN = '<ir_version: 7, opset_import: ["" : 9]> g (float[1,3,4,4] x) => (float[1,3,4,4] y) { [act] y = Relu (x) }'
CYCLE = """<ir_version: 7, opset_import: ["" : 9]> g (float[1,3,4,4] x) => (float[1,3,4,4] y)
{ [one] a = Add (x, b) [two] b = Relu (a) [three] y = Relu (b) }"""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def save(path: Path, text: str = CLEAN) -> bytes:
    """Write the model and return its bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data: bytes = onnx.parser.parse_model(text).SerializeToString()
    path.write_bytes(data)
    return data


def finding(
    code: str = "OFX401",
    *,
    target: str = "trt5.1",
    severity: Severity = Severity.ERROR,
    node: str = "up",
    message: str = 'Resize has mode="cubic"; trt5.1 takes nearest',
    **more: Any,
) -> Finding:
    names = {
        "OFX005": "support-unknown",
        "OFX101": "op-unsupported",
        "OFX401": "resize-mode",
        "OFX805": "matmul-constant-rank",
        "OFX807": "softmax-flattening",
    }
    given = {
        "location": Location("graph/node[1]", "Resize", "", node, (f"{node}_out",)),
        "values": (ValueRef("x", "input 0 (X)", "FLOAT", ("1", "3", "H", "8")),),
        "parser_message": 'Assertion failed: mode == "nearest"',
        "since": "trt8.5",
        "evidence": (Evidence("importer", "release/5.1 builtin_op_importers.cpp Resize"),),
        "fixes": ("resize_to_matmul",) if code == "OFX401" else (),
    }
    return Finding(code, names.get(code, "some-rule"), severity, target, message, **(given | more))


def model_info(path: str = "m.onnx", **more: Any) -> ModelInfo:
    given = {"sha256": "a" * 64, "size": 100, "ir_version": 7, "opset_imports": (("", 9),), "producer": "pytorch 1.7"}
    return ModelInfo(path=path, **(given | {"nodes": 412, "subgraphs": 2, "functions": 0} | more))


def target_report(*findings: Finding, target: str = "trt5.1") -> TargetReport:
    own = tuple(dataclasses.replace(each, target=target) for each in findings)
    return TargetReport(target, f"title of {target}", verdict_of(list(own)), own)


class FakeApi(types.ModuleType):
    """Stands in for onnxfix.api in tests of the command line: it finds what `findings` says and repairs as `status` says."""

    def __init__(self) -> None:
        super().__init__("onnxfix.api")
        self.findings: dict[str, list[Finding]] = {}
        self.status = "repaired"
        self.after: tuple[Finding, ...] = ()
        self.calls: list[dict[str, Any]] = []

    RepairOptions = RepairOptions

    def _info(self, loaded: Any) -> ModelInfo:
        return model_info(str(loaded.path), sha256=loaded.sha256, size=len(loaded.data), nodes=len(loaded.proto.graph.node))

    def lint_model(self, loaded: Any, targets: Any, *, selection: Any = (), shapes: Any = None) -> LintReport:
        self.calls.append({"targets": targets, "selection": selection, "shapes": shapes})
        reports = [target_report(*self.findings.get(loaded.path.name, []), target=target.id) for target in targets]
        return LintReport(self._info(loaded), tuple(reports))

    def repair_model(self, loaded: Any, targets: Any, options: Any, progress: Any = None) -> tuple[RepairReport, bytes | None]:
        self.calls.append({"targets": targets, "options": options})
        before = tuple(target_report(finding(), target=target.id) for target in targets)
        after = tuple(target_report(*self.after, target=target.id) for target in targets)
        applied = AppliedFix(
            1,
            "OFX401",
            "resize_to_matmul",
            "two MatMul",
            "equivalent",
            "graph/node[1]",
            "up",
            "Resize",
            ("Resize",),
            ("MatMul",),
        )
        report = RepairReport(
            model=self._info(loaded),
            status=self.status,
            passes=2,
            before=before if self.status != "clean" else after,
            after=after,
            applied=(applied,) if self.status in ("repaired", "partial") else (),
            declined=(),
            fidelity=Fidelity(1, 2, 0, 0, 1, 2, 0),
            proof=None,
            reason="the numbers differ" if self.status == "unproven" else "",
            diff=("- [up] y = Resize (x)", "+ [up] y = MatMul (x, w)"),
        )
        if self.status == "clean":
            return report, loaded.data
        if self.status in ("declined", "unproven"):
            return report, None
        changed = onnx.ModelProto.FromString(loaded.data)
        changed.producer_name = "repaired"
        return report, changed.SerializeToString(deterministic=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder that is the root of a repository."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("ONNXFIX_TARGETS", "ONNXFIX_SELECT", "ONNXFIX_IGNORE", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def fake_api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    api = FakeApi()
    monkeypatch.setitem(sys.modules, "onnxfix.api", api)
    return api


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call `onnxfix` with arguments (and bytes for its standard input); its exit code and what it wrote."""

    def call(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr(sys, "argv", ["onnxfix", *map(str, arguments)])
        capsys.readouterr()
        code = main()
        written = capsys.readouterr()
        assert "Traceback" not in written.err + written.out
        return Result(code, written.out, written.err)

    return call


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

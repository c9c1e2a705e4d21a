"""Text reports as people see them, against files in golden/; ONNXFIX_UPDATE_GOLDEN=1 writes these anew."""

import dataclasses
import os
from pathlib import Path

import pytest

from onnxfix.errors import escape
from onnxfix.report.console import plain
from onnxfix.report.repair_text import repair_lines
from onnxfix.report.text import View, concise_lines, grouped_lines, lint_lines, statistics_lines
from onnxfix.results import AppliedFix, DeclinedFix, Fidelity, LintReport, RepairReport
from onnxfix.rules.finding import Finding, Location, Severity, ValueRef, Verdict
from onnxfix.verify.compare import OutputProof
from onnxfix.verify.prove import Proof

from .conftest import finding, model_info, target_report

GOLDEN = Path(__file__).parent / "golden"


UP = finding()
UP_2 = dataclasses.replace(
    UP,
    location=Location("graph/node[7]", "Resize", "", "up_2", ("up_2_out",)),
    values=(ValueRef("z", "input 0 (X)", "FLOAT", None),),
)
MISH = finding(
    "OFX101",
    node="/model.22/Mish_3",
    message="Mish is not parsed by trt5.1",
    parser_message="No importer registered for op: Mish",
    location=Location("graph/node[118]", "Mish", "", "/model.22/Mish_3", ("a",)),
    since="trt9.1",
)
INT64 = finding(
    "OFX203",
    severity=Severity.WARNING,
    message="initializer 'shape' is INT64; all 4 values fit INT32",
    parser_message="",
    since="",
    location=Location("graph", outputs=("shape",)),
    values=(),
    evidence=(),
)
DIFFERENT = finding(
    "OFX807",
    message="Softmax normalises over axes 1 to 3 together; trt5.1 takes axis 1 alone",
    parser_message="",
    since="",
    location=Location("graph/node[2]", "Softmax", "", "/head/Softmax", ("s",)),
    values=(ValueRef("b", "input 0", "FLOAT", ("1", "4", "8", "8")),),
)
INVALID = finding(
    "OFX805",
    message="MatMul has a constant of rank 3 beside data of rank 3",
    parser_message="",
    since="",
    location=Location("graph/node[3]", "MatMul", "", "/head/MatMul", ("m",)),
    values=(ValueRef("a", "input 0", "FLOAT", ("1", "4", "8")), ValueRef("w", "input 1", "FLOAT", ("1", "8", "8"))),
)
UNKNOWN = finding(
    "OFX005",
    message="Einsum nothing is recorded of Einsum for trt5.1",
    unknown=True,
    parser_message="",
    since="",
    location=Location("graph/node[4]", "Einsum", "", "/e", ("e",)),
)


def report(*findings, target="trt5.1"):
    return LintReport(model_info("models/yolo.onnx"), (target_report(*findings, target=target),))


MATRIX = LintReport(
    model_info("models/yolo.onnx"),
    (
        target_report(UP, UP_2, MISH, INT64),
        target_report(UP, UNKNOWN, DIFFERENT, target="trt7.1"),
        target_report(DIFFERENT, INVALID, target="rtx1.7"),
    ),
)

APPLIED = AppliedFix(
    pass_number=1,
    rule="OFX401",
    rewrite="resize_to_matmul",
    title="two MatMul with interpolation weights",
    applicability="equivalent",
    path="graph/node[1]",
    node_name="up",
    op_type="Resize",
    removed=("Resize",),
    added=("MatMul", "MatMul"),
)
PROOF = Proof(
    samples=8,
    seed=0,
    bindings=({"batch": 1}, {"batch": 2}, {"batch": 5}),
    outputs=(OutputProof("y", "float32", (2, 3, 8, 8), 2.4e-7, 1.1e-6, 3, 0.99999999, passed=True),),
    exact=False,
    rtol=None,
    atol=None,
    passed=True,
)
REPAIRED = RepairReport(
    model=model_info("models/yolo.onnx"),
    status="repaired",
    passes=3,
    before=(target_report(UP, UP_2, INT64),),
    after=(target_report(INT64),),
    applied=(
        APPLIED,
        dataclasses.replace(APPLIED, path="graph/node[7]", node_name="up_2"),
        dataclasses.replace(
            APPLIED,
            rule="OFX701",
            rewrite="resize_sizes_keep_batch",
            title="keep batch and channels",
            applicability="consent",
            removed=(),
            added=(),
            consent="OFX701",
        ),
        AppliedFix(2, "OFX010", "list_initializers", "list the initializers", "exact", "graph", "", ""),
    ),
    declined=(),
    fidelity=Fidelity(412, 414, 410, 0, 2, 4, 30),
    proof=PROOF,
    output="models/yolo.fixed.onnx",
    output_sha256="b" * 64,
    notes=("input x was frozen to 1x3x8x8",),
    diff=("--- before", "+++ after", "@@ -1 +1 @@", "- [up] y = Resize (x)", "+ [up] y = MatMul (x, w)"),
)
DECLINED = dataclasses.replace(
    REPAIRED,
    status="declined",
    after=(target_report(UP, INT64),),
    applied=(),
    declined=(
        DeclinedFix("OFX401", "resize_to_upsample", "graph/node[1]", "up", "Resize", 'mode is "cubic"'),
        DeclinedFix("OFX401", "resize_to_gather", "graph/node[1]", "up", "Resize", 'mode is "cubic"'),
        DeclinedFix("OFX701", "resize_sizes_keep_batch", "graph/node[1]", "up", "Resize", "sizes begin with 1,1", "OFX701"),
        DeclinedFix("OFX701", "resize_sizes_keep_batch", "graph/node[7]", "up_2", "Resize", "sizes begin with 1,1", "OFX701"),
    ),
    fidelity=None,
    proof=None,
    output="",
    output_sha256="",
    notes=(),
    diff=(),
    passes=1,
)
UNPROVEN = dataclasses.replace(
    REPAIRED,
    status="unproven",
    proof=dataclasses.replace(
        PROOF,
        passed=False,
        note="the first model ran on 3 of 8 samples",
        outputs=(
            *PROOF.outputs,
            dataclasses.replace(PROOF.outputs[0], name="z", max_abs=0.5, max_rel=float("inf"), ulp_max=None, passed=False),
            dataclasses.replace(PROOF.outputs[0], name="same", max_abs=0.0, max_rel=0.0, ulp_max=0, cosine=1.0),
            dataclasses.replace(
                PROOF.outputs[0], name="w", passed=False, message="another shape: [2] instead of [1]", compared=False
            ),
        ),
    ),
    output="",
    output_sha256="",
    notes=(),
    reason="output z differs",
)
WHY = {"why": "onnxruntime: my.Secret is no registered function", "detail": "all that the runtimes say"}
REGIONS = dataclasses.replace(
    REPAIRED, notes=(), proof=dataclasses.replace(PROOF, kind="regions", bindings=({},) * 8, exact=True, **WHY)
)
STRUCTURE = dataclasses.replace(
    REPAIRED, notes=(), proof=dataclasses.replace(PROOF, kind="structure", samples=0, outputs=(), exact=True, **WHY)
)
NOWHERE = dataclasses.replace(
    UNPROVEN, proof=None, reason="the model runs nowhere (short)", detail="all that the runtimes say", faults=("OFX702",)
)
CLEAN = dataclasses.replace(
    REPAIRED, status="clean", passes=1, before=(target_report(),), after=(target_report(),), applied=(), output="", notes=()
)


DRY = dataclasses.replace(REPAIRED, output="", output_sha256="")
TEXTS = {
    "lint": lint_lines(report(MISH, UP, UP_2, INT64, DIFFERENT), View()),
    "lint_verbose": lint_lines(report(UP, UP_2, DIFFERENT), View(verbose=True)),
    "lint_quiet": lint_lines(report(UP, UP_2, INT64), View(quiet=True, minimum=Severity.ERROR)),
    "lint_clean": lint_lines(report(), View()),
    "lint_unknown": lint_lines(report(UNKNOWN), View()),
    "lint_differs": lint_lines(report(DIFFERENT), View()),
    "lint_invalid": lint_lines(report(INVALID), View()),
    "lint_two_targets": lint_lines(LintReport(MATRIX.model, MATRIX.targets[1:]), View()),
    "concise": concise_lines(MATRIX, View()),
    "grouped": grouped_lines(MATRIX, View()),
    "grouped_clean": grouped_lines(report(), View()),
    "statistics": statistics_lines([MATRIX, report(UP)], View()),
    "repair": repair_lines(REPAIRED, View(), outcome="written to models/yolo.fixed.onnx"),
    "repair_verbose_diff": repair_lines(
        DRY, View(verbose=True), outcome="nothing written (--diff)", diff_to="models/yolo.fixed.onnx"
    ),
    "repair_dry": repair_lines(DRY, View(options=("--allow", "OFX701")), outcome="nothing written (--dry-run)"),
    "repair_declined": repair_lines(DECLINED, View(), outcome="nothing written"),
    "repair_unproven": repair_lines(UNPROVEN, View(), outcome="nothing written"),
    "repair_regions": repair_lines(REGIONS, View(), outcome="written to models/yolo.fixed.onnx"),
    "repair_structure": repair_lines(STRUCTURE, View(verbose=True), outcome="written to models/yolo.fixed.onnx"),
    "repair_nowhere": repair_lines(NOWHERE, View(options=("--shape", "x:1x3", "--simplify")), outcome="nothing written"),
    "repair_nowhere_verbose": repair_lines(
        dataclasses.replace(NOWHERE, faults=(), other_inputs=True), View(verbose=True), outcome="nothing written"
    ),
    "repair_clean": repair_lines(CLEAN, View(), outcome="nothing written"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_as_recorded(name: str) -> None:
    text = plain(TEXTS[name])
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("ONNXFIX_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("found", "words", "verdict"),
    [
        (DIFFERENT, "accepted but computed differently", "is computed differently"),
        (INVALID, "accepted but without valid dimensions", "has no valid dimensions"),
    ],
    ids=["differs", "invalid"],
)
def test_what_the_parser_takes_all_the_same_never_blocks(found: Finding, words: str, verdict: str) -> None:
    only = report(found)
    assert only.targets[0].verdict is Verdict.LIKELY
    text = plain(lint_lines(only, View()))
    assert f"Verdict: likely to parse, but 1 node {verdict} (1 distinct error)." in text
    assert "blocked" not in text
    assert f"  {words}\n" in text
    assert text.count("accepted but") == 1


def test_lines_hold_no_trailing_spaces() -> None:
    for lines in (grouped_lines(MATRIX, View()), statistics_lines([MATRIX], View()), lint_lines(MATRIX, View())):
        assert all(line == line.rstrip() for line in plain(lines).splitlines())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größe ≤ 9", "größe ≤ 9"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("\u202eright to left\u2066", "\\u202eright to left\\u2066"),
        ("lone \ud800", "lone \\ud800"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, shown: str) -> None:
    assert escape(text) == shown

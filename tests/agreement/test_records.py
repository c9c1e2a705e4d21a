"""Every operator that occurs in models with recorded answers has a record for every release, and every record has its evidence."""

import onnx
import pytest

from onnxfix.targets import all_targets, op_support, recorded_operators

from .comparison import CORPUS_OPERATORS, SETS, operators

EVIDENCE = {"parser", "importer", "document", "report", "inferred"}


def test_every_operator_has_a_record_for_every_release_and_every_record_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    found = {name for collection in SETS for name in operators(collection)}
    corpus = [line.split("\t") for line in CORPUS_OPERATORS.read_text().splitlines()]
    found |= {(domain, op) for domain, op, _ in corpus}
    known = {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas()}
    targets = all_targets()
    asked = [(domain, op, target) for domain, op in sorted(found | known) for target in targets]
    without = [f"{domain}::{op} {target.id}" for domain, op, target in asked if op_support(domain, op, target) is None]
    records = [op_support(domain, op, target) for domain, op in recorded_operators() for target in targets]
    kept = [record for record in records if record is not None]
    proven = [record for record in kept if record.evidence.kind in EVIDENCE and record.evidence.ref.strip()]
    with capsys.disabled():
        print(f"\n{len(found)} operators occur, {len(corpus)} in the larger exports; onnx knows {len(known)}")
        print(f"{len(targets)} releases: {len(asked) - len(without)} of {len(asked)} have a record")
        print(f"{len(proven)} of {len(kept)} records have evidence")
    assert not without, without[:20]
    assert len(proven) == len(kept)
    assert len(found) > 200
    assert len(corpus) > 100

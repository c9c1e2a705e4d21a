"""Lint agrees with what real parsers said, but for the listed models; the published table is that of today."""

import pytest

from onnxfix.targets import all_targets, find_target

from .comparison import (
    CORPUS,
    CORPUS_FOLDER,
    PAGE,
    SETS,
    compare,
    compared,
    corpus_folder,
    disagreements,
    known,
    models,
    recorded_targets,
    section,
    taken,
)

# Of a hundred models of a set, how many may be wrong in one way on one target; what is above 1 is a debt
# that may only shrink.
LIMITS = {"node": 1.0, "lowered": 2.0, "cases": 2.0, "seedmodels": 0.0, "corpus": 2.5}
# Of a hundred models in the forms that a repair produces and that lint calls likely, how many the parser takes at least. Those of
# implicit batch refuse some broadcasts of whose ranks lint has another idea; that is a debt too.
LOWERED_TAKEN, IMPLICIT_BATCH_TAKEN = 99.0, 98.0


@pytest.mark.parametrize("collection", SETS)
def test_lint_agrees_with_the_parsers_but_for_the_listed_models(collection: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = section(collection)
    with capsys.disabled():
        print(f"\n{text}")
    today, listed = set(disagreements(collection)), set(known(collection))
    assert not today - listed, "new disagreements:\n" + "\n".join(sorted(today - listed))
    assert not listed - today, "no disagreement any more; run `python -m tests.agreement --write`:\n" + "\n".join(
        sorted(listed - today)
    )
    assert text in PAGE.read_text(), "a cell changed; run `python -m tests.agreement --write` and read the difference"
    for target, rows in compare(collection).items():
        for wrong in (sum(row.missed for row in rows), sum(row.false_alarm for row in rows)):
            assert wrong <= LIMITS[collection] / 100 * len(rows), (target, wrong, len(rows))
        assert not any(row.verdict == "unknown" for row in rows), target


def test_every_set_has_answers_of_every_recorded_target() -> None:
    assert len(recorded_targets()) == 19
    assert {name: sum(1 for _ in models(name)) for name in SETS} == {"node": 4502, "lowered": 2919, "cases": 107, "seedmodels": 27}


@pytest.mark.skipif(corpus_folder() is None, reason=f"{CORPUS_FOLDER} names no folder of larger exports")
def test_lint_agrees_with_the_parsers_on_the_larger_exports(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{section(CORPUS)}")
    here = set(compared(CORPUS))
    assert here, "no model of the corpus has a recorded answer"
    today = set(disagreements(CORPUS))
    listed = {line for line in known(CORPUS) if line.split("\t")[2] in here}
    assert not today - listed, "new disagreements:\n" + "\n".join(sorted(today - listed))
    assert not listed - today, "no disagreement any more; run `python -m tests.agreement --corpus DIR --write`:\n" + "\n".join(
        sorted(listed - today)
    )
    for target, rows in compare(CORPUS).items():
        if len(rows) < 100:
            continue  # a part of the corpus says nothing of shares
        for wrong in (sum(row.missed for row in rows), sum(row.false_alarm for row in rows)):
            assert wrong <= LIMITS[CORPUS] / 100 * len(rows), (target, wrong, len(rows))
        assert not any(row.verdict == "unknown" for row in rows), target


@pytest.mark.parametrize("target", [target.id for target in all_targets() if target.id in recorded_targets()])
def test_what_lint_calls_likely_of_repaired_forms_is_taken(target: str) -> None:
    least = IMPLICIT_BATCH_TAKEN if find_target(target).implicit_batch else LOWERED_TAKEN
    assert 100 * taken(compare("lowered")[target]) >= least

"""Lint agrees with what real parsers said: nothing refused is called likely, and few things taken are called blocked."""

import pytest

from .comparison import ALL_SEEDS, HEADINGS, RECORDS, SETS, TARGETS, Row, compare, models, table

CASES = [(collection, target) for collection in SETS for target in TARGETS]


def rows(collection: str, target: str) -> list[Row]:
    if not models(collection):
        pytest.skip(f"{ALL_SEEDS} is not here; the models in fixtures/ are tested")
    return compare(collection)[target]


def listed(wrong: list[Row]) -> str:
    return "\n".join(f"{row.model}: parser {row.parser} {row.operator}, lint {row.verdict} {row.named}" for row in wrong)


@pytest.mark.parametrize(("collection", "target"), CASES)
def test_no_model_that_the_parser_refuses_is_called_likely(collection: str, target: str) -> None:
    wrong = [row for row in rows(collection, target) if row.missed]
    assert not wrong, listed(wrong)


@pytest.mark.parametrize(("collection", "target"), CASES)
def test_at_most_two_in_a_hundred_models_that_the_parser_takes_are_called_blocked(collection: str, target: str) -> None:
    taken = [row for row in rows(collection, target) if row.parser == "ok"]
    wrong = [row for row in taken if row.false_alarm]
    assert len(wrong) <= 0.02 * len(taken), listed(wrong)


@pytest.mark.parametrize(("collection", "target"), CASES)
def test_the_first_error_names_the_operator_that_the_parser_names(collection: str, target: str) -> None:
    named = [row for row in rows(collection, target) if row.parser == "no" and row.operator]
    wrong = [row for row in named if row.names_another]
    assert len(wrong) <= 0.05 * len(named), listed(wrong)


@pytest.mark.parametrize(("collection", "target"), CASES)
def test_every_model_of_the_sets_has_a_record_and_so_a_verdict(collection: str, target: str) -> None:
    unknown = [row for row in rows(collection, target) if row.verdict == "unknown"]
    assert not unknown, listed(unknown)


def test_the_tables_and_the_models_belong_together() -> None:
    for target in TARGETS:
        ids = [line.split("\t")[0] for line in (RECORDS / "lowered" / f"{target}.tsv").read_text().splitlines()]
        assert sorted(ids) == sorted(models("lowered"))
        seeds = {line.split("\t")[0] for line in (RECORDS / "seedmodels" / f"{target}.tsv").read_text().splitlines()}
        assert len(seeds) == 140
        assert set(models("seedmodels")) <= seeds


def test_the_matrix_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\n" + "\n".join([*HEADINGS, *(line for name in SETS if models(name) for line in table(name))]))
    assert all(compare("lowered")[target] for target in TARGETS)

"""Lint says what public reports say of the small models; the entries that it gets wrong are listed with the reason."""

import pytest

from .comparison import PAGE, models
from .reports import known, reports, section, wrong


def test_lint_says_what_public_reports_say_but_for_the_listed_entries(capsys: pytest.CaptureFixture[str]) -> None:
    text = section()
    with capsys.disabled():
        print(f"\n{text}")
    today = {(report.case, report.target) for report in wrong()}
    assert not today - known().keys(), f"new wrong entries: {sorted(today - known().keys())}"
    assert not known().keys() - today, "right by now; run `python -m tests.agreement --write`"
    assert all(known().values()), "known_wrong_reports.tsv: an entry has no reason"
    assert text in PAGE.read_text(), "a cell changed; run `python -m tests.agreement --write` and read the difference"


def test_at_least_97_percent_of_the_entries_come_out_right() -> None:
    assert len(wrong()) <= 0.03 * len(reports())


def test_every_entry_is_about_a_bundled_model() -> None:
    assert len(reports()) == 486
    assert {report.case for report in reports()} == set(dict(models("cases")))

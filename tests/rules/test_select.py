"""Which rules count: codes and prefixes, the longer one wins; and what findings make of a verdict."""

import pytest

from onnxfix.errors import UsageError
from onnxfix.rules.finding import Finding, Location, Severity, Verdict, verdict_of
from onnxfix.rules.select import Selection, check_prefixes


def found(code: str, severity: Severity = Severity.ERROR, unknown: bool = False, path: str = "graph/node[0]") -> Finding:
    return Finding(code, "x", severity, "trt5.1", "Relu x", Location(path, "Relu", "", "n", ("y",)), unknown=unknown)


class TestPrefixes:
    def test_commas_case_and_blanks_do_not_matter(self) -> None:
        assert check_prefixes(("ofx1, OFX302", " all "), "--select") == ("OFX1", "OFX302", "ALL")

    def test_a_prefix_that_no_rule_has_is_refused_with_the_option_and_a_close_code(self) -> None:
        with pytest.raises(UsageError, match=r"^--ignore: no rule begins with 'OFX303X'; did you mean 'OFX303'\?$"):
            check_prefixes(("OFX303X",), "--ignore")

    @pytest.mark.parametrize(
        ("select", "ignore", "code", "counts"),
        [
            ((), (), "OFX101", True),
            (("OFX1",), (), "OFX101", True),
            (("OFX1",), (), "OFX201", False),
            ((), ("OFX1",), "OFX101", False),
            (("OFX101",), ("OFX1",), "OFX101", True),
            (("OFX1",), ("OFX101",), "OFX101", False),
            (("OFX1",), ("OFX101",), "OFX102", True),
            (("OFX101",), ("OFX101",), "OFX101", False),
            (("ALL",), (), "OFX807", True),
            (("OFX8",), ("ALL",), "OFX807", True),
            (("OFX8", "ALL"), ("OFX80",), "OFX807", False),
            (("OFX807",), ("ALL",), "OFX807", True),
        ],
    )
    def test_the_longer_prefix_wins_and_ignoring_wins_a_tie(
        self, select: tuple[str, ...], ignore: tuple[str, ...], code: str, counts: bool
    ) -> None:
        assert (code in Selection(select, ignore)) is counts

    def test_findings_are_filtered_in_order(self) -> None:
        findings = [found("OFX101"), found("OFX201"), found("OFX102")]
        assert [item.code for item in Selection(("OFX1",)).apply(findings)] == ["OFX101", "OFX102"]


class TestVerdict:
    @pytest.mark.parametrize(
        ("findings", "verdict"),
        [
            ([], Verdict.LIKELY),
            ([found("OFX101")], Verdict.BLOCKED),
            ([found("OFX005", unknown=True)], Verdict.UNKNOWN),
            ([found("OFX005", unknown=True), found("OFX101")], Verdict.BLOCKED),
            ([found("OFX005", unknown=True), found("OFX801")], Verdict.UNKNOWN),
            ([found("OFX701"), found("OFX805")], Verdict.LIKELY),
            ([found("OFX701", Severity.WARNING)], Verdict.LIKELY),
            ([found("OFX101", Severity.WARNING)], Verdict.LIKELY),
        ],
    )
    def test_refusals_block_missing_records_make_unknown_advice_and_other_numbers_do_neither(
        self, findings: list[Finding], verdict: Verdict
    ) -> None:
        assert verdict_of(findings) is verdict

    def test_static_findings_never_say_parsed(self) -> None:
        assert verdict_of([]) is not Verdict.PARSED


class TestIdentity:
    def test_the_key_stays_when_a_node_is_inserted_before(self) -> None:
        assert found("OFX101").key == found("OFX101", path="graph/node[7]").key
        assert found("OFX101").id == found("OFX101", path="graph/node[7]").id

    def test_the_key_tells_rules_and_targets_apart(self) -> None:
        assert found("OFX101").id != found("OFX102").id

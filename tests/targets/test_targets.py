"""Targets are names in an order, found by id, alias, patch release or range; no record is never support."""

import re

import pytest

from onnxfix.errors import UsageError
from onnxfix.targets import all_targets, find_target, find_targets, first_accepting, neighbours, op_support, resolve


def ids(expression: str) -> list[str]:
    return [target.id for target in find_targets(expression)]


def test_releases_of_a_family_stand_in_the_order_of_their_numbers() -> None:
    for family in ("trt", "rtx"):
        numbers = [tuple(map(int, t.id[3:].split("-")[0].split("."))) for t in all_targets() if t.family == family]
        assert numbers == sorted(numbers)
        assert numbers
    assert [target.position for target in all_targets()] == list(range(len(all_targets())))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("trt5.1", "trt5.1"),
        ("5.1", "trt5.1"),
        ("TRT5.1", "trt5.1"),
        (" trt5.1 ", "trt5.1"),
        ("5.1.5", "trt5.1"),
        ("trt7.1.3.0", "trt7.1"),
        ("JetPack4.5.1", "trt7.1"),
        ("rtx", "rtx1.7"),
        ("rtx1.7.1.116", "rtx1.7"),
        ("trt8.6.1", "trt8.6"),
        ("trt10", "trt10.16"),
        ("8", "trt8.6"),
        ("rtx1", "rtx1.7"),
    ],
)
def test_a_target_is_found_by_id_number_patch_release_and_alias(name: str, wanted: str) -> None:
    assert find_target(name).id == wanted


def test_every_alias_is_a_name() -> None:
    for target in all_targets():
        assert all(find_target(alias) is target for alias in target.aliases)


@pytest.mark.parametrize("name", ["trt4", "4", "1.7", "trt5.10", "tensorrt5.1", "", "trt5.1x"])
def test_other_names_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_target(name)
    assert f"unknown target {name!r}" in str(caught.value)
    assert str(caught.value).endswith(f"Known: {', '.join(target.id for target in all_targets())}")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("trt71", "trt7.1"),
        ("trt5.3", "trt5.1"),
        ("trt12", "trt11.5"),
        ("9.9", "trt9.3"),
        ("jetpack4.2.1", "jetpack4.2.2"),
        ("rtx2", "rtx1.7"),
    ],
)
def test_a_typing_error_gets_the_nearest_name(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"did you mean '{re.escape(meant)}'\?"):
        find_target(name)


def between(low: str, high: str) -> list[str]:
    positions = range(find_target(low).position, find_target(high).position + 1)
    return [target.id for target in all_targets() if target.position in positions]


EVERY = [target.id for target in all_targets()]
OLDEST, NEWEST = (next(t.id for t in order if t.family == "trt") for order in (all_targets(), all_targets()[::-1]))


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("all", EVERY),
        ("..", EVERY),
        ("trt5.1..trt7.1", between("trt5.1", "trt7.1")),
        ("5.1..7.1", between("trt5.1", "trt7.1")),
        ("trt5.1..trt5.1", ["trt5.1"]),
        ("trt7.1..", between("trt7.1", NEWEST)),
        ("..trt7.1", between(OLDEST, "trt7.1")),
        ("trt5.1..jetpack4.5", between("trt5.1", "trt7.1")),
    ],
)
def test_a_range_holds_both_ends_and_stays_in_its_family(expression: str, wanted: list[str]) -> None:
    assert ids(expression) == wanted


def test_an_open_range_does_not_run_into_the_next_family() -> None:
    assert not any(name.startswith("rtx") for name in ids("trt5.1.."))
    assert all(name.startswith("rtx") for name in ids("..rtx1.7"))


@pytest.mark.parametrize("expression", ["trt7.1..trt5.1", "trt5.1..rtx1.7"])
def test_a_range_backwards_or_across_families_is_refused(expression: str) -> None:
    with pytest.raises(UsageError, match="is empty; write the older release first, both of one family"):
        find_targets(expression)


def test_several_expressions_give_each_target_once_oldest_first() -> None:
    found = [target.id for target in resolve(("rtx1.7, trt7.1", "5.1..7.1", ","))]
    assert found == [*between("trt5.1", "trt7.1"), "rtx1.7"]
    assert resolve(()) == ()


def test_what_is_not_recorded_is_not_supported() -> None:
    for target in all_targets():
        assert op_support("", "NoSuchOperator", target) is None
        assert op_support("com.acme", "NoSuchOperator", target) is None


def test_a_domain_without_records_goes_by_the_operator_s_name() -> None:
    for target in all_targets():
        assert op_support("com.acme", "Relu", target) is op_support("", "Relu", target)
        plugin = op_support("com.microsoft", "FusedConv", target)
        assert plugin is not None
        assert plugin.status in ("no", "plugin")


def test_the_first_accepting_release_is_a_later_one_of_the_same_family() -> None:
    old, new, rtx = (find_target(name) for name in ("trt5.1", "trt7.1", "rtx1.7"))
    later = first_accepting("", "Resize", old)
    assert later is not None
    assert later.family == "trt"
    assert old.position < later.position <= new.position
    assert first_accepting("", "Resize", rtx) is None
    assert first_accepting("", "NoSuchOperator", old) is None


def test_an_implicit_batch_belongs_to_old_releases_alone() -> None:
    """The last parser without explicit batch is that of 6.0."""
    assert find_target("trt5.1").implicit_batch
    assert all(target.position < find_target("trt7.1").position for target in all_targets() if target.implicit_batch)


def test_the_nearest_releases_with_a_record_are_the_neighbours() -> None:
    assert op_support("", "Affine", find_target("trt10.5")) is None
    known = [(other.id, support.status) for other, support in neighbours("", "Affine", find_target("trt10.5"))]
    assert known == [("trt10.1", "no")]
    assert neighbours("", "NoSuchOperator", find_target("trt10.5")) == ()

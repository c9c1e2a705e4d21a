"""Polynomials agree with plain arithmetic at every assignment, and what is said of signs and wholeness holds."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxfix.model.dims import Names, Number, Poly, divide

from .programs import value_at

H, W = Poly.name("h"), Poly.name("w")
BINDINGS = st.fixed_dictionaries({"h": st.integers(0, 50), "w": st.integers(0, 50)})
COEFFICIENTS = st.integers(-6, 6) | st.builds(Fraction, st.integers(-9, 9), st.sampled_from([2, 3, 4]))


@st.composite
def numbers(draw: st.DrawFn) -> Number:
    total: Number = draw(COEFFICIENTS)
    for _ in range(draw(st.integers(0, 3))):
        term: Number = draw(COEFFICIENTS)
        for name in draw(st.lists(st.sampled_from([H, W]), max_size=2)):
            term = term * name
        total = total + term
    return total


def at(number: Number, binding: dict[str, int], names: Names | None = None) -> Fraction:
    return value_at(number, binding, names or Names())


@settings(deadline=None)
@given(numbers(), numbers(), BINDINGS)
def test_sums_products_and_negation_agree_with_plain_numbers(a: Number, b: Number, binding: dict[str, int]) -> None:
    x, y = at(a, binding), at(b, binding)
    assert at(a + b, binding) == x + y
    assert at(a - b, binding) == x - y
    assert at(a * b, binding) == x * y
    assert at(-a, binding) == -x


@settings(deadline=None)
@given(numbers(), numbers())
def test_equal_numbers_are_equal_however_they_were_made(a: Number, b: Number) -> None:
    assert (a + b) * (a - b) == a * a - b * b
    assert hash((a + b) * (a - b)) == hash(a * a - b * b)
    assert a - a == 0


@settings(deadline=None)
@given(numbers(), numbers(), BINDINGS)
def test_an_exact_quotient_times_the_divisor_is_the_dividend(a: Number, b: Number, binding: dict[str, int]) -> None:
    quotient = divide(a, b)
    if quotient is not None:
        assert at(quotient, binding) * at(b, binding) == at(a, binding)
    product = a * b
    if b != 0 and (not isinstance(b, Poly) or len(b.terms) == 1):
        assert divide(product, b) == a


@settings(deadline=None, max_examples=300)
@given(numbers(), BINDINGS)
def test_floor_and_ceil_agree_with_plain_numbers(a: Number, binding: dict[str, int]) -> None:
    names = Names()
    exact = at(a, binding)
    assert at(names.floor(a), binding, names) == exact.numerator // exact.denominator
    assert at(names.ceil(a), binding, names) == -(-exact.numerator // exact.denominator)
    assert names.floor(names.floor(a)) == names.floor(a)
    assert names.is_whole(names.floor(a))


@settings(deadline=None, max_examples=300)
@given(numbers(), numbers(), BINDINGS)
def test_integer_division_truncates_towards_zero(a: Number, b: Number, binding: dict[str, int]) -> None:
    names = Names()
    a, b = names.floor(a), names.floor(b)
    x, y = at(a, binding, names), at(b, binding, names)
    if y == 0:
        return
    truncated = abs(x) // abs(y)
    assert at(names.truncated_quotient(a, b), binding, names) == (truncated if (x < 0) == (y < 0) else -truncated)


@settings(deadline=None, max_examples=300)
@given(numbers(), numbers(), BINDINGS)
def test_what_is_said_of_sign_and_wholeness_holds(a: Number, b: Number, binding: dict[str, int]) -> None:
    names = Names()
    made = [a, names.floor(a), names.ceil(a), names.extreme("min", a, b), names.extreme("max", a, b), a * names.floor(b)]
    for number in made:
        value = at(number, binding, names)
        assert value >= 0 or not names.never_negative(number)
        assert value.denominator == 1 or not names.is_whole(number)
    assert at(made[3], binding, names) == min(at(a, binding), at(b, binding))
    assert at(made[4], binding, names) == max(at(a, binding), at(b, binding))


@settings(deadline=None)
@given(numbers(), st.fixed_dictionaries({"h": st.integers(1, 50), "w": st.integers(1, 50)}))
def test_a_lower_bound_is_one_for_all_sizes_from_1_on(a: Number, binding: dict[str, int]) -> None:
    names = Names()
    for number in (a, names.floor(a), names.extreme("max", a, H + 2), names.extreme("min", H, W) + H):
        value = at(number, binding, names)
        assert value >= names.smallest(number) or value < 0
    assert names.smallest(8 * H + 2) == 10


def test_the_same_expression_gets_the_same_name_and_another_another() -> None:
    names = Names()
    assert names.floor(H * Fraction(1, 2)) == names.floor(Fraction(1, 2) * H)
    assert names.floor(H * Fraction(1, 2)) != names.floor(H * Fraction(1, 3))
    assert names.extreme("min", H, 9) == names.extreme("min", 9, H)
    assert names.extreme("min", H, 9) != names.extreme("max", H, 9)


def test_names_of_long_expressions_stay_short() -> None:
    names, value = Names(), H
    for _ in range(40):
        value = names.extreme("max", value * W, H + 1)  # type: ignore[assignment]
    assert len(repr(value)) < 60


def test_a_negative_floor_is_not_taken_for_a_dimension() -> None:
    names = Names()
    half = names.floor(-H * Fraction(1, 2))
    assert not names.never_negative(half)
    assert names.never_negative(names.floor(H * Fraction(1, 2)))


def test_a_division_that_may_be_negative_is_no_floor() -> None:
    names = Names()
    quotient = names.truncated_quotient(H - 5, 2)  # h = 2: -1, the floor would be -2
    assert at(quotient, {"h": 2}, names) == -1
    assert at(names.truncated_quotient(H + 5, 2), {"h": 2}, names) == 3
    assert names.truncated_quotient(8 * H, H) == 8
    assert names.truncated_quotient(8 * H + 4, 4) == 2 * H + 1
    assert names.truncated_quotient(-7, 2) == -3


def test_a_polynomial_that_is_constant_is_a_plain_number() -> None:
    assert H + 1 - H == 1
    assert isinstance(H + 1 - H, int)
    assert H * 0 == 0
    assert isinstance(H * Fraction(1, 2) + 2 - H * Fraction(1, 2), int)


def test_no_quotient_by_zero_and_none_that_is_no_polynomial() -> None:
    assert divide(H, 0) is None
    assert divide(H, H + 1) is None
    assert divide(3, H) is None
    assert divide(0, H) == 0
    assert divide(2 * H + 2 * W, H + W) == 2
    assert divide(H * W, H) == W


@pytest.mark.parametrize(
    ("number", "text"),
    [(8 * H, "8*h"), (H * H * W - 1, "h^2*w-1"), (H - W, "h-w"), (H * Fraction(1, 2), "1/2*h"), (-H + 3, "-h+3")],
)
def test_polynomials_read_as_people_write_them(number: Number, text: str) -> None:
    assert str(number) == text

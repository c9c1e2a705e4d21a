"""Polynomials of named dimensions: the numbers that shape arithmetic computes.

A number is an `int`, a `Fraction`, or a `Poly` over named dimensions; a `Poly` that simplifies to a constant becomes a plain
number, so two numbers are equal for every value of the names exactly when they compare equal. Names stand for integers that
are not negative, dimensions. What has no polynomial form (`floor(h/2)`, `min(h, 9)`) is given a name of its own by a `Names`
table, the same name for the same expression, so that cost stays linear in the number of operations; the table knows which of
its names may stand for fractions or for negative numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Number: TypeAlias = "int | Fraction | Poly"
Monomial: TypeAlias = tuple[tuple[str, int], ...]


def plain(value: Fraction) -> int | Fraction:
    """The value as an int where it is whole."""
    return value.numerator if value.denominator == 1 else value


class Poly:
    """A sum of coefficient * product(name ** power); immutable and never constant."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: dict[Monomial, int | Fraction]) -> None:
        self.terms = terms
        self._hash: int | None = None

    @staticmethod
    def name(name: str) -> Poly:
        """The polynomial that is one named dimension."""
        return Poly({((name, 1),): 1})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __add__(self, other: Number) -> Number:
        terms = dict(self.terms)
        for monomial, coefficient in _terms(other).items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _make(terms)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __sub__(self, other: Number) -> Number:
        return self + (-other)

    def __rsub__(self, other: Number) -> Number:
        return (-self) + other

    def __mul__(self, other: Number) -> Number:
        terms: dict[Monomial, int | Fraction] = {}
        for left, a in self.terms.items():
            for right, b in _terms(other).items():
                product = _times(left, right)
                terms[product] = terms.get(product, 0) + a * b
        return _make(terms)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        parts = []
        for monomial, coefficient in sorted(self.terms.items(), key=lambda item: (-len(item[0]), item[0])):
            names = "*".join(name if power == 1 else f"{name}^{power}" for name, power in monomial)
            if not names:
                parts.append(str(coefficient))
            elif abs(coefficient) == 1:
                parts.append(names if coefficient == 1 else f"-{names}")
            else:
                parts.append(f"{coefficient}*{names}")
        return "+".join(parts).replace("+-", "-")


def _terms(number: Number) -> dict[Monomial, int | Fraction]:
    return number.terms if isinstance(number, Poly) else {(): number}


def _make(terms: dict[Monomial, int | Fraction]) -> Number:
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient != 0}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return plain(Fraction(kept[()]))
    return Poly(kept)


def _times(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def value_at(value: Number, sizes: Mapping[str, int]) -> Fraction | None:
    """The number for given sizes of the dimensions; None where one of its names has none."""
    if not isinstance(value, Poly):
        return Fraction(value)
    total = Fraction(0)
    for monomial, coefficient in value.terms.items():
        term = Fraction(coefficient)
        for name, power in monomial:
            if name not in sizes:
                return None
            term *= Fraction(sizes[name]) ** power
        total += term
    return total


def divide(dividend: Number, divisor: Number) -> Number | None:
    """The exact quotient where it is a polynomial, else None (also for a divisor of 0)."""
    if not isinstance(divisor, Poly):
        if divisor == 0:
            return None
        return (
            dividend * Fraction(1, 1) * (1 / Fraction(divisor))
            if isinstance(dividend, Poly)
            else plain(Fraction(dividend) / Fraction(divisor))
        )
    if dividend == 0:
        return 0
    if not isinstance(dividend, Poly):
        return None
    if len(divisor.terms) == 1:
        ((monomial, coefficient),) = divisor.terms.items()
        inverse = tuple((name, -power) for name, power in monomial)
        terms: dict[Monomial, int | Fraction] = {}
        for left, a in dividend.terms.items():
            product = _times(left, inverse)
            if any(power < 0 for _, power in product):
                return None
            terms[product] = Fraction(a) / coefficient
        return _make(terms)
    lead = max(divisor.terms)
    if lead not in dividend.terms:
        return None
    ratio = Fraction(dividend.terms[lead]) / divisor.terms[lead]
    return plain(ratio) if divisor * ratio == dividend else None


class Names:
    """Gives expressions without a polynomial form a name, the same one for the same expression."""

    __slots__ = ("_fractional", "_known", "_made", "_signed")

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], str] = {}
        self._made: set[str] = set()
        self._fractional: set[str] = set()
        self._signed: set[str] = set()

    def opaque(self, kind: str, *args: Number, whole: bool, signed: bool) -> Poly:
        """A name for `kind(*args)`, which is `whole` where it always stands for an integer, `signed` where it may be negative."""
        key = (kind, *args)
        name = self._known.get(key)
        if name is None:
            text = f"{kind}({','.join(map(str, args))})"
            name = text if len(text) <= 40 else f"{kind}#{len(self._known)}"
            self._known[key] = name
            self._made.add(name)
            if not whole:
                self._fractional.add(name)
            if signed:
                self._signed.add(name)
        return Poly.name(name)

    def is_whole(self, value: Number) -> bool:
        """True where the value is an integer for all dimensions."""
        if not isinstance(value, Poly):
            return Fraction(value).denominator == 1
        return all(self._is_whole_term(monomial, coefficient) for monomial, coefficient in value.terms.items())

    def _is_whole_term(self, monomial: Monomial, coefficient: int | Fraction) -> bool:
        return Fraction(coefficient).denominator == 1 and not any(name in self._fractional for name, _ in monomial)

    def is_rounded(self, value: Number) -> bool:
        """True where the value is made of a quotient that floating point may have rounded."""
        return isinstance(value, Poly) and any(name in self._fractional for monomial in value.terms for name, _ in monomial)

    def never_negative(self, value: Number) -> bool:
        """True where the value is at least 0 for all dimensions; a sum with positive coefficients is known to be."""
        if not isinstance(value, Poly):
            return value >= 0
        return all(
            coefficient > 0 and not any(name in self._signed for name, _ in monomial)
            for monomial, coefficient in value.terms.items()
        )

    def smallest(self, value: Number) -> int | Fraction:
        """A lower bound of a value that is never negative, where every dimension is at least 1; 0 where nothing more is known."""
        if not isinstance(value, Poly):
            return value
        if not self.never_negative(value):
            return 0
        known = (c for monomial, c in value.terms.items() if not any(name in self._made for name, _ in monomial))
        return sum(known, start=Fraction(0))

    def floor(self, value: Number) -> Number:
        """The largest integer not above `value`."""
        if not isinstance(value, Poly):
            return value if isinstance(value, int) else value.numerator // value.denominator
        whole = {monomial: c for monomial, c in value.terms.items() if self._is_whole_term(monomial, c)}
        if len(whole) == len(value.terms):
            return value
        rest = _make({monomial: c for monomial, c in value.terms.items() if monomial not in whole})
        if not isinstance(rest, Poly):
            return _make(whole) + self.floor(rest)
        return _make(whole) + self.opaque("floor", rest, whole=True, signed=not self.never_negative(rest))

    def ceil(self, value: Number) -> Number:
        """The smallest integer not below `value`."""
        return -self.floor(-value)

    def extreme(self, kind: str, left: Number, right: Number) -> Number:
        """The smaller (`kind` is `min`) or the larger (`max`) of two numbers."""
        difference = left - right
        if not isinstance(difference, Poly):
            return left if (difference < 0) == (kind == "min") else right
        signs = [self.never_negative(left), self.never_negative(right)]
        return self.opaque(
            kind,
            *sorted((left, right), key=str),
            whole=self.is_whole(left) and self.is_whole(right),
            signed=not (all(signs) if kind == "min" else any(signs)),
        )

    def truncated_quotient(self, dividend: Number, divisor: Number) -> Number:
        """Integer division as ONNX's Div on integers does it: towards zero."""
        if not isinstance(dividend, Poly) and not isinstance(divisor, Poly) and divisor != 0:
            quotient = abs(Fraction(dividend)) // abs(Fraction(divisor))
            return quotient if (dividend < 0) == (divisor < 0) else -quotient
        exact = divide(dividend, divisor)
        if exact is not None and self.is_whole(exact):
            return exact
        positive = self.never_negative(dividend) and self.never_negative(divisor)
        if positive and not isinstance(divisor, Poly) and divisor != 0:
            return self.floor(dividend * (1 / Fraction(divisor)))  # floor and truncation agree
        return self.opaque("div", dividend, divisor, whole=True, signed=not positive)

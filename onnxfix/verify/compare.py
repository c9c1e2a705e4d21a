"""Compares one output of two models: largest errors, and whether they stay within the budget of its element type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxfix.verify.aten import Array

# Relative error allowed by default, by element type. Everything else has to be equal.
RTOL: Mapping[str, float] = {
    "float64": 1e-10,
    "float32": 1e-5,
    "float16": 5e-3,
    "bfloat16": 2e-2,
    "complex64": 1e-5,
    "complex128": 1e-10,
}
_ORDERED: Mapping[str, type[np.unsignedinteger]] = {
    "float64": np.uint64,
    "float32": np.uint32,
    "float16": np.uint16,
    "bfloat16": np.uint16,
}


@dataclass(frozen=True, slots=True)
class OutputProof:
    """What the comparison of one output found; over several samples, the worst of each figure.

    Attributes:
        name: the output.
        dtype: its element type, in numpy's words.
        shape: its shape in the sample with the largest absolute error.
        max_abs: largest absolute difference between finite values.
        max_rel: largest difference relative to the first model's value, where that is finite and not zero.
        ulp_max: largest number of representable values between the two, None where the type is no real float.
        cosine: smallest cosine of the angle between the two outputs as vectors, over values finite in both.
        passed: whether every element is within the budget.
        message: what is wrong, empty where nothing is.
        compared: False where there was nothing to compare, such as another shape; then the figures say nothing.
        noise: whether it is outside the fixed budget, and within the rounding noise of the first model.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    max_abs: float
    max_rel: float
    ulp_max: int | None
    cosine: float
    passed: bool
    message: str = ""
    compared: bool = True
    noise: bool = False

    @property
    def figures(self) -> str:
        """The figures as text."""
        ulp = f", ulp {self.ulp_max}" if self.ulp_max is not None else ""
        return f"max abs {self.max_abs:.2g}, max rel {self.max_rel:.2g}{ulp}, cosine {self.cosine:.7f}"

    def worst_with(self, other: OutputProof) -> OutputProof:
        """The worse figures of the two."""
        ulps = [proof.ulp_max for proof in (self, other) if proof.ulp_max is not None]
        larger = other if other.max_abs > self.max_abs else self
        return OutputProof(
            self.name,
            larger.dtype,
            larger.shape,
            larger.max_abs,
            max(self.max_rel, other.max_rel),
            max(ulps, default=None),
            min(self.cosine, other.cosine),
            self.passed and other.passed,
            other.message if self.compared and not other.compared else self.message or other.message,
            self.compared and other.compared,
            self.noise or other.noise,
        )


def failure(name: str, message: str, dtype: str = "", shape: tuple[int, ...] = ()) -> OutputProof:
    """The proof of an output that could not be compared at all; its figures say nothing."""
    return OutputProof(name, dtype, shape, 0.0, 0.0, None, 0.0, False, message, compared=False)


def budget(rtol: float, atol: float | None) -> str:
    """The largest error that `compare` allows, as a formula over the first model's values."""
    if atol is None:
        return f"{rtol:g} * (|value| + largest |value|)"
    return f"{atol:g} + {rtol:g} * |value|" if rtol else f"{atol:g}"


def compare(
    name: str,
    before: object,
    after: object,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    exact: bool = False,
) -> OutputProof:
    """Compare an output of the original model with that of the other.

    An element passes where `|after - before| <= atol + rtol * |before|`; NaN has to meet NaN, an infinity the same one.
    Integers, booleans and strings have to be equal.

    Args:
        name: the output.
        before: an array, or a list of arrays for a sequence.
        after: the same of the other model.
        rtol: relative error allowed in floats; by default that of the element type in RTOL.
        atol: absolute error allowed in floats; by default `rtol` times the largest finite magnitude in `before`.
        exact: floats have to be equal as well (0.0 equals -0.0, NaN equals NaN).
    """
    if isinstance(before, list) or isinstance(after, list):
        return _compare_sequences(name, before, after, rtol, atol, exact)
    if before is None or after is None:
        same = before is None and after is None
        return OutputProof(name, "none", (), 0.0, 0.0, None, 1.0, same, "" if same else "only one of the two is empty")
    a, b = np.asarray(after), np.asarray(before)
    if a.dtype != b.dtype:
        return failure(name, f"another element type: {_word(a)} instead of {_word(b)}", _word(b), b.shape)
    if a.shape != b.shape:
        return failure(name, f"another shape: {list(a.shape)} instead of {list(b.shape)}", _word(b), b.shape)
    word = _word(b)
    if word not in RTOL:
        return _compare_equal(name, b, a)
    if b.dtype.kind == "c":
        real = np.float32 if word == "complex64" else np.float64
        a, b = np.ascontiguousarray(a).view(real), np.ascontiguousarray(b).view(real)
    relative = RTOL[word] if rtol is None else rtol
    return _compare_floats(name, word, b, a, relative, atol, exact)


def _word(array: Array) -> str:
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def _compare_floats(name: str, word: str, b: Array, a: Array, rtol: float, atol: float | None, exact: bool) -> OutputProof:
    with np.errstate(all="ignore"):
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        same = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
        if same.all():
            return OutputProof(name, word, b.shape, 0.0, 0.0, 0 if word in _ORDERED else None, 1.0, True)
        finite = np.isfinite(wide_a) & np.isfinite(wide_b)
        difference = np.where(finite, np.abs(wide_a - wide_b), 0.0)
        magnitude = np.where(finite, np.abs(wide_b), 0.0)
        if atol is None:
            finite_b = np.abs(wide_b[np.isfinite(wide_b)])
            atol = rtol * float(finite_b.max(initial=0.0))
        within = same if exact else same | (finite & (difference <= atol + rtol * magnitude))
        relative = np.divide(difference, magnitude, out=np.zeros_like(difference), where=magnitude > 0)
    passed = bool(within.all())
    message = ""
    if not passed:
        message = _first_failure(within, b, a)
    return OutputProof(
        name,
        word,
        b.shape,
        float(difference.max(initial=0.0)),
        float(relative.max(initial=0.0)),
        _ulps(b, a, finite, word),
        _cosine(wide_b[finite], wide_a[finite]),
        passed,
        message,
    )


def largest_difference(before: Array, after: Array) -> float:
    """The largest absolute difference of two floating-point arrays of one shape, where both are finite: `max_abs` alone."""
    if before.dtype.kind == "c":
        real = np.float32 if before.dtype == np.complex64 else np.float64
        before, after = np.ascontiguousarray(before).view(real), np.ascontiguousarray(after).view(real)
    a, b = after.astype(np.float64), before.astype(np.float64)
    difference = np.abs(np.subtract(a, b, out=np.zeros(b.shape), where=np.isfinite(a) & np.isfinite(b)))
    return float(difference.max(initial=0.0))


def _compare_equal(name: str, b: Array, a: Array) -> OutputProof:
    # What is not equal to itself is NaN: eight-bit floats have it too.
    same = np.asarray((a == b) | ((a != a) & (b != b)))
    message = "" if same.all() else _first_failure(same, b, a)
    if b.dtype.kind in "OSU":
        return OutputProof(name, "string", b.shape, 0.0, 0.0, None, float(same.all()), bool(same.all()), message)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(wide_a) & np.isfinite(wide_b)
    difference = np.abs(np.subtract(wide_a, wide_b, out=np.zeros(b.shape), where=finite))
    magnitude = np.abs(wide_b, out=np.zeros(b.shape), where=finite)
    relative = np.divide(difference, magnitude, out=np.zeros(b.shape), where=magnitude > 0)
    return OutputProof(
        name,
        _word(b),
        b.shape,
        float(difference.max(initial=0.0)),
        float(relative.max(initial=0.0)),
        None,
        _cosine(wide_b[finite], wide_a[finite]),
        bool(same.all()),
        message,
    )


def _compare_sequences(
    name: str, before: object, after: object, rtol: float | None, atol: float | None, exact: bool
) -> OutputProof:
    if not isinstance(before, list) or not isinstance(after, list):
        return failure(name, "only one of the two is a sequence")
    if len(before) != len(after):
        return failure(name, f"a sequence of {len(before)} became one of {len(after)}")
    worst = OutputProof(name, "sequence", (len(before),), 0.0, 0.0, None, 1.0, True)
    for b, a in zip(before, after, strict=True):
        worst = worst.worst_with(compare(name, b, a, rtol=rtol, atol=atol, exact=exact))
    return worst


def _first_failure(within: Array, b: Array, a: Array) -> str:
    wrong = int(within.size - np.count_nonzero(within))
    where = tuple(int(i) for i in np.argwhere(~np.atleast_1d(within))[0])
    at = where if b.ndim else ()
    return f"{wrong} of {within.size} elements differ, first at {list(at)}: {b[at]} became {a[at]}"


def _cosine(b: Array, a: Array) -> float:
    a, b = a.reshape(-1), b.reshape(-1)
    # Scaled first, so that no square overflows.
    largest_a, largest_b = float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0))
    if largest_a == 0.0 or largest_b == 0.0 or np.array_equal(a, b):
        return 1.0 if largest_a == largest_b else 0.0
    a, b = a / largest_a, b / largest_b
    return min(float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))), 1.0)


def _ulps(b: Array, a: Array, finite: Array, word: str) -> int | None:
    """The largest distance, counted in representable values; 0.0 and -0.0 are the same one."""
    unsigned = _ORDERED.get(word)
    if unsigned is None:
        return None

    def ordered(array: Array) -> Array:
        """Integers in the order of the floats: those below zero mirrored, so that neighbours differ by one."""
        bits = np.ascontiguousarray(array).view(unsigned).reshape(array.shape)
        sign = unsigned(1 << (bits.dtype.itemsize * 8 - 1))
        return np.asarray(np.where(bits & sign, sign - (bits & ~sign), bits | sign))

    x, y = ordered(a), ordered(b)
    return int(np.where(finite, np.maximum(x, y) - np.minimum(x, y), unsigned(0)).max(initial=0))

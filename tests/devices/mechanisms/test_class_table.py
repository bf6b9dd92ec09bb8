"""The public table of a vote: bytes, code book, evidence of a neighbour; logarithms in whole numbers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

import numpy as np
import pytest

from ldpsim.devices.mechanisms.class_table import (
    MOST_ROWS,
    UNIT_BITS,
    UNKNOWN,
    ClassTable,
    as_text,
    coded,
    falling_powers,
    from_text,
    logarithm,
    quantised,
    read_codes,
    table_text,
)

RNG = np.random.default_rng(4)
Q = np.array([[0.7, 0.2, 0.1], [0, 0, 0], [0, 0, 3.0], [0.3, 0.3, 0.4]])


def rows_of(kinds: int, classes: int, people: int) -> np.ndarray:
    """Return a table with this many different rows, one of them unknown."""
    made = np.zeros((0, classes), np.uint8)
    while len(made) < kinds - 1:
        more = RNG.integers(0, UNKNOWN, (4 * kinds, classes)).astype(np.uint8)
        made = np.unique(np.concatenate([made, more]), axis=0)
    kept = np.concatenate([RNG.permutation(made)[: kinds - 1], np.full((1, classes), UNKNOWN, np.uint8)])
    return kept[RNG.permutation(np.arange(people) % kinds)]


def test_a_byte_is_a_sixteenth_of_a_nat_below_the_likeliest_class() -> None:
    rows = quantised(Q)
    assert rows[1].tolist() == [UNKNOWN] * 3 and rows[2].tolist() == [254, 254, 0]
    given = np.log(Q[[0, 3]] / Q[[0, 3]].max(axis=1, keepdims=True))
    assert np.abs(given + rows[[0, 3]] / 16).max() <= 1 / 32 + 1e-12


@pytest.mark.parametrize("homophily", [0, 45_000, 60_000])
def test_evidence_is_the_logarithm_of_the_mixture(homophily: int) -> None:
    table, share, known = ClassTable.read(table_text(Q), 4, 3, homophily), homophily / (1 << 16), [0, 2, 3]
    weights = np.exp(quantised(Q)[known] / -16.0)
    wanted = np.log(share * weights + (1 - share) / 3 * weights.sum(axis=1, keepdims=True))
    found = table.evidence[table.row_of[known], :3] / (1 << 16)
    assert found - found[:, :1] == pytest.approx(wanted - wanted[:, :1], abs=1e-4)
    assert table.evidence[table.row_of[[0, 1, 2, 3, 4]], 3].tolist() == [1, 0, 1, 1, 0]  # known, and nobody
    assert not table.evidence[table.row_of[[1, 4]]].any() and not table.own[table.row_of[1]].any()
    assert np.array_equal(table.own[table.row_of[known]], -quantised(Q)[known].astype(int) << 12)
    assert table.ranked.tolist() == [[0, 1, 2], [0, 1, 2], [2, 0, 1], [2, 0, 1]]


@pytest.mark.parametrize("classes", [1, 3, 12])
@pytest.mark.parametrize(("kinds", "halves"), [(2, True), (16, True), (17, False), (200, False)])
def test_up_to_255_different_rows_stay_as_they_are(kinds: int, halves: bool, classes: int) -> None:
    for people in (kinds, kinds + 1, 501):
        rows = rows_of(kinds, classes, people)
        data = coded(rows)
        assert len(data) == 1 + kinds * classes + (-(-people // 2) if halves else people)
        book, codes = read_codes(data, people, classes)
        assert np.array_equal(book[codes], rows) and book.tolist() == np.unique(rows, axis=0).tolist()


def test_more_rows_are_rounded_to_near_ones() -> None:
    q = RNG.dirichlet(np.ones(4) / 2, 3000)
    q[7] = 0
    book, codes = read_codes(coded(quantised(q)), 3000, 4)
    assert len(book) <= MOST_ROWS
    kept = np.where(book[codes] == UNKNOWN, 0, np.exp(book[codes] / -16.0))
    assert not kept[7].any() and np.count_nonzero(~kept.any(axis=1)) == 1
    known = np.arange(3000) != 7
    kept = kept[known] / kept[known].sum(axis=1, keepdims=True)
    apart = np.sqrt(((np.sqrt(kept) - np.sqrt(q[known])) ** 2).sum(axis=1) / 2)  # Hellinger's distance, up to 1
    assert apart.mean() < 0.07 and apart.max() < 0.16


def test_the_bytes_are_those_for_ever() -> None:
    q = np.array([[1, 0], [0, 0], [1, 1], [1, 0], [0, 1.0]])
    assert coded(quantised(q)).tolist() == [4, 0, 0, 0, 254, 254, 0, 255, 255, 1 | 3 << 4, 0 | 1 << 4, 2]


@pytest.mark.parametrize("change", [
    lambda d: d.clear(), lambda d: d.pop(), lambda d: d.append(0), lambda d: d.__setitem__(0, 0),
    lambda d: d.__setitem__(0, 3), lambda d: d.__setitem__(0, 255),
    lambda d: d.__setitem__(-1, d[-1] | 16),  # the last half is not 0
    lambda d: d.__setitem__(-1, 4),  # a code beyond the book
    lambda d: d.__setitem__(-1, 0),  # nobody has a row
    lambda d: d.__setitem__(slice(1, 5), [0, 254, 0, 0]),  # rows out of order
    lambda d: d.__setitem__(slice(1, 5), [0, 0, 0, 0]),  # a row twice
])  # fmt: skip
def test_a_device_refuses_every_other_form(change: Callable[[list[int]], object]) -> None:
    data = coded(quantised(np.array([[1, 0], [0, 0], [1, 1], [1, 0], [0, 1.0]])))
    other = data.tolist()
    change(other)
    with pytest.raises(ValueError):
        read_codes(np.array(other, np.uint8), 5, 2)


def test_a_byte_for_few_rows_and_a_row_that_is_no_distribution_are_refused() -> None:
    book = np.unique(rows_of(5, 3, 60), axis=0)
    wide = np.concatenate([[5], book.ravel(), np.arange(60) % 5]).astype(np.uint8)
    with pytest.raises(ValueError, match="a code for each person"):
        read_codes(wide, 60, 3)
    half_known = as_text(np.array([2, 0, UNKNOWN, UNKNOWN, UNKNOWN, 0x10], np.uint8))
    with pytest.raises(ValueError, match="row 0 of the table"):
        ClassTable.read(half_known, 2, 2, 0)


@pytest.mark.parametrize("text", ["", "AAAA=", "AA==", "AAB=", "A A=", None, 7])
def test_there_is_one_text_for_some_bytes(text: object) -> None:
    assert from_text(as_text(np.zeros(2, np.uint8))).tolist() == [0, 0] and as_text(np.zeros(2, np.uint8)) == "AAA="
    assert len(from_text(text)) in (0, 1) and (len(from_text(text)) == 0 or text == "AA==")


@pytest.mark.parametrize("q", [[[0.5, -0.1]], [[np.nan, 1]], [[np.inf, 1]], [0.5, 0.5], np.zeros((0, 2))])
def test_probabilities_that_are_none_are_refused(q: list) -> None:
    with pytest.raises(ValueError):
        table_text(np.array(q))


def test_logarithms_are_right_to_a_unit() -> None:
    rng = np.random.default_rng(3)
    numbers = np.concatenate([
        np.arange(1, 3000), 1 << np.arange(62), (1 << np.arange(2, 62)) - 1, rng.integers(1, 1 << 62, 5000),
        (1 << rng.integers(1, 62, 5000)) + rng.integers(0, 1 << 20, 5000),
    ])  # fmt: skip
    exact = np.array([math.log(number) for number in numbers.tolist()]) * (1 << UNIT_BITS)
    assert np.abs(logarithm(numbers) - exact).max() < 0.6


def test_powers_are_rounded_to_the_nearest() -> None:
    powers = falling_powers(16, 256, one=1 << 24)
    exact = np.exp(-np.arange(256) / 16) * (1 << 24)
    assert np.abs(powers - exact).max() < 0.5000001 and powers[0] == 1 << 24 and powers.min() >= 2


def test_the_numbers_are_the_same_for_ever() -> None:
    """The bytes of every answer hang on them; this digest holds on any machine."""
    numbers = np.arange(1, 200_000, 7) ** 3
    taken = logarithm(numbers).astype("<i8").tobytes() + falling_powers(16, 256, one=1 << 24).astype("<i8").tobytes()
    assert hashlib.sha256(taken).hexdigest() == "4d2db168f35f6621732be102c82bcb6b2ed19f9a1839733864501d0d63c1c2e2"

"""A code book: the rows it keeps, its one form in bytes, and what a device refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ldpsim.devices.mechanisms import OwnFeaturesVote
from ldpsim.devices.mechanisms.class_table import as_text, quantised
from ldpsim.devices.mechanisms.code_book import MOST_ROWS, UNKNOWN, coded, different_rows, full_rows, read_codes
from ldpsim.devices.query import Ask, InvalidQuery, Query

RNG = np.random.default_rng(4)


def rows_of(kinds: int, classes: int, people: int) -> np.ndarray:
    """Return a table with this many different rows, one of them unknown."""
    made = np.zeros((0, classes), np.uint8)
    while len(made) < kinds - 1:
        more = RNG.integers(0, UNKNOWN, (4 * kinds, classes)).astype(np.uint8)
        made = np.unique(np.concatenate([made, more]), axis=0)
    kept = np.concatenate([RNG.permutation(made)[: kinds - 1], np.full((1, classes), UNKNOWN, np.uint8)])
    return kept[RNG.permutation(np.arange(people) % kinds)]


@pytest.mark.parametrize("classes", [1, 2, 4, 5, 12])
@pytest.mark.parametrize(("kinds", "halves"), [(2, True), (16, True), (17, False), (200, False)])
def test_up_to_255_different_rows_are_kept(kinds: int, halves: bool, classes: int) -> None:
    for people in (kinds, kinds + 1, 501):
        rows = rows_of(kinds, classes, people)
        data = coded(rows)
        assert len(data) == 1 + kinds * classes + (-(-people // 2) if halves else people)
        book, codes = read_codes(data, people, classes)
        assert np.array_equal(book[codes], rows) and book.tolist() == np.unique(rows, axis=0).tolist()


@pytest.mark.parametrize("classes", [1, 3, 4, 9, 30])
def test_different_rows_are_those_of_numpy(classes: int) -> None:
    rows = RNG.integers(250, 256, (400, classes)).astype(np.uint8)
    book, which = different_rows(rows)
    assert np.array_equal(book, np.unique(rows, axis=0)) and np.array_equal(book[which], rows)


def test_more_rows_are_rounded_to_near_ones() -> None:
    q = RNG.dirichlet(np.ones(4) / 2, 3000)
    q[7] = 0
    book, codes = read_codes(coded(full_rows(q)), 3000, 4)
    assert len(book) <= MOST_ROWS
    kept = np.where(book[codes] == UNKNOWN, 0, np.exp(book[codes] / -16.0))
    assert not kept[7].any() and np.count_nonzero(~kept.any(axis=1)) == 1
    known = np.arange(3000) != 7
    kept = kept[known] / kept[known].sum(axis=1, keepdims=True)
    apart = np.sqrt(((np.sqrt(kept) - np.sqrt(q[known])) ** 2).sum(axis=1) / 2)  # Hellinger's distance, up to 1
    assert apart.mean() < 0.06 and apart.max() < 0.15
    assert np.array_equal(coded(full_rows(q)), coded(full_rows(q)))


def test_the_bytes_are_those_for_ever() -> None:
    q = np.array([[1, 0], [0, 0], [1, 1], [1, 0], [0, 1.0]])
    assert coded(full_rows(q)).tolist() == [4, 0, 0, 0, 254, 254, 0, 255, 255, 1 | 3 << 4, 0 | 1 << 4, 2]


Change = Callable[[list[int]], object]


@pytest.mark.parametrize("change", [
    lambda d: d.clear(), lambda d: d.pop(), lambda d: d.append(0), lambda d: d.__setitem__(0, 0),
    lambda d: d.__setitem__(0, 3), lambda d: d.__setitem__(0, 255),
    lambda d: d.__setitem__(-1, d[-1] | 16),  # the last half is not 0
    lambda d: d.__setitem__(-1, 4), lambda d: d.__setitem__(-2, 0x44),  # codes beyond the book
    lambda d: d.__setitem__(-1, 0),  # nobody has a row
    lambda d: d.__setitem__(slice(1, 5), [0, 254, 0, 0]),  # rows out of order
    lambda d: d.__setitem__(slice(1, 5), [0, 0, 0, 0]),  # a row twice
])  # fmt: skip
def test_a_device_refuses_every_other_form(change: Change) -> None:
    data = coded(full_rows(np.array([[1, 0], [0, 0], [1, 1], [1, 0], [0, 1.0]])))
    other = data.tolist()
    change(other)
    with pytest.raises(ValueError):
        read_codes(np.array(other, np.uint8), 5, 2)
    read_codes(data, 5, 2)


def test_a_code_of_a_byte_beyond_the_book_and_a_byte_for_few_rows_are_refused() -> None:
    rows = rows_of(17, 3, 60)
    data = coded(rows)
    data[-1] = 17
    with pytest.raises(ValueError, match="not those of its rows"):
        read_codes(data, 60, 3)
    book = np.unique(rows_of(5, 3, 60), axis=0)
    wide = np.concatenate([[5], book.ravel(), np.arange(60) % 5]).astype(np.uint8)
    with pytest.raises(ValueError, match="a code for each person"):
        read_codes(wide, 60, 3)


def test_a_question_with_another_form_is_malformed_before_any_data_are_read() -> None:
    vote = next(v for v, _ in OwnFeaturesVote.audit_examples() if getattr(v, "form") == "codes")  # noqa: B009
    assert isinstance(vote, OwnFeaturesVote)
    text = Query("c", ((Ask("adjacency", (vote,)),),)).to_bytes().decode()
    assert Query.from_bytes(text.encode()).asks[0].mechanisms == (vote,)
    half_known = as_text(np.array([2, 0, 255, 0, 255, 255, 255, 0x10, 0, 0], np.uint8))  # unknown in part
    for table in ("", "AAAA", vote.table + "AAAA", quantised(np.eye(3), "codes"), half_known):
        with pytest.raises(InvalidQuery):
            Query.from_bytes(text.replace(vote.table, table).encode())
    with pytest.raises(InvalidQuery):  # a table for so many people is not even laid out
        Query.from_bytes(text.replace('"people":5', '"people":1000000000000').encode())

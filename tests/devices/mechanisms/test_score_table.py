"""The public table of scores: its bytes, a list's sum, and the rows of class distributions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ldpsim.devices.data.records import Record, Records, records_by_column
from ldpsim.devices.mechanisms.base64_text import as_text, from_text
from ldpsim.devices.mechanisms.score_rows import UNKNOWN, affinity, different_rows, quantised, score_table
from ldpsim.devices.mechanisms.score_table import MOST_ROWS, ScoreTable

RNG = np.random.default_rng(4)
Q = np.array([[0.7, 0.2, 0.1], [0, 0, 0], [0, 0, 3.0], [0.3, 0.3, 0.4]])
SHARES = np.array([0.5, 0.3, 0.2])
STEP = 1 << 8  # steps of a nat
UNIT = 1 << 16


def lists(*friends: tuple[int, ...]) -> Records:
    nothing = np.zeros(0)
    return records_by_column(
        [Record(nothing.astype(np.int32), nothing.astype(np.float32), np.array(near, np.int32), 0) for near in friends]
    )


# --- scores of class distributions --------------------------------------------------------


def test_a_byte_is_a_sixteenth_of_a_nat_below_the_likeliest_class() -> None:
    rows = quantised(Q)
    assert rows[1].tolist() == [UNKNOWN] * 3 and rows[2].tolist() == [254, 254, 0]
    given = np.log(Q[[0, 3]] / Q[[0, 3]].max(axis=1, keepdims=True))
    assert np.abs(given + rows[[0, 3]] / 16).max() <= 1 / 32 + 1e-12


@pytest.mark.parametrize("homophily", [-0.6, 0.0, 0.3, 0.8])
def test_a_score_is_the_log_likelihood_ratio_of_the_affinity(homophily: float) -> None:
    """By hand: ln of the sum over k of H(c, k) P(k) / pi_k, with the probabilities that the bytes stand for."""
    table = score_table(Q, affinity(homophily, SHARES), SHARES, own=True)
    for person in (0, 2, 3):
        p = np.exp(quantised(Q)[person] / -16.0)
        p /= p.sum()
        for c in range(3):
            if homophily >= 0:
                ratio = homophily * p[c] / SHARES[c] + 1 - homophily
            else:
                ratio = (1 + homophily * p[c]) / (1 + homophily * SHARES[c])
            assert table.rows[table.codes[person], c] / STEP == pytest.approx(math.log(ratio), abs=0.51 / STEP)
        assert table.own is not None
        assert table.own[table.codes[person]].tolist() == (-16 * quantised(Q)[person].astype(int)).tolist()
    assert not table.rows[table.codes[1]].any()


def test_friends_of_every_class_have_a_row_of_their_own() -> None:
    """Two classes that meet crosswise: a friend of class 0 speaks for class 1."""
    crosswise = np.array([[0.1, 0.9], [0.8, 0.2]])
    table = score_table(np.eye(2), crosswise, np.array([0.5, 0.5]))
    wanted = np.log(2 * np.array([[0.1, 0.8], [0.9, 0.2]]))
    assert table.rows[table.codes] / STEP == pytest.approx(wanted, abs=0.51 / STEP)


@pytest.mark.parametrize("friends", [np.eye(3), np.ones((2, 2)), np.array([[1.5, -0.5], [0.5, 0.5]])])
def test_an_affinity_is_a_distribution_for_each_class(friends: np.ndarray) -> None:
    with pytest.raises(ValueError, match="an affinity has a distribution over 2 classes"):
        score_table(np.eye(2), friends)


@pytest.mark.parametrize("homophily", [-1.01, 1.01, math.nan])
def test_a_homophily_lies_between_minus_one_and_one(homophily: float) -> None:
    with pytest.raises(ValueError, match="a homophily must be"):
        affinity(homophily, SHARES)
    for fits in (-1.0, 0.0, 1.0):
        assert affinity(fits, SHARES).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("q", [[[0.5, -0.1]], [[np.nan, 1]], [[np.inf, 1]], [0.5, 0.5], np.zeros((0, 2))])
def test_probabilities_that_are_none_are_refused(q: list) -> None:
    with pytest.raises(ValueError):
        score_table(np.array(q), np.eye(2))


def test_more_rows_are_rounded_to_near_ones() -> None:
    q = RNG.dirichlet(np.ones(4) / 2, 3000)
    q[7] = 0
    book, codes = different_rows(quantised(q))
    assert len(book) <= MOST_ROWS
    kept = np.where(book[codes] == UNKNOWN, 0, np.exp(book[codes] / -16.0))
    assert not kept[7].any() and np.count_nonzero(~kept.any(axis=1)) == 1
    known = np.arange(3000) != 7
    kept /= np.where(known, kept.sum(axis=1), 1)[:, None]
    apart = np.abs(np.log(kept[known] + 0.02) - np.log(q[known] + 0.02)).max(axis=1)
    assert np.quantile(apart, 0.9) < 0.5


# --- a list's score -----------------------------------------------------------------------


@pytest.mark.parametrize("saturation", [1, 10, 1 << 20])
def test_each_further_friend_counts_less(saturation: int) -> None:
    """By hand: people of whom nothing is known do not count, and a second mention counts again."""
    rows = np.array([[256, -128], [0, 0], [-64, 512]])
    table = ScoreTable.of(rows, np.array([0, 0, 1, 2, 2]))
    given = [(), (0,), (0, 3), (0, 2, 3, 4), (0, 0, 3)]
    scores, known = table.list_scores(lists(*given), np.full(5, 1), saturation=saturation)
    for friends, found, count in zip(given, scores, known, strict=True):
        terms = [rows[[0, 0, 1, 2, 2][j]] for j in friends]
        seen = [term for term in terms if term.any()]
        total = sum(seen, np.zeros(2, int)) * 256
        shared = saturation + max(1, len(seen)) - 1
        assert count == len(seen)
        assert found.tolist() == [part * saturation // shared for part in total.tolist()]


def test_the_own_number_and_people_after_a_device_of_one_end_are_left_out() -> None:
    table = ScoreTable.of(np.array([[256, 0], [0, 256]]), np.array([0, 1, 1, 0]))
    both, _ = table.list_scores(lists((0, 2, 3)), np.array([2]), saturation=1 << 20)
    alone, known = table.list_scores(lists((0, 2, 3)), np.array([2]), saturation=1 << 20, one_end=True)
    assert both.tolist() != alone.tolist() == [[UNIT, 0]] and known.tolist() == [1]
    wild, _ = table.list_scores(lists((-7, 99)), np.array([1]), saturation=1 << 20)
    near, _ = table.list_scores(lists((0, 3)), np.array([1]), saturation=1 << 20)
    assert wild.tolist() == near.tolist()


# --- bytes --------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("kinds", "paired"), [(2, True), (16, True), (17, False), (200, False)])
def test_a_table_is_read_back(kinds: int, paired: bool, own: bool) -> None:
    for people in (kinds, kinds + 1, 501):
        rows = np.unique(RNG.integers(-(1 << 15) + 1, 1 << 15, (kinds, 3)), axis=0)
        codes = RNG.permutation(np.arange(people) % len(rows))
        table = ScoreTable.of(rows, codes, -rows if own else None)
        of_codes = -(-people // 2) if paired else people
        assert table.size == len(from_text(table.as_text())) == 1 + len(rows) * 6 * (1 + own) + of_codes
        again = ScoreTable.read(table.as_text(), people, 3, own=own)
        assert np.array_equal(again.rows[again.codes], rows[codes])
        assert (again.own is None) is (not own)
        assert again.own is None or np.array_equal(again.own[again.codes], -rows[codes])


def test_equal_rows_become_one_and_rows_that_nobody_has_leave() -> None:
    table = ScoreTable.of(np.array([[5, 1], [9, 9], [5, 1], [-3, 0]]), np.array([2, 0, 3, 0]))
    assert table.rows.tolist() == [[-3, 0], [5, 1]] and table.codes.tolist() == [1, 1, 0, 1]
    large = ScoreTable.of(np.array([[1 << 40, -(1 << 40)]]), np.zeros(3, np.int64))
    assert large.rows.tolist() == [[(1 << 15) - 1, -(1 << 15) + 1]]
    with pytest.raises(ValueError, match="at most 255 different rows, not 256"):
        ScoreTable.of(np.arange(512).reshape(256, 2), np.arange(256))
    with pytest.raises(ValueError, match="a row for each person"):
        ScoreTable.of(np.zeros((1, 2), np.int64), np.zeros(0, np.int64))
    with pytest.raises(ValueError, match="longer than a question may be"):
        ScoreTable.of(np.arange(40).reshape(20, 2), np.arange(3_100_000) % 20)


FIVE = ScoreTable.of(np.array([[-256, 0], [0, 0], [256, 7]]), np.array([2, 1, 0, 2, 0]))


@pytest.mark.parametrize("change", [
    lambda d: d.clear(), lambda d: d.pop(), lambda d: d.append(0), lambda d: d.__setitem__(0, 0),
    lambda d: d.__setitem__(0, 4), lambda d: d.__setitem__(0, 255),
    lambda d: d.__setitem__(-1, d[-1] | 16),  # the last half is not 0
    lambda d: d.__setitem__(-1, 4),  # a code beyond the book
    lambda d: d.__setitem__(slice(-3, None), [0x22, 0x22, 2]),  # nobody has a row
    lambda d: d.__setitem__(slice(1, 9), d[5:9] + d[1:5]),  # rows out of order
    lambda d: d.__setitem__(slice(1, 5), d[5:9]),  # a row twice
    lambda d: d.__setitem__(slice(1, 5), [0, 0, 0, 0]),  # a score that no table has
])  # fmt: skip
def test_a_device_refuses_every_other_form(change: Callable[[list[int]], object]) -> None:
    data = from_text(FIVE.as_text()).tolist()
    assert np.array_equal(ScoreTable.read(FIVE.as_text(), 5, 2).codes, FIVE.codes)
    change(data)
    with pytest.raises(ValueError):
        ScoreTable.read(as_text(np.array(data, np.uint8)), 5, 2)


def test_a_byte_for_few_rows_is_refused() -> None:
    wide = np.concatenate([from_text(FIVE.as_text())[: 1 + 3 * 4], FIVE.codes])
    with pytest.raises(ValueError, match="a code for each person"):
        ScoreTable.read(as_text(wide), 5, 2)


@pytest.mark.parametrize("text", ["", "AAAA=", "AA==", "AAB=", "A A=", None, 7])
def test_there_is_one_text_for_some_bytes(text: object) -> None:
    assert from_text(as_text(np.zeros(2, np.uint8))).tolist() == [0, 0] and as_text(np.zeros(2, np.uint8)) == "AAA="
    assert len(from_text(text)) in (0, 1) and (len(from_text(text)) == 0 or text == "AA==")

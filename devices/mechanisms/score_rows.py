"""Rows of a score table from class distributions: at most 255 different ones, and the affinity that they stand for."""

from __future__ import annotations

import numpy as np

from ldpsim.devices.array_types import DoubleArray, FloatArray, IntArray
from ldpsim.devices.mechanisms.base64_text import Bytes
from ldpsim.devices.mechanisms.score_table import MOST_ROWS, STEP_BITS, ScoreTable

UNKNOWN = 255
STEPS_PER_NAT = 16  # of a probability that is rounded
_MIXED = 0.02  # probability that is added before two rows are compared
_SMALLEST = 1e-9  # likelihood ratio
_GRID = 1 << 12  # distances are whole numbers, so the same rows are near ones on every machine


def affinity(homophily: float, shares: DoubleArray) -> DoubleArray:
    """float64 (classes, classes): H of friends who are of one's own class beyond chance with probability h.

        H(c, k) = h [c = k] + (1 - h) pi_k,                        0 <= h <= 1,
        H(c, k) = pi_k (1 + h [c = k]) / (1 + h pi_c),            -1 <= h < 0: friends of one's own class are rarer.

    Args:
        homophily: h.
        shares: float64 (classes,): pi, of any scale.

    Raises:
        ValueError: for a homophily below -1 or above 1.

    >>> affinity(0.5, np.array([1, 1])).tolist(), affinity(-1, np.array([1, 1])).tolist()
    ([[0.75, 0.25], [0.25, 0.75]], [[0.0, 1.0], [1.0, 0.0]])
    """
    if not -1 <= homophily <= 1:
        raise ValueError(f"a homophily must be -1..1, not {homophily}")
    pi = shares / shares.sum()
    same = np.eye(len(pi))
    if homophily >= 0:
        return np.asarray(homophily * same + (1 - homophily) * pi)
    return np.asarray(pi * (1 + homophily * same) / (1 + homophily * pi)[:, None])


def score_table(
    probabilities: FloatArray, friends: DoubleArray, shares: DoubleArray | None = None, *, own: bool = False
) -> ScoreTable:
    """Return the table of these class distributions.

    Args:
        probabilities: (n, classes): P, 0 or more, rows of any scale; a row of zeros is an unknown person.
        friends: float64 (classes, classes): H, rows that add up to 1.
        shares: float64 (classes,): pi, of any scale; None: all classes are alike.
        own: Whether the table has ln P_j(c) of people for themselves, too.

    Raises:
        ValueError: for another shape, a number that is negative or not finite, or more people than a question can hold.
    """
    q = np.asarray(probabilities, np.float64)
    if q.ndim != 2 or not q.size:
        raise ValueError(f"a table has a row for each person and a column for each class, not {q.shape}")
    if not (np.isfinite(q).all() and (q >= 0).all()):
        raise ValueError("a class probability is negative or not finite")
    classes = q.shape[1]
    if friends.shape != (classes, classes) or not (friends >= 0).all() or not np.allclose(friends.sum(axis=1), 1):
        raise ValueError(f"an affinity has a distribution over {classes} classes for each of them")
    pi = np.ones(classes) if shares is None else np.asarray(shares, np.float64)
    book, codes = different_rows(quantised(q))
    unknown = (book == UNKNOWN).all(axis=1)
    p = np.where(unknown[:, None], 0.0, np.exp(book / -STEPS_PER_NAT))
    p /= np.where(unknown, 1.0, p.sum(axis=1))[:, None]
    scores = friend_scores(p, friends, pi)
    steps = np.where(unknown[:, None], 0, np.rint(scores * (1 << STEP_BITS))).astype(np.int64)
    for_oneself = np.where(unknown[:, None], 0, -(book.astype(np.int64) << STEP_BITS) // STEPS_PER_NAT)
    return ScoreTable.of(steps, codes, for_oneself if own else None)


def friend_scores(probabilities: DoubleArray, friends: DoubleArray, shares: DoubleArray) -> DoubleArray:
    """float64 (r, classes): S of each class distribution P, in nats, above ln 1e-9.

    Args:
        probabilities: float64 (r, classes): P.
        friends: float64 (classes, classes): H.
        shares: float64 (classes,): pi, of any scale.
    """
    return np.asarray(np.log(np.maximum(probabilities * (shares.sum() / shares) @ friends.T, _SMALLEST)))


def quantised(probabilities: DoubleArray) -> Bytes:
    """Return rows of bytes, uint8 of the same shape: 16 times the nats below the likeliest class.

    So a byte is off by 1/32 nat at most, down to e^-15.8. A row of 255 is an unknown person: a row of zeros.
    """
    most = probabilities.max(axis=1, initial=0.0, keepdims=True)
    unknown = most == 0
    with np.errstate(divide="ignore"):
        behind = -np.log(probabilities / np.where(unknown, 1.0, most))
    rows = np.where(unknown, UNKNOWN, np.clip(np.rint(STEPS_PER_NAT * behind), 0, UNKNOWN - 1))
    return rows.astype(np.uint8)


def different_rows(rows: Bytes) -> tuple[Bytes, IntArray]:
    """Return at most 255 different rows, uint8 (r, classes), and the one that each row is or is nearest to, int64 (n,).

    More than 255 are rounded: each row becomes the nearest one of 254, by the distance of ln(p + 0.02), as what a row
    adds to a score is the logarithm of a mixture. The first of them is the most frequent row, and each further one is
    the row that is farthest from those before (Gonzalez 1985). Unknown stays unknown.
    """
    book, codes = _unique(rows)
    if len(book) > MOST_ROWS:
        book, places = _unique(_rounded(book, np.bincount(codes)))
        codes = places[codes]
    return book, codes


def _unique(rows: Bytes) -> tuple[Bytes, IntArray]:
    texts = np.ascontiguousarray(rows).view(f"S{rows.shape[1]}").ravel()
    different, which = np.unique(texts, return_inverse=True)
    return different.view(np.uint8).reshape(len(different), -1), which


def _rounded(book: Bytes, counts: IntArray) -> Bytes:
    """Return the one of 254 rows that is nearest to each, uint8 of the same shape; unknown stays unknown.

    Args:
        book: uint8 (k, classes), different rows.
        counts: int64 (k,): people with this row.
    """
    usable = book[:, 0] != UNKNOWN
    rows, people = book[usable], counts[usable]
    p = np.exp(rows / -STEPS_PER_NAT)
    places = np.rint(_GRID * np.log(p / p.sum(axis=1, keepdims=True) + _MIXED))
    chosen, nearest = [int(people.argmax())], np.zeros(len(places), np.int64)
    apart = np.full(len(places), np.inf)
    for number in range(MOST_ROWS - 1):  # and one row for people of whom nothing is known
        distance = ((places - places[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.where(distance < apart, number, nearest)
        apart = np.minimum(apart, distance)
        chosen.append(int(apart.argmax()))
    table = book.copy()
    table[usable] = rows[chosen][nearest]
    return table

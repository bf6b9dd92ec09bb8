"""Exact figures of votes: scores, levels and models.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.mechanisms import (
    NeighbourhoodVote,
    class_table,
)
from ldpsim.devices.mechanisms.word_model import UNIT, WordModel, read_model
from tests.devices.mechanisms.examples import OWN, VOTE, WORDS, Q, person


def test_scores_of_a_vote_are_sums_of_logarithms() -> None:
    """In units of 2^-16 nats: the evidence of each known neighbour, and one's own row."""
    assert class_table.affinity_weights(2, 0.5, None) == (65536, 21845, 21845, 65536)
    assert class_table.affinity_weights(2, None, np.array([[4, 1], [1e-9, 2]])) == (65536, 16384, 1, 32768)
    om = np.array(VOTE.affinity, float).reshape(3, 3)
    levels = np.rint(16 * -np.log(np.maximum(Q, 1e-30) / np.maximum(Q.max(axis=1), 1)[:, None])).clip(0, 254)
    said = np.log(om @ np.exp(-levels / 16).T * 2**24) * UNIT
    for own in (True, False):
        scores, seen = replace(VOTE, own=own).scores(np.array([0, 1, 3, 4]), 4)
        assert seen == 2  # nothing is known about 1, and 4 is the device
        wanted = said[:, 0] + said[:, 3] + own * -levels[4] * UNIT / 16
        assert scores == pytest.approx(wanted, abs=4)
    assert replace(VOTE, reporting="one-end").scores(np.array([0, 3]), 3)[1] == 1
    assert [VOTE.padded(2, np.zeros(size, np.int32)).size for size in (0, 1, 2048, 2049)] == [2048, 2048, 2048, 4096]
    assert VOTE.padded(0, np.array([-1, 0, 4, 9]))[:5].tolist() == [5, 5, 4, 4, 5]
    one = NeighbourhoodVote.from_probabilities(Q, 1.0, homophily=0.7, candidates=np.array([1, 2, 1, 2, 1]), unseen=True)
    assert [one.values_of(device) for device in range(5)] == [2, 3, 2, 3, 2]
    assert one.loss(device=0).vector <= one.loss().vector == 1.0
    assert one.decode(b"\1", device=0) == 1 and one.decode(b"\2", device=1) == 2
    for data, device in ((b"\2", 0), (b"\3", 1), (b"", 0), (b"\0\0", 0)):
        with pytest.raises(ValueError, match="not a report of neighbourhood_vote"):
            one.decode(data, device=device)


def test_a_model_of_words_in_whole_numbers() -> None:
    words = np.array([[1, 0], [1, 1], [0, 0]])
    wanted = []
    for row in words.tolist():
        root = max(1, math.isqrt(sum(w * b for w, b in zip(row, WORDS.squares.tolist(), strict=True))))
        wanted.append([
            m + (256 * sum(w * int(WORDS.weights[k, c]) for k, w in enumerate(row))) // root
            for c, m in enumerate(WORDS.means.tolist())
        ])  # fmt: skip
    shares = WORDS.shares(words)
    assert shares.tolist() == wanted and WORDS.shares(csr_array(words)).tolist() == wanted
    logs = np.log(np.maximum(shares, round(0.01 * UNIT)) / UNIT) * UNIT
    assert WORDS.evidence(shares) == pytest.approx(shares + logs / 2, abs=4)
    large = WordModel(np.array([[1 << 30, -(1 << 30)]]), np.array([1]), np.zeros(2, np.int64), (0, 0))
    assert large.shares(np.array([[1]])).tolist() == [[1 << 31, -(1 << 31)]]
    free = WordModel(np.array([[3, 5]]), np.array([0]), np.zeros(2, np.int64), (0, 0))  # a root of 0 counts as 1
    assert free.shares(np.array([[1]])).tolist() == [[3 << 8, 5 << 8]]
    again = read_model(WORDS.as_text(), 2, 3, (256, 128))
    assert all((getattr(again, name) == getattr(WORDS, name)).all() for name in ("weights", "squares", "means"))
    assert OWN.read_features(person({0: 0.5, 1: -1.0, 7: 0.0})).tolist() == [1, 0]
    assert OWN.ranked.tolist() == [[0, 1, 2]] * 5 and OWN.values_of(0) == 3

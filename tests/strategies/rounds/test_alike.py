"""Alike updates: the bound of an honest projection, colluders of an honest length, and who stays dropped."""

from __future__ import annotations

import numpy as np
import pytest
from flwr.app import Message, Metadata, MetricRecord, RecordDict
from scipy.stats import norm

from devices.federated.wire import WEIGHTS, weights_record
from strategies.rounds.alike import AlikeUpdates

CLIP, SIGMA, SIZE = 1.0, 2.0, 400


def _honest(people: int, seed: int) -> np.ndarray:
    """float32 (people, SIZE): the longest updates that there are, all in one direction, under noise."""
    noise = np.random.default_rng(seed).normal(0, SIGMA, (people, SIZE))
    return np.float32(noise + CLIP * np.eye(SIZE)[0])


@pytest.mark.parametrize("level", [1e-3, 1e-9])
def test_the_bound_is_the_tail_of_an_honest_projection(level: float) -> None:
    """An update C + x sigma along another one is alike beyond the quantile of x, and not before."""
    other = 1e6 * np.eye(SIZE, dtype=np.float32)[0]
    quantile = norm.isf(level)  # one other person
    for factor, wanted in ((0.98, False), (1.02, True)):
        own = other * np.float32(factor * (CLIP + quantile * SIGMA) / 1e6)
        assert AlikeUpdates(CLIP, SIGMA, level).alike(np.stack([own, other])).any() == wanted
    assert norm.sf((1.0 * (CLIP + quantile * SIGMA) - CLIP) / SIGMA) == pytest.approx(level)


def test_honest_updates_are_not_alike() -> None:
    """300 people and 90,000 pairs at the same direction of their signal; the level is 1e-6 of one person."""
    assert not AlikeUpdates(CLIP, SIGMA, 1e-6).alike(_honest(300, 0)).any()


def test_colluders_of_an_honest_length_are_found() -> None:
    updates = _honest(300, 1)
    updates[:6] = np.float32(SIGMA * SIZE**0.5) * np.eye(SIZE, dtype=np.float32)[3]
    lengths = np.linalg.norm(updates, axis=1)
    assert lengths[:6].max() < lengths[6:].max()  # a test of lengths sees nothing
    assert np.flatnonzero(AlikeUpdates(CLIP, SIGMA, 1e-6).alike(updates)).tolist() == list(range(6))


def test_who_is_alike_once_is_dropped_from_then_on() -> None:
    def replies(updates: np.ndarray) -> list[Message]:
        made = []
        for node, update in enumerate(updates):
            content = RecordDict({"metrics": MetricRecord({"num-examples": 1}), "arrays": weights_record(update)})
            sent = Metadata(1, "", node, 0, "", "", 0.0, 0.0, "train")
            made.append(Message(metadata=sent, content=content))
        return made

    start = np.zeros(SIZE, np.float32)
    updates = _honest(20, 2)
    updates[4] = updates[9] = 30 * np.eye(SIZE, dtype=np.float32)[3]
    check = AlikeUpdates(CLIP, SIGMA, 1e-6)
    kept = check(start, replies(updates))
    assert check.dropped == {4, 9} and len(kept) == 18
    assert len(check(start, replies(_honest(20, 3)))) == 18
    assert len(check(start, replies(_honest(1, 3)))) == 1
    assert WEIGHTS in kept[0].content.array_records["arrays"]

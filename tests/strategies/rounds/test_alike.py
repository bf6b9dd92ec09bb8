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


@pytest.mark.parametrize("others", [1, 2, 9])
def test_the_level_is_divided_by_the_others_and_the_bound_is_a_thousandth_larger(others: int) -> None:
    bound = 1.001 * (CLIP + norm.isf(1e-4 / others) * SIGMA)
    axes = np.eye(others + 1, dtype=np.float64)
    for factor, wanted in ((1 - 1e-6, False), (1 + 1e-6, True)):
        updates = 50 * bound * axes
        updates[0] = factor * bound * axes[1]
        found = AlikeUpdates(CLIP, SIGMA, 1e-4).alike(updates)
        assert found.tolist() == [wanted, wanted, *[False] * (others - 1)]  # the smaller projection decides for both


def test_updates_are_compared_in_pieces_of_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    updates = _honest(11, 4)
    updates[[1, 7, 10]] = 40 * np.eye(SIZE, dtype=np.float32)[5]
    updates[3] = 0  # an update of no length is alike to none
    for at_once in (1, 3, 4, 11, 256):
        monkeypatch.setattr("strategies.rounds.alike._AT_ONCE", at_once)
        assert np.flatnonzero(AlikeUpdates(CLIP, SIGMA, 1e-6).alike(updates)).tolist() == [1, 7, 10]


def test_replies_without_weights_pass_and_those_of_the_dropped_do_not() -> None:
    def reply(node: int, update: np.ndarray | None) -> Message:
        content = RecordDict({"metrics": MetricRecord({"num-examples": 1})})
        if update is not None:
            content["arrays"] = weights_record(update)
        return Message(metadata=Metadata(1, "", node, 0, "", "", 0.0, 0.0, "train"), content=content)

    start = np.full(SIZE, 7, np.float32)
    long = 30 * np.eye(SIZE, dtype=np.float32)[3]
    check = AlikeUpdates(CLIP, SIGMA, 1e-6)
    plain = [reply(1, start + long), reply(2, None), reply(3, start - long), reply(4, start + 2 * long)]
    assert [kept.metadata.src_node_id for kept in check(start, plain)] == [2, 3] and check.dropped == {1, 4}
    assert [kept.metadata.src_node_id for kept in check(start, [reply(4, None), *plain[1:3]])] == [2, 3]
    assert AlikeUpdates(CLIP, SIGMA, 1e-6)(start, plain[:2]) == plain[:2]  # one update is compared with none

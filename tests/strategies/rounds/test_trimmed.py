"""Trimmed aggregation: liars with long updates, extreme coordinates, and coordinates that few people move."""

from __future__ import annotations

import numpy as np
import pytest
from flwr.app import Message, MetricRecord, RecordDict

from devices.federated.wire import WEIGHTS, weights_record
from strategies.rounds.trimmed import TrimmedUpdates

START = np.zeros(6, np.float32)


def _updates(people: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.float32(1 + 0.1 * rng.standard_normal(6)) for _ in range(people)]


def test_a_few_long_updates_in_one_direction_do_nothing() -> None:
    """The mean follows four liars of forty by far; the robust mean stays where it is without them."""
    honest = _updates(36)
    lies = [np.full(6, -1e6, np.float32)] * 4
    robust = TrimmedUpdates()
    found = robust.mean(START, [*honest, *lies])
    assert found == pytest.approx(np.mean(honest, axis=0), abs=0.1)
    assert np.mean([*honest, *lies], axis=0).max() < -1e4
    assert robust.updates == 40 and 4 <= robust.clipped <= 24


def test_without_liars_it_is_near_the_mean() -> None:
    honest = _updates(50, 1)
    start = np.full(6, 3, np.float32)
    found = TrimmedUpdates().mean(start, [start + each for each in honest])
    assert found == pytest.approx(start + np.mean(honest, axis=0), abs=0.1) and found.dtype == np.float32


def test_a_coordinate_that_few_people_move_is_averaged() -> None:
    """Two of twenty know a word; a trimmed mean would never learn it."""
    updates = [np.array([1.0, 0.0], np.float32) for _ in range(18)] + [np.array([0.8, 0.6], np.float32)] * 2
    found = TrimmedUpdates().mean(np.zeros(2, np.float32), updates)
    assert found[1] == pytest.approx(0.06, rel=1e-5) and found[0] > 0.9


def test_columns_are_cut_into_pieces_of_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TrimmedUpdates().mean(START, _updates(9))
    monkeypatch.setattr("strategies.rounds.trimmed._AT_ONCE", 18)
    assert np.array_equal(TrimmedUpdates().mean(START, _updates(9)), whole)


def test_each_reply_holds_the_robust_mean_and_others_stay() -> None:
    def reply(arrays: np.ndarray | None) -> Message:
        content = RecordDict({"metrics": MetricRecord({"num-examples": 1})})
        if arrays is not None:
            content["arrays"] = weights_record(arrays)
        return Message(content, 1, "train")

    updates = _updates(7)
    replies = [reply(None), *(reply(each) for each in updates)]
    TrimmedUpdates()(START, replies)
    wanted = TrimmedUpdates().mean(START, updates)
    assert "arrays" not in replies[0].content
    for each in replies[1:]:
        assert np.array_equal(each.content.array_records["arrays"][WEIGHTS].numpy(), wanted)
    TrimmedUpdates()(START, replies[:1])  # a round without updates


def test_the_robust_mean_by_hand() -> None:
    """Lengths 1, 1, 1, 1, 2 and 10: twice the median is 2, so one is clipped; a fifth of each end is left out."""
    updates = [np.array([size, 0.0]) for size in (1.0, 1.0, -1.0, 1.0, 2.0, 10.0)]
    start = np.array([5.0, 3.0])
    robust = TrimmedUpdates(0.2)
    assert robust.mean(start, [start + each for each in updates]).tolist() == [5 + (1 + 1 + 1 + 2) / 4, 3.0]
    assert (robust.updates, robust.clipped) == (6, 1)
    clipped = TrimmedUpdates(0.0).mean(start, [start + each for each in updates])
    assert clipped == pytest.approx([5 + (1 + 1 - 1 + 1 + 2 + 2) / 6, 3.0])
    longer = TrimmedUpdates(0.0, 4.0)
    assert longer.mean(start, [start + each for each in updates])[0] == pytest.approx(5 + (4 + 4) / 6)
    assert longer.mean(start, [start + 1.0])[1] == 4.0 and (longer.updates, longer.clipped) == (7, 1)
    assert (TrimmedUpdates().cut, TrimmedUpdates().reach) == (0.1, 2.0)


@pytest.mark.parametrize(("least", "trimmed"), [(0.09, False), (0.101, True)])
def test_a_coordinate_is_trimmed_where_the_median_is_a_tenth_of_the_mean(least: float, trimmed: bool) -> None:
    """Twenty updates of equal length; in one coordinate eleven are small, and nine such that the mean size is 1."""
    large = (20 - 11 * least) / 9
    column = np.array([least] * 11 + [large] * 9)
    updates = np.stack([column, np.sqrt(100 - column**2)], axis=1)
    found = TrimmedUpdates(0.4).mean(np.zeros(2), list(updates))
    assert found[0] == pytest.approx(np.mean(np.sort(column)[8:12]) if trimmed else 1.0)


def test_columns_at_once_are_at_least_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TrimmedUpdates().mean(START, _updates(9))
    for at_once in (1, 8, 9, 17, 45):
        monkeypatch.setattr("strategies.rounds.trimmed._AT_ONCE", at_once)
        assert np.array_equal(TrimmedUpdates().mean(START, _updates(9)), whole)

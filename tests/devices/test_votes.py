"""Votes on whole devices: the conditions under which a vote loses what it says, one by one.

The mechanism's own tests are in ``mechanisms/test_neighbourhood_vote.py``. The time of an answer is
measured once (docs/results/vote.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.device import Refusal
from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report

N, CLASSES = 12, 3
Q = np.random.default_rng(4).dirichlet(np.ones(CLASSES), N)
BOTH = frozenset({"neighbourhood_vote", "grr"})


def mechanism(epsilon: float = 4.0, **changed: Any) -> NeighbourhoodVote:
    given = {"probabilities": Q, "epsilon": epsilon, "homophily": 0.8, "candidates": CLASSES, **changed}
    return NeighbourhoodVote.from_probabilities(**given)


def question(collection: str = "first", epsilon: float = 4.0, **changed: Any) -> Query:
    return Query(collection, ((Ask("adjacency", (mechanism(epsilon, **changed),)),),))


# --- the whole table ------------------------------------------------------------------------


def test_everybody_gets_the_same_whole_table(enrolled: Callable[..., Any]) -> None:
    """Nobody fetches rows: one question holds all rows, and a table with fewer is no question."""
    devices, asked = enrolled(mechanisms=BOTH), question()
    (mechanism_,) = json.loads(asked.to_bytes())["plan"][0][0]["mechanisms"]
    assert len(mechanism_["table"]) == 4 * -(-(1 + N * CLASSES + N // 2) // 3)
    for index in range(N):
        assert isinstance(devices.ask(asked, index), Report)
    short = asked.to_bytes().replace(mechanism_["table"].encode(), mechanism_["table"][:-4].encode())
    assert devices.ask(short) is Refusal.UNKNOWN_QUERY


# --- a hostile table ------------------------------------------------------------------------


# --- answers are counted, not questions -----------------------------------------------------


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_two_different_votes_of_one_person(enrolled: Callable[..., Any], on_requery: str) -> None:
    devices = enrolled(mechanisms=BOTH, on_requery=on_requery)
    first = devices.ask(question())
    stored = devices.rows()
    assert isinstance(first, Report) and len(stored) == 1
    for other in (
        question("next"), question(epsilon=0.1), question(candidates=2), question(homophily=0.1),
        question(probabilities=Q[::-1]), question(unseen=True),
    ):  # fmt: skip
        told = devices.ask(other)
        if other.asks == question().asks and on_requery == "replay":
            assert told == Report(first.data, replayed=True)  # the same question in another collection
        else:
            assert told is Refusal.REPORT_COLLECTED
    assert devices.rows() == stored


def test_each_person_is_in_one_batch_of_a_collection(enrolled: Callable[..., Any]) -> None:
    """Batches are questions of one stage under one collection id; a second one to the same person is refused."""
    devices = enrolled(mechanisms=BOTH)
    batches = [question("run", probabilities=np.roll(Q, k, axis=0)) for k in range(3)]
    for index in range(N):
        assert isinstance(devices.ask(batches[index % 3], index), Report)
    for index in range(N):
        for k, batch in enumerate(batches):
            again = devices.ask(batch, index)
            assert isinstance(again, Report) == (k == index % 3)
            assert isinstance(again, Report) or again is Refusal.REPORT_COLLECTED
        assert len(devices.rows(index)) == 1


# --- no answer to a question that is none ------------------------------------------------------


# --- the same bytes -------------------------------------------------------------------------


# --- caps and ends --------------------------------------------------------------------------

"""Votes on whole devices: the conditions under which a vote loses what it says, one by one.

The mechanism's own tests are in ``mechanisms/test_neighbourhood_vote.py``. The time of an answer is
measured once (docs/results/vote.md).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_report

N, CLASSES = 12, 3
Q = np.random.default_rng(4).dirichlet(np.ones(CLASSES), N)
BOTH = frozenset({"neighbourhood_vote", "grr"})


def mechanism(epsilon: float = 4.0, **changed: Any) -> NeighbourhoodVote:
    given = {"probabilities": Q, "epsilon": epsilon, "homophily": 0.8, "candidates": CLASSES, **changed}
    return NeighbourhoodVote.from_probabilities(**given)


def question(collection: str = "first", epsilon: float = 4.0, **changed: Any) -> Query:
    return Query(collection, ((Ask("adjacency", (mechanism(epsilon, **changed),)),),))


def read(report: Report, asked: Query, index: int) -> int:
    ((data,),) = unpack_report(report.data, asked).values()
    answer = asked.asks[0].mechanisms[0].decode(data, device=index)
    assert len(data) == 1 and isinstance(answer, int)
    return answer


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


def test_a_hostile_table_learns_what_epsilon_4_allows_and_the_ledger_counts_epsilon_4(
    tmp_path: Path, population: Population
) -> None:
    """ "Is person 0 in your list?" is answered rightly about 98 % of the time; asked again, it is refused."""
    alone = np.zeros((N, CLASSES))
    alone[0, 1] = 1
    asked = question(probabilities=alone, homophily=0.99, candidates=2)
    right: Counter[bool] = Counter()
    policy = policy_for([asked], population.facts)
    for seed in range(8):
        state = enrol(tmp_path / f"s{seed}", population, policy, seed=seed)
        for index in range(1, N):
            answer = state.device(index).answer(asked)
            assert isinstance(answer, Report)
            right[(read(answer, asked, index) == 1) == (0 in population.record(index).neighbours)] += 1
        other = question("again", probabilities=np.roll(alone, 1, axis=0), homophily=0.99, candidates=2)
        assert state.device(3).answer(other) is Refusal.REPORT_COLLECTED
        ((part,),) = (row.parts for row in state.ledger(3).answers(3))
        assert part.loss.bit == part.loss.vector == 4.0
        state.close()
    chance = math.exp(4) / (1 + math.exp(4))
    trials = right.total()
    assert abs(right[True] - chance * trials) < 5 * math.sqrt(trials * chance * (1 - chance))


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

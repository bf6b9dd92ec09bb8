"""Votes on whole devices: the conditions under which a vote loses what it says, one by one.

The mechanism's own tests are in ``mechanisms/test_neighbourhood_vote.py``. The time of an answer is
measured once (docs/results/vote.md).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import GRR, NeighbourhoodVote
from ldpsim.devices.mechanisms.class_table import as_text
from ldpsim.devices.policy.policy import Cap, Policy, policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_report
from tests.fleets import Untouchable, lone_device

N, CLASSES = 12, 3
Q = np.random.default_rng(4).dirichlet(np.ones(CLASSES), N)
BOTH = frozenset({"neighbourhood_vote", "grr"})


def mechanism(epsilon: float = 4.0, **changed: Any) -> NeighbourhoodVote:
    given = {"probabilities": Q, "epsilon": epsilon, "homophily": 0.8, "candidates": CLASSES, **changed}
    return NeighbourhoodVote.from_probabilities(**given)


def question(collection: str = "first", epsilon: float = 4.0, **changed: Any) -> Query:
    return Query(collection, ((Ask("adjacency", (mechanism(epsilon, **changed),)),),))


def label(epsilon: float) -> Query:
    return Query("labels", ((Ask("label", (GRR.from_epsilon(epsilon, categories=CLASSES),)),),))


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
    assert len(mechanism_["table"]) == 4 * N * CLASSES // 3
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
    asked = question(probabilities=alone, homophily=0.99, own=False, candidates=2)
    right: Counter[bool] = Counter()
    policy = policy_for([asked], population.facts)
    for seed in range(8):
        state = enrol(tmp_path / f"s{seed}", population, policy, seed=seed)
        for index in range(1, N):
            answer = state.device(index).answer(asked)
            assert isinstance(answer, Report)
            right[(read(answer, asked, index) == 1) == (0 in population.record(index).neighbours)] += 1
        other = question("again", probabilities=np.roll(alone, 1, axis=0), homophily=0.99, own=False, candidates=2)
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
        question("next"), question(epsilon=0.1), question(own=False), question(candidates=2), question(homophily=0.1),
        question(probabilities=Q[::-1]), question(form="codes"), question(unseen=True),
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


def _spoiled() -> list[bytes]:
    plain = json.loads(question().to_bytes())
    made = []
    for name, value in (
        ("table", ""), ("table", None), ("table", as_text(np.full(N * CLASSES, 255, np.uint8))[:-4]),
        ("table", as_text(np.r_[255, np.zeros(N * CLASSES - 1)])), ("affinity", [0] * 9), ("affinity", [1] * 8),
        ("affinity", [1.5] * 9), ("affinity", [float("nan")] * 9), ("affinity", "1"), ("people", N + 1),
        ("people", 1 << 40), ("classes", CLASSES + 1), ("classes", 1), ("candidates", 1), ("candidates", CLASSES + 1),
        ("lie", 0), ("lie", 1 << 64), ("lie", (1 << 64) * 2 // 3 + 1), ("widths", "AAAA"), ("own", 1), ("unseen", None),
        ("form", "half"), ("reporting", "some"), ("more", 1),
    ):  # fmt: skip
        given = plain["plan"][0][0]["mechanisms"][0]
        kept = dict(given)
        given[name] = value
        made.append(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())
        given.clear()
        given.update(kept)
    return made


def test_an_invalid_question_is_refused_before_private_data_are_read(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy]
) -> None:
    policy = policy_of(population, mechanisms=BOTH)
    state = enrol(tmp_path / "s", population, policy, seed=1)
    device = lone_device(3, Untouchable(), b"s" * 32, policy, state.ledger(3))
    for data in _spoiled():
        assert device.answer(data) is Refusal.UNKNOWN_QUERY, data
    for outside in (question(epsilon=40.0), question(probabilities=Q[:-1]), question(probabilities=np.c_[Q, Q])):
        strict = replace(policy, caps={"adjacency": Cap(4.0, 4.0, 4.0)})
        device = lone_device(3, Untouchable(), b"s" * 32, strict, state.ledger(3))
        assert device.answer(outside) is Refusal.POLICY_REFUSED


def test_isolated_people_answer_too(tmp_path: Path, people: Callable[..., Population]) -> None:
    population = people()
    state = enrol(tmp_path / "s", population, policy_for([question()], population.facts), seed=2)
    nobody = Record(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int32), 0)
    answer = lone_device(3, nobody, b"k" * 32, state.policy, state.ledger(3)).answer(question())
    assert isinstance(answer, Report) and read(answer, question(), 3) in range(CLASSES)


# --- the same bytes -------------------------------------------------------------------------


def test_a_retry_sends_the_same_bytes_also_from_a_new_ledger(
    tmp_path: Path, population: Population, enrolled: Callable[..., Any]
) -> None:
    devices, asked = enrolled(mechanisms=BOTH), question()
    first = [devices.ask(asked, index) for index in range(N)]
    again = [devices.ask(asked, index) for index in range(N)]
    assert again == [Report(report.data, replayed=True) for report in first]
    policy = policy_for([asked], population.facts)
    lost = enrol(tmp_path / "lost", population, policy, seed=7)  # the same secrets and data, no ledger
    assert [lost.device(index).answer(asked) for index in range(N)] == first


# --- caps and ends --------------------------------------------------------------------------


def test_a_cap_of_all_that_a_person_reports(tmp_path: Path, population: Population) -> None:
    """``--cap user=4`` bounds label and vote together."""
    policy = policy_for([question(), label(2.0)], population.facts, caps={"user": 4.0})
    state = enrol(tmp_path / "s", population, policy, seed=3)
    assert state.device(1).answer(question(epsilon=4.001)) is Refusal.POLICY_REFUSED
    assert isinstance(state.device(1).answer(question(epsilon=4.0)), Report)
    assert state.device(1).answer(label(0.01)) is Refusal.POLICY_REFUSED
    assert isinstance(state.device(2).answer(label(2.0)), Report)
    assert state.device(2).answer(question(epsilon=2.001)) is Refusal.POLICY_REFUSED
    assert isinstance(state.device(2).answer(question(epsilon=2.0)), Report)
    spent = [part.loss.vector for row in state.ledger(2).answers(2) for part in row.parts]
    assert spent == [2.0, 2.0]

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import Question
from ldpsim.devices.client_app import open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.rows import Head, training_answers
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import GaussianUpdate, Task
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.results.lifetime import (
    Losses,
    ledger_levels,
    losses_of,
    nothing_known,
    read_ledgers,
)
from tests.devices.conftest import ask_for
from tests.devices.ledger.entries import report_after, training_answer

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


def test_the_ledgers_say_what_was_released(enrolled: Enrolled, ask: Ask) -> None:
    state = enrolled()
    assert read_ledgers(state, None)[0].figures() == nothing_known(complete=True).figures()
    collect(state.folder, ask(), devices=40, dropouts=frozenset(range(20)))
    found = read_ledgers(state, None)[0].figures()
    d = state.policy.facts.d
    assert found["bit_adjacency"] == {"max": pytest.approx(7.2), "mean": pytest.approx(3.6)}
    assert found["vector"]["max"] == pytest.approx(0.8 * d)
    assert found["user"] == {"max": pytest.approx(39 * 7.2 + 0.8 * d), "mean": pytest.approx((39 * 7.2 + 0.8 * d) / 2)}
    assert found["label"] == {"max": 0, "mean": 0}
    assert read_ledgers(state, "first")[1].total == 0  # answers to a query are none of a training of that name
    collect(state.folder, ask("again"), devices=40, dropouts=frozenset(range(20)))
    assert read_ledgers(state, None)[0].figures() == found


def test_losses_of_both_ledgers_add_and_are_known_where_both_are() -> None:
    """Two people: losses, deltas and what is known, by hand."""
    one, other = (
        Losses({"user": np.array(losses)}, {"user": np.array(deltas)}, complete)
        for losses, deltas, complete in (([1.0, 2.0], [0.0, 1e-6], True), ([0.5, 4.0], [3e-6, 1e-6], False))
    )
    for both in (one + other, other + one):
        assert both.figures() == {"user": {"max": 6.0, "mean": 3.75, "delta": 3e-6}, "complete": False}
    assert (one + one).complete is True and (other + other).complete is False
    in_clear = Losses({"user": np.array([1.0, np.inf])}, {"user": np.zeros(2)}, complete=True)
    assert (one + in_clear).figures()["user"] == {"max": None, "mean": None}  # one person without a bound is enough


def test_an_answer_of_a_training_loses_its_whole_at_each_level_and_a_report_an_entry_of_it() -> None:
    training = training_answer(
        3, Head(), Loss(0.0, 0.0), collection="c", kind="update", scope=("features", "label"), fingerprint=b"f",
        loss=Loss(0.5, 2.0, 1e-6), data_digest=b"d", size=9,
    )  # fmt: skip
    names = ("bit_feature", "vector", "label", "user")
    assert list(losses_of(training, ledger_levels())) == [(name, 2.0, 1e-6) for name in names]
    report = report_after([], ask_for(attributes="af"))  # a list of 11 entries, and 10 features, each at loss 1
    assert list(losses_of(report, ledger_levels())) == [
        ("bit_adjacency", 1.0, 0.0), ("bit_feature", 1.0, 0.0), ("vector", 10.0, 0.0),
        ("user", 11.0, 0.0), ("user", 10.0, 0.0),
    ]  # fmt: skip


def test_one_end_rows_cost_each_device_its_own_loss(
    tmp_path: object, population: object, ask: Ask, enrolled: Enrolled
) -> None:
    state = enrolled(reporting="one-end", caps={"bit": 10.0, "vector": 1e9, "user": 1e9})
    collect(state.folder, ask(reporting="one-end"), devices=40)
    user = read_ledgers(state, None)[0].figures()["user"]
    d = state.policy.facts.d
    assert user["max"] == pytest.approx(39 * 7.2 + 0.8 * d)
    assert user["mean"] == pytest.approx(39 / 2 * 7.2 + 0.8 * d)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answer SET number = 1 WHERE device = 3", "UPDATE answer SET seal = x'00' WHERE device = 3",
        "UPDATE answer SET device = 999 WHERE device = 3", "UPDATE answer SET device = 35 WHERE device = 3",
    ],
)  # fmt: skip
def test_the_only_row_of_a_device_that_is_not_sound_counts_for_nothing(
    enrolled: Enrolled, ask: Ask, damage: str
) -> None:
    state = enrolled()
    collect(state.folder, ask(), devices=40, dropouts=frozenset(range(30, 40)))
    whole = read_ledgers(State(state.folder), None)[0].figures()
    open_state.cache_clear()
    with sqlite3.connect(state.folder / "ledger.sqlite") as database:
        database.execute(damage)
    found = read_ledgers(State(state.folder), None)[0].figures()
    assert found["complete"] is False and whole["complete"] is True
    assert found["user"]["mean"] == pytest.approx(whole["user"]["mean"] * 29 / 30)


def test_the_answers_of_a_training_are_those_of_the_device_that_gave_most(
    tmp_path: Path, population: Population
) -> None:
    """Two collections: in one, three devices gave 2, 1 and 3 answers of different losses, all others none."""
    tasks = {
        (name, epsilon): Task(name, "own", population.facts.d, 4, population.facts.classes, 0.1, 1,
                              noise=GaussianUpdate.from_epsilon(epsilon, clip=1.0, delta=1e-6 * epsilon))
        for name, epsilon in (("first", 0.5), ("first", 2.0), ("other", 8.0))
    }  # fmt: skip
    rules = policy_for_training(tasks["other", 8.0], population.facts, answers=9)
    state = enrol(tmp_path / "state", population, rules, seed=5)
    given = [(3, "first", 0.5), (3, "first", 2.0), (4, "first", 0.5), (5, "other", 8.0),
             *[(9, "first", 0.5)] * 3]  # fmt: skip
    for question, (device, name, epsilon) in enumerate(given):
        task, one = tasks[name, epsilon], state.device(device)
        keys, told = state.seal_keys([device]), [question.to_bytes(32, "little")]  # a repeat would be refused
        with one.ledger.transaction():
            ends: Any = one.ledger.training_ends(keys)
            rows = training_answers(
                ends, collection=name, kind="update", scope=task.scope("update"), fingerprints=told,
                loss=task.loss("update"), digests=[bytes(64)], sizes=[10],
            )  # fmt: skip
            one.ledger.enter_round(rows, ends, keys, questions=told, loss=task.loss("update"))
    losses, answers = read_ledgers(state, "first")
    found = losses.figures()
    assert (answers.most, answers.total, answers.complete) == (3, 6, True)
    assert answers.counts[[3, 4, 5, 9]].tolist() == [2, 1, 0, 3]
    largest = tasks["first", 2.0].loss("update")
    assert (answers.loss.bit, answers.loss.vector, answers.loss.delta) == (
        largest.bit, largest.vector, largest.delta,
    )  # fmt: skip
    assert found["user"]["max"] == pytest.approx(tasks["other", 8.0].loss("update").vector)  # of all collections
    assert found["user"]["mean"] == pytest.approx((2.5 + 0.5 + 8.0 + 1.5) / len(population))
    assert found["bit_adjacency"] == {"max": 0.0, "mean": 0.0} and found["complete"] is True

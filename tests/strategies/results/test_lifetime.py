from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from curator.methods import Question
from devices.client_app import open_state
from devices.enrolment.state import State
from strategies.engines.collect import collect
from strategies.results.lifetime import ledger_levels, lifetime, nothing_known

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


def test_the_ledgers_say_what_was_released(enrolled: Enrolled, ask: Ask) -> None:
    state = enrolled()
    assert lifetime(state) == nothing_known(complete=True)
    collect(state.folder, ask(), devices=40, silent=frozenset(range(20)))
    found = lifetime(state)
    d = state.policy.facts.d
    assert found["bit_adjacency"] == {"max": pytest.approx(7.2), "mean": pytest.approx(3.6)}
    assert found["vector"]["max"] == pytest.approx(0.8 * d)
    assert found["user"] == {"max": pytest.approx(39 * 7.2 + 0.8 * d), "mean": pytest.approx((39 * 7.2 + 0.8 * d) / 2)}
    assert found["label"] == {"max": 0, "mean": 0}
    collect(state.folder, ask("again"), devices=40, silent=frozenset(range(20)))
    assert lifetime(state) == found


def test_one_end_rows_cost_each_device_its_own_loss(
    tmp_path: object, population: object, ask: Ask, enrolled: Enrolled
) -> None:
    state = enrolled(reporting="one-end", caps={"bit": 10.0, "vector": 1e9, "user": 1e9})
    collect(state.folder, ask(reporting="one-end"), devices=40)
    user = lifetime(state)["user"]
    d = state.policy.facts.d
    assert user["max"] == pytest.approx(39 * 7.2 + 0.8 * d)
    assert user["mean"] == pytest.approx(39 / 2 * 7.2 + 0.8 * d)


def test_a_row_that_was_changed_makes_the_figures_incomplete(enrolled: Enrolled, ask: Ask) -> None:
    state = enrolled()
    collect(state.folder, ask(), devices=40)
    open_state.cache_clear()
    with sqlite3.connect(state.folder / "ledger.sqlite") as database:
        database.execute("UPDATE query_answer SET collection = 'other' WHERE device = 3")
    assert lifetime(State(state.folder))["complete"] is False
    assert set(nothing_known(complete=False)) == {*ledger_levels(), "complete"}

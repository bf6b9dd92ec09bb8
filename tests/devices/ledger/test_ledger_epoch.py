"""The epoch of a ledger: an older one answers nothing.

It covers ``ldpsim.devices.ledger.ledger``, ``ldpsim.devices.ledger.ledger_file`` and
``ldpsim.devices.ledger.statements``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal, Report
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger.ledger import EpochPassed, Ledger, LedgerDamaged
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import train


def test_an_older_epoch_answers_nothing(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    lost = state.ledger(3)
    assert lost.epoch == 0 and isinstance(state.device(3).answer(ask_for()), Report)
    owner = Ledger(lost.path)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="not above"):
            owner.raise_epoch(wrong)
    owner.raise_epoch(4)
    assert owner.epoch == Ledger(lost.path).epoch == Ledger(lost.path, epoch=4).epoch == 4
    for question in (ask_for(), ask_for("second"), b"malformed"):
        assert state.device(3).answer(question) is Refusal.LEDGER_DAMAGED
    with pytest.raises(EpochPassed), lost.transaction():
        pytest.fail("it began")
    for epoch in (3, 5):
        with pytest.raises(EpochPassed):
            Ledger(lost.path, epoch=epoch)
    state.close()
    again = state.device(3).answer(ask_for())  # opened anew, under the present epoch
    assert isinstance(again, Report) and again.replayed


def test_an_epoch_that_changes_in_the_middle_of_a_transaction_cannot_be(ledger: Ledger) -> None:
    other = Ledger(ledger.path)
    other._db.execute("PRAGMA busy_timeout=0")
    with ledger.transaction():
        with pytest.raises(LedgerDamaged):  # the write lock is held
            other.raise_epoch(1)
    assert other.epoch == 0
    other.raise_epoch(1)
    assert other.epoch == 1


class Uncommitted:
    """A connection that cannot commit."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        if statement == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        return self._db.execute(statement, *values)

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction


def test_an_epoch_that_is_not_committed_is_not_taken(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ledger, "_db", Uncommitted(ledger._db))
        with pytest.raises(LedgerDamaged, match="cannot be written"):
            ledger.raise_epoch(1)
    assert ledger.epoch == Ledger(ledger.path).epoch == 0
    train(ledger)  # it answers on under the epoch that it has
    ledger.raise_epoch(1)
    assert ledger.epoch == Ledger(ledger.path).epoch == 1

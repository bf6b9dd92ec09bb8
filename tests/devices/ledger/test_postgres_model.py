"""The simulator's model of PostgreSQL gives the results of a real server, for the same calls of ``PostgresCounter``."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from ldpsim.devices.ledger import counter_postgres
from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.counter_postgres import PostgresCounter
from ldpsim.devices.ledger.rows import Head
from tests.faults import postgres

if TYPE_CHECKING:
    from tests.devices.ledger.conftest import Server

HEADS = [Head(), *(Head(number, bytes([number, twin]) * 16) for number in (1, 2, 3) for twin in (0, 1))]


def said(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except OSError as error:
        return type(error)


@pytest.fixture
def both(postgres_server: Server) -> Callable[[Callable[[PostgresCounter], Any]], Any]:
    """Do something with a counter on the server and one on the model, and compare what comes of it."""
    name, model = uuid4().hex, postgres.Server()
    address = postgres_server.address + "&options=-c%20lock_timeout%3D200"
    real, modelled = PostgresCounter(address, name), PostgresCounter("postgresql://model", name)

    def act(work: Callable[[PostgresCounter], Any]) -> Any:
        found = said(lambda: work(real))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counter_postgres, "_psycopg", model.module)
            assert said(lambda: work(modelled)) == found
        return found

    return act


def test_random_calls(both: Callable[[Callable[[PostgresCounter], Any]], Any]) -> None:
    entries = {device: Entry(Head(), bytes([device]) * 32) for device in range(4)}
    assert both(lambda counter: counter.advance({1: (HEADS[0], HEADS[1])})) is OSError  # nobody is known
    assert both(lambda counter: counter.create(entries)) is None
    assert both(lambda counter: counter.create(entries)) is OSError
    rng, seen = Random(5), set()
    for _ in range(150):
        devices = rng.sample(range(5 if rng.random() < 0.1 else 4), rng.randrange(1, 4))
        if rng.random() < 0.3:
            both(lambda counter, wanted=devices: counter.entries(wanted))
            continue
        changes = {device: (rng.choice(HEADS), rng.choice(HEADS)) for device in devices}
        found = both(lambda counter, wanted=changes: counter.advance(wanted))
        seen.add("refused" if found is OSError else "left" if found else "advanced")
    assert seen == {"refused", "left", "advanced"}
    assert len(both(lambda counter: counter.entries(range(9)))) == 4

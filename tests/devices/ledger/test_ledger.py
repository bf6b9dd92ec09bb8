"""The ledger: durable and atomic; what a row holds, and what a training adds up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import KEY, chain_of, harm, release, report_after, train


def test_a_row_holds_what_was_released(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query, before = ask_for(), time.time()
    release(ledger, query)
    (row,) = ledger.answers(3)
    assert (*row[:4], row.stage, row.grouping) == (3, 0, "report", "first", 0, b"")
    assert [(p.attribute, p.fingerprint, p.report, p.data_digest, p.loss) for p in row.parts] == [
        (name, query.fingerprint(name), f"{name}0".encode(), b"d" * 32, Loss(1.0, most))
        for name, most in (("adjacency", 11.0), ("features", 10.0), ("label", 1.0))
    ]
    assert before <= row.time <= time.time() and ledger.answers() == [row] and ledger.answers(4) == []
    (ask,) = ask_for(attributes="a").asks
    one_end = Query("one", ((replace(ask, mechanisms=(replace(ask.mechanisms[0], reporting="one-end"),)),),))
    for device in (0, 1, 11):
        release(ledger, one_end, device)
        assert ledger.answers(device)[0].parts[0].loss == Loss(min(device, 1), device)


def test_chains_are_read_together_and_judged_one_by_one(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    """A damaged device does not stop the others, and a key is its own device's."""
    keys = {device: bytes([device]) * 32 for device in range(2, 9)}
    for device in (2, 4, 5, 7):
        release(ledger, ask_for(), device, keys[device])
    train(ledger, 5, keys[5])
    harm(ledger, "UPDATE answer SET collection = 'x' WHERE device = 4")
    found = ledger.chains(keys)
    assert isinstance(found[4], LedgerDamaged) and list(found) == list(keys)
    assert {device: len(rows) for device, rows in found.items() if device != 4} == {2: 1, 3: 0, 5: 2, 6: 0, 7: 1, 8: 0}
    assert isinstance(ledger.chains({2: keys[7]})[2], LedgerDamaged)
    assert [*ledger.chains({2: keys[2], 7: keys[7]})] == [2, 7]
    # The chain that a counter reads is checked too: rows without a right seal prove nothing.
    assert ledger._chain(2, keys[2]) == ledger.answers(2) and list(ledger._chain(3, KEY)) == []
    with pytest.raises(LedgerDamaged, match="no chain"):
        ledger._chain(2, KEY)


def test_a_transaction_is_all_or_nothing(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    for error in (RuntimeError, KeyboardInterrupt, GeneratorExit, SystemExit):
        with pytest.raises(error), ledger.transaction():
            ledger.enter([report_after([], ask_for())], [b""], {3: KEY})
            assert len(ledger.answers(3)) == 1 and ledger.in_transaction
            raise error
        assert ledger.answers(3) == [] and not ledger.in_transaction and not ledger._db.in_transaction
    with pytest.raises(RuntimeError, match="already"), ledger.transaction(), ledger.transaction():
        pytest.fail("a transaction began inside another")
    release(ledger, ask_for())
    assert len(ledger.answers(3)) == 1


def test_a_checked_training_is_checked_again_when_somebody_else_wrote(ledger: Ledger) -> None:
    train(ledger)
    with pytest.raises(RuntimeError), ledger.transaction():
        rows = chain_of(ledger)
        ledger.enter([rows[0]._replace(number=1)], [rows[0].seal], {3: KEY})
        raise RuntimeError  # what was entered is given up, and not remembered
    train(ledger)
    train(Ledger(ledger.path))
    train(ledger)
    assert len(chain_of(ledger)) == 4
    harm(ledger, "UPDATE answer SET collection = 'x' WHERE number = 1")
    with pytest.raises(LedgerDamaged):
        train(ledger)


def test_rows_that_exist_are_never_replaced(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for())
    before = ledger.answers(3)
    with pytest.raises(LedgerDamaged), ledger.transaction():
        ledger.enter([report_after([], ask_for("other"))], [b""], {3: KEY})
    assert ledger.answers(3) == before

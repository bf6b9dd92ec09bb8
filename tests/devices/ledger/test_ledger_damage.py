"""A ledger of another form, or a damaged one, is not opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import harm, readable, release

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON answer BEGIN DELETE FROM answer; END"


@pytest.mark.parametrize(
    "change",
    [
        TRIGGER, "CREATE VIEW v AS SELECT * FROM answer", "CREATE INDEX i ON answer (collection)",
        "CREATE TABLE more (x)", "ALTER TABLE answer ADD COLUMN more", "DROP TABLE answer",
        "PRAGMA application_id=7", "PRAGMA user_version=3", "PRAGMA user_version=5",
    ],
)  # fmt: skip
def test_a_ledger_of_another_form_is_not_opened(ledger: Ledger, ask_for: Callable[..., Query], change: str) -> None:
    release(ledger, ask_for(attributes="a"))
    harm(ledger, change)
    with pytest.raises(LedgerDamaged):
        Ledger(ledger.path)
    if not change.startswith("PRAGMA"):
        with pytest.raises(LedgerDamaged), ledger.transaction():  # nor served by who had it open before
            pytest.fail("it began")


def test_a_planted_trigger_does_not_make_a_device_answer_twice(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    state.device(3)
    harm(state.ledger(3), TRIGGER)
    assert state.device(3).answer(ask_for()) is Refusal.LEDGER_DAMAGED
    state.close()
    assert state.device(3).answer(ask_for()) is Refusal.LEDGER_DAMAGED
    with pytest.raises(LedgerDamaged, match="triggers"):
        state.ledger(3)


def test_one_rotten_byte_anywhere_hides_nothing(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    """Each byte of the file in turn: it does not open, a device is damaged, or every row stands as it was."""
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger.create(path)
    devices = (2, 5, 6)  # with gaps, so that a rotten number can become another one
    for device in devices:
        release(ledger, ask_for(attributes="al"), device)
    true = {device: ledger.answers(device) for device in devices}
    ledger.close()
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    used = [at for at in range(len(data)) if data[at] or rng.random() < 0.01]  # most of the pages is empty space
    unopened = damaged = 0
    for at in used:
        rotten = bytearray(data)
        rotten[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(rotten)
        try:
            ledger = Ledger(path)
        except LedgerDamaged:
            unopened += 1
            continue
        for device in devices:
            if readable(ledger, device):
                assert ledger.answers(device) == true[device], at
            else:
                damaged += 1
        ledger.close()
    assert unopened > 100 and damaged > 100

"""`make torture` in small: forty kills in CI, and what breaks the promise is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm

ROOT = Path(__file__).parents[4]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)


def test_forty_kills() -> None:
    """Collections of 200 devices: one report a device, no record lost, the curator's data complete."""
    done = run("-m", "tests.strategies.attacks.stress.kill", "--kills", "40", "--devices", "200")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("40 kills (") and "4 collections, 800 reports" in done.stdout
    assert done.stdout.rstrip().endswith("could not be completed: none")


SPOILED = """
import os, sys
from contextlib import suppress
from flwr.app import Context, RecordDict
from ldpsim.devices import client_app
from ldpsim.devices.answer_many import answer_many
from ldpsim.devices.client_app import app, open_state
from ldpsim.devices.enrolment.state import SHARD
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.ledger.ledger import Ledger
from tests.strategies.attacks.stress.kill import torture

def early(self, shard, messages):
    state = open_state(str(self.folder), os.getpid())
    with state.ledger(shard * SHARD).transaction():
        for message in messages:
            node = message.metadata.dst_node_id
            yield app(message, Context(1, node, {"state-dir": str(self.folder), "partition-id": node - 1},
                                       RecordDict(), {}))

def early_together(state, devices, question):
    with suppress(InterruptedError), state.ledger(devices[0]).transaction(devices):
        answers = answer_many(state, devices, question)
        raise InterruptedError
    return answers

def spoil():
    if sys.argv[1] == "replies leave before the commit":
        Fleet._answer_batch, client_app.answer_together = early, early_together
    else:
        Ledger.enter = Ledger.enter_first = lambda *_, **__: None

print(torture(20, 120, seed=1, spoil=spoil, moments=("while replies leave",)))
"""


@pytest.mark.parametrize("variant", ["replies leave before the commit", "nothing is entered"])
def test_a_broken_device_is_found(variant: str) -> None:
    """Every run dies at a reply that the seed chooses, so a fast or slow machine finds the same."""
    done = run("-c", SPOILED, variant)
    assert done.returncode == 0, done.stderr
    assert "gave 2 different reports" in done.stdout, done.stdout

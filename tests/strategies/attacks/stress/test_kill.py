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
import sys
from contextlib import contextmanager, suppress
from ldpsim.devices.ledger.ledger import Ledger
from tests.strategies.attacks.stress.kill import torture

transaction = Ledger.transaction

@contextmanager
def late(ledger, devices=()):  # a run that is killed while replies leave never comes to the commit
    with suppress(InterruptedError), transaction(ledger, devices):
        yield
        raise InterruptedError

def spoil():
    if sys.argv[1] == "replies leave before the commit":
        Ledger.transaction = late
    else:
        Ledger.enter = lambda *_: None

print(torture(20, 120, seed=1, spoil=spoil, moments=("while replies leave",)))
"""


@pytest.mark.parametrize("variant", ["replies leave before the commit", "nothing is entered"])
def test_a_broken_device_is_found(variant: str) -> None:
    """Every run dies at a reply that the seed chooses, so a fast or slow machine finds the same."""
    done = run("-c", SPOILED, variant)
    assert done.returncode == 0, done.stderr
    assert "gave 2 different reports" in done.stdout, done.stdout

"""Adversaries and faults of :mod:`strategies.adversaries` against the real devices.

Each number of asks gets devices of its own. What an adversary learned is added up like
everything else: only distinct answers count.

Against a protection that covers it an adversary may learn less than one answer gives (a
greedy first question is refused), but not more. What is not covered is shown with its real
loss: a fault that strikes T - 1 times gives T answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from devices.query import Query
from strategies.adversaries import ADVERSARIES, Outcome, Target
from strategies.adversaries.faults import FAULTS
from strategies.stress.tallies import Tally

# Faults that need a process or a file system of their own have tests instead.
STRIKING = {name: fault for name, fault in FAULTS.items() if fault.strike is not None}


def let_loose(adversary: str, fault: str, folder: Path, query: Query, tally: Tally, *, asks: int) -> Outcome:
    """Let an adversary, or one who asks after each strike of a fault, loose on enrolled devices.

    Args:
        adversary: A name of :data:`ADVERSARIES`; of no account where there is a fault.
        fault: A name of :data:`STRIKING`, or ``none``.
        folder: The devices' state folder.
        query: The question that they enrolled for.
        tally: Takes all that was learned.
        asks: How often it asks, where that is free.
    """
    target = Target.of(folder, query)
    known = ADVERSARIES[adversary] if fault == "none" else STRIKING[fault]
    outcome = known.attack(target, asks=asks)
    given = outcome.answers_given()
    for attribute in tally.mechanisms:
        for device, answers in outcome.reports(attribute).items():
            for ask, parts in answers:
                tally.learn(device, ask, parts)
            tally.count(device, attribute, given[device, attribute])
    return outcome


def covered(adversary: str, fault: str) -> bool:
    """Whether the devices' promise covers it."""
    return (ADVERSARIES[adversary] if fault == "none" else STRIKING[fault]).covered


def names() -> Iterator[tuple[str, str]]:
    """Yield (name, what it does) of every registered adversary."""
    yield from ((name, adversary.description) for name, adversary in ADVERSARIES.items())

"""Adversaries and faults of :mod:`strategies.attacks.adversaries` against the real devices.

Each number of asks has devices of its own. Only distinct answers count.

If the protection covers an adversary, it may learn less than one answer gives (a greedy first
question is refused), but not more. A row that is not covered shows its real loss: a fault that
strikes T - 1 times gives T answers.
"""

from __future__ import annotations

from pathlib import Path

from devices.collector import CollectorKey
from devices.query import Query
from strategies.attacks.adversaries import ADVERSARIES, AttackResult, Target
from strategies.attacks.adversaries.faults import FAULTS
from strategies.attacks.stress.tallies import Tally

# Faults that need a process or a file system of their own have tests instead.
STRIKING = {name: fault for name, fault in FAULTS.items() if fault.strike is not None}


def run_attack(
    adversary: str,
    fault: str,
    folder: Path,
    query: Query,
    tally: Tally,
    *,
    asks: int,
    collector: CollectorKey | None = None,
) -> AttackResult:
    """Attack enrolled devices with an adversary, or with one that asks after each strike of a fault.

    Args:
        adversary: A name of :data:`ADVERSARIES`; not used if there is a fault.
        fault: A name of :data:`STRIKING`, or ``none``.
        folder: The devices' state folder.
        query: The question for which they are enrolled.
        tally: Gets all distinct answers.
        asks: Number of asks, for adversaries that ask as often as they like.
        collector: The key that the devices pin.
    """
    target = Target.of(folder, query, collector)
    attack = ADVERSARIES[adversary](target, asks=asks).attack if fault == "none" else None
    outcome = STRIKING[fault].attack(target, asks=asks) if attack is None else attack()
    given = outcome.answers_given()
    for attribute in tally.mechanisms:
        for device, answers in outcome.reports(attribute).items():
            for ask, parts in answers:
                tally.learn(device, ask, parts)
            tally.count(device, attribute, given[device, attribute])
    return outcome


def covered(adversary: str, fault: str) -> bool:
    """Whether devices are protected against an adversary or a fault."""
    return (ADVERSARIES[adversary] if fault == "none" else STRIKING[fault]).covered

"""Adversarial curators: each a Flower strategy that tries to get a second answer out of a device.

:data:`ADVERSARIES` is the table name -> :class:`Adversary`. ``covered`` says that a device
which runs the published app stays at the one-query bound: at most one release of each
attribute, within its policy. For those that are not covered ``loss`` says what they get.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strategies.adversaries.curator import AdversarialCurator
from strategies.adversaries.data import ChangedData
from strategies.adversaries.malformed import Malformed
from strategies.adversaries.models import TrainAndEvaluate
from strategies.adversaries.outcome import Outcome, Release
from strategies.adversaries.plans import BrokenPlans
from strategies.adversaries.processes import Parallel, TwoSuperNodes
from strategies.adversaries.repeating import NewCollections, NewRuns, OneBatch, Repeats, RetryStorm, Sybils
from strategies.adversaries.target import Target
from strategies.adversaries.varying import (
    AttributeByAttribute,
    BothEnds,
    GreedyFirst,
    GrowingBudgets,
    HugeParameters,
    OtherMechanisms,
    ShrinkingBudgets,
    Subsets,
)


@dataclass(frozen=True)
class Adversary:
    """One row of the threat model.

    Args:
        curator: The strategy.
        loss: What it costs a person, as a multiple of the one-query bound ("1x").
        test: The test that shows it.
    """

    curator: type[AdversarialCurator]
    loss: str = "1x"
    test: str = "tests/strategies/adversaries/test_adversaries.py::test_nobody_gets_a_second_answer"

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self.curator.name

    @property
    def description(self) -> str:
        """What it does, in one line."""
        return self.curator.description

    @property
    def covered(self) -> bool:
        """Whether devices are protected against it."""
        return self.curator.covered

    def attack(self, target: Target, *, asks: int = 25) -> Outcome:
        """Let it loose on devices and return what it learned.

        Args:
            target: The devices (:meth:`Target.of` for those of a state folder).
            asks: How often it asks, where that is free.
        """
        return self.curator(target, asks=asks).attack()


_ALL: tuple[Adversary, ...] = tuple(
    Adversary(kind)
    for kind in (
        GreedyFirst, Repeats, NewRuns, NewCollections, OneBatch, Parallel, GrowingBudgets, ShrinkingBudgets,
        AttributeByAttribute, Subsets, OtherMechanisms, TrainAndEvaluate, ChangedData, BrokenPlans, BothEnds, Sybils,
        TwoSuperNodes, RetryStorm, Malformed, HugeParameters,
    )
)  # fmt: skip
ADVERSARIES: Mapping[str, Adversary] = {adversary.name: adversary for adversary in _ALL}

__all__ = ["ADVERSARIES", "AdversarialCurator", "Adversary", "Outcome", "Release", "Target"]

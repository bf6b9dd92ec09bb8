"""Adversarial curators: each is a Flower strategy that tries to get a second answer from a device.

:data:`ADVERSARIES` is the table of their classes by name, the rows of the threat model.
"""

from __future__ import annotations

from collections.abc import Mapping

from strategies.attacks.adversaries.attack_result import AttackResult, Release
from strategies.attacks.adversaries.curator import AdversarialCurator
from strategies.attacks.adversaries.hostile_tables import HostileTables
from strategies.attacks.adversaries.malformed import MalformedMessages
from strategies.attacks.adversaries.models import TrainAndEvaluate
from strategies.attacks.adversaries.processes import Parallel, TwoSuperNodes
from strategies.attacks.adversaries.repeating import (
    ChangedData,
    NewCollections,
    NewRuns,
    OneBatch,
    Repeats,
    RetryStorm,
    Sybils,
)
from strategies.attacks.adversaries.staged_queries import BrokenStages
from strategies.attacks.adversaries.target import Target
from strategies.attacks.adversaries.varying import (
    AttributeByAttribute,
    BothEnds,
    GhostFirst,
    GreedyFirst,
    GrowingBudgets,
    HugeParameters,
    OtherMechanisms,
    ShrinkingBudgets,
    Subsets,
)

ADVERSARIES: Mapping[str, type[AdversarialCurator]] = {
    kind.name: kind
    for kind in (
        GreedyFirst, GhostFirst, Repeats, NewRuns, NewCollections, OneBatch, Parallel, GrowingBudgets, ShrinkingBudgets,
        AttributeByAttribute, Subsets, OtherMechanisms, TrainAndEvaluate, ChangedData, BrokenStages, BothEnds, Sybils,
        TwoSuperNodes, RetryStorm, MalformedMessages, HugeParameters, HostileTables,
    )
}  # fmt: skip

__all__ = ["ADVERSARIES", "AdversarialCurator", "AttackResult", "Release", "Target"]

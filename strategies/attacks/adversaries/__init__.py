"""Adversarial curators: each is a Flower strategy that tries to get a second answer from a device.

:data:`ADVERSARIES` is the table of their classes by name, the rows of the threat model.
"""

from __future__ import annotations

from collections.abc import Mapping

from ldpsim.strategies.attacks.adversaries.attack_result import AttackResult, Release
from ldpsim.strategies.attacks.adversaries.curator import AdversarialCurator
from ldpsim.strategies.attacks.adversaries.hostile_tables import HostileTables
from ldpsim.strategies.attacks.adversaries.malformed import MalformedMessages
from ldpsim.strategies.attacks.adversaries.models import TrainAndEvaluate
from ldpsim.strategies.attacks.adversaries.processes import Parallel, TwoSuperNodes
from ldpsim.strategies.attacks.adversaries.repeating import (
    ChangedData,
    NewCollections,
    NewRuns,
    OneBatch,
    Repeats,
    RetryStorm,
    Sybils,
)
from ldpsim.strategies.attacks.adversaries.staged_queries import BrokenStages
from ldpsim.strategies.attacks.adversaries.target import Target
from ldpsim.strategies.attacks.adversaries.varying import (
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

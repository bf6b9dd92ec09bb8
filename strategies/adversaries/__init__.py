"""Adversarial curators: each is a Flower strategy that tries to get a second answer from a device.

:data:`ADVERSARIES` is the table of their classes by name, the rows of the threat model.
"""

from __future__ import annotations

from collections.abc import Mapping

from strategies.adversaries.attack_result import AttackResult, Release
from strategies.adversaries.curator import AdversarialCurator
from strategies.adversaries.data import ChangedData
from strategies.adversaries.hostile_tables import HostileTables
from strategies.adversaries.malformed import MalformedMessages
from strategies.adversaries.models import TrainAndEvaluate
from strategies.adversaries.processes import Parallel, TwoSuperNodes
from strategies.adversaries.repeating import NewCollections, NewRuns, OneBatch, Repeats, RetryStorm, Sybils
from strategies.adversaries.staged_queries import BrokenStages
from strategies.adversaries.target import Target
from strategies.adversaries.varying import (
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

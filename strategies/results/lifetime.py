"""The lifetime loss of devices, read from their ledgers and not from a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from devices.enrolment.state import State
from devices.facts import IntArray
from devices.ledger.ledger import LedgerDamaged
from devices.ledger.rows import TRAINING, training_scope
from devices.mechanisms.base import Loss, round_up

_OF_TRAINING = {"adjacency": ("bit_adjacency",), "features": ("bit_feature", "vector"), "label": ("label",)}
LEVELS = ("bit_adjacency", "bit_feature", "vector", "label", "user")


@dataclass(frozen=True, eq=False)
class TrainingAnswers:
    """Answers that the devices of a folder gave in one training, as their ledgers have them.

    Args:
        counts: int64 (n,), answers of each device, of every kind.
        loss: The largest loss of one answer, at each level.
        complete: Whether every ledger could be read whole; if not, there may be more answers.
    """

    counts: IntArray = field(repr=False)
    loss: Loss
    complete: bool

    @property
    def total(self) -> int:
        """Answers of all devices together."""
        return int(self.counts.sum())

    @property
    def most(self) -> int:
        """Answers of the device that gave most."""
        return int(self.counts.max(initial=0))


def nothing_known(*, complete: bool) -> dict[str, Any]:
    """Return the figures where no ledger was there to read (no device, or reports kept from before)."""
    value = 0.0 if complete else None
    return {**{name: {"max": value, "mean": value} for name in LEVELS}, "complete": complete}


def lifetime(state: State) -> dict[str, Any]:
    """Return ``{LEVEL: {max, mean}, complete}`` over the devices of a state folder.

    Levels: ``bit_adjacency``, ``bit_feature``, ``vector`` (the features), ``label`` and
    ``user`` (everything the device ever released). A device that released nothing counts
    with 0. ``max`` and ``mean`` are None where a device's loss is unbounded.
    ``complete`` is False where a ledger could not be read whole, so that more may have
    been released than is known.
    """
    return read_ledgers(state, None)[0]


def read_ledgers(state: State, collection: str | None) -> tuple[dict[str, Any], TrainingAnswers]:
    """Return :func:`lifetime` and the answers of one training, in one pass over the ledgers."""
    n = len(state)
    counts, largest = np.zeros(n, np.int64), Loss(0.0, 0.0)
    levels = {name: np.zeros(n) for name in LEVELS}
    complete = True
    for first in range(0, n, state.shard):
        try:
            entries = state.ledger(first).all_entries()
            for entry in entries:
                if not 0 <= entry.device < n or entry.sealed_by(state.seal_key(entry.device)) != entry.seal:
                    complete = False
                    continue
                level = {"adjacency": "bit_adjacency", "features": "bit_feature", "label": "label"}.get(entry.attribute)
                if entry.attribute == TRAINING:
                    if entry.collection == collection:
                        counts[entry.device] += 1
                        bit, vector = max(largest.bit, entry.loss.bit), max(largest.vector, entry.loss.vector)
                        largest = Loss(bit, vector, max(largest.delta, entry.loss.delta))
                    # An update is bounded as a whole: whatever of the record changes, it loses no more than this.
                    for name in training_scope(entry):
                        for touched in _OF_TRAINING[name]:
                            levels[touched][entry.device] += entry.loss.vector
                if level is not None:
                    levels[level][entry.device] += entry.loss.bit
                if entry.attribute == "features":
                    levels["vector"][entry.device] += entry.loss.vector
                levels["user"][entry.device] += entry.loss.vector
        except LedgerDamaged:
            complete = False
    known = {**{name: _extremes(values) for name, values in levels.items()}, "complete": complete}
    return known, TrainingAnswers(counts, largest, complete)


def _extremes(values: np.ndarray) -> dict[str, float | None]:
    if not np.all(np.isfinite(values)):
        return {"max": None, "mean": None}
    return {"max": round_up(float(values.max())), "mean": round_up(math.fsum(values) / len(values))}

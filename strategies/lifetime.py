"""The lifetime loss of devices, read from their ledgers and not from a plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from devices.enrolment import State
from devices.entries import TRAINING, training_scope
from devices.ledger import LedgerDamaged
from devices.mechanisms.base import round_up

_OF_TRAINING = {"adjacency": ("bit_adjacency",), "features": ("bit_feature", "vector"), "label": ("label",)}
LEVELS = ("bit_adjacency", "bit_feature", "vector", "label", "user")


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
    n = len(state)
    levels = {name: np.zeros(n) for name in LEVELS}
    complete = True
    for first in range(0, n, state.shard):
        try:
            entries = state.ledger(first).all_entries()
            for entry in entries:
                if not 0 <= entry.device < n or entry.sealed_by(state.seal_key(entry.device)) != entry.seal:
                    complete = False
                    continue
                bit = {"adjacency": "bit_adjacency", "features": "bit_feature", "label": "label"}.get(entry.attribute)
                if entry.attribute == TRAINING:
                    # An update is bounded as a whole: whatever of the record changes, it loses no more than this.
                    for name in training_scope(entry):
                        for level in _OF_TRAINING[name]:
                            levels[level][entry.device] += entry.loss.vector
                if bit is not None:
                    levels[bit][entry.device] += entry.loss.bit
                if entry.attribute == "features":
                    levels["vector"][entry.device] += entry.loss.vector
                levels["user"][entry.device] += entry.loss.vector
        except LedgerDamaged:
            complete = False
    return {**{name: _extremes(values) for name, values in levels.items()}, "complete": complete}


def _extremes(values: np.ndarray) -> dict[str, float | None]:
    if not np.all(np.isfinite(values)):
        return {"max": None, "mean": None}
    return {"max": round_up(float(values.max())), "mean": round_up(math.fsum(values) / len(values))}

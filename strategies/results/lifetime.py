"""Lifetime loss of devices, read from their ledgers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from curator.privacy.levels import LEVELS, LevelSpec
from devices.array_types import FloatArray
from devices.enrolment.state import State
from devices.facts import IntArray
from devices.fleet import MOST_OPEN
from devices.ledger.chain import checked
from devices.ledger.ledger import LedgerDamaged
from devices.ledger.rows import Answer, TrainingAnswer, counted
from devices.mechanisms.base import Loss, round_up


def ledger_levels() -> dict[str, LevelSpec]:
    """Return the levels of guarantee that a device's own ledger shows, by name."""
    return {name: spec for name, spec in LEVELS.items() if spec.in_ledger}


def losses_of(answer: Answer, levels: Mapping[str, LevelSpec]) -> Iterator[tuple[str, float, float]]:
    """Yield what one answer adds to the levels, as (level, loss, delta).

    An answer of a training is bounded as a whole: whatever of the record changes, it loses no
    more than its whole loss.
    """
    for name, spec in levels.items():
        if isinstance(answer, TrainingAnswer):
            if spec.attribute is None or spec.attribute in answer.scope:
                yield name, answer.loss_vector, answer.delta
            continue
        for part in counted(answer) if spec.attribute is None else answer.parts:
            if spec.attribute in (None, part.attribute):
                yield name, part.loss_bit if spec.unit == "entry" else part.loss_vector, part.delta


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
    """Return the figures for a run without ledgers (no device, or reports kept from before)."""
    value = 0.0 if complete else None
    return {**{name: {"max": value, "mean": value} for name in ledger_levels()}, "complete": complete}


def lifetime(state: State) -> dict[str, Any]:
    """Return ``{LEVEL: {max, mean}, complete}`` over the devices of a state folder.

    The levels are those of :func:`ledger_levels`; ``user`` counts all that the device ever
    released. A device that released nothing counts with 0. ``max`` and ``mean`` are None if a
    device's loss is unbounded. A level whose losses have a delta has ``delta`` as well, the largest
    sum of a device; the sums of losses are then an upper bound (basic composition).
    ``complete`` is False if a ledger could not be read whole, so that more may have been released
    than is known.
    """
    return read_ledgers(state, None)[0]


def read_ledgers(state: State, collection: str | None) -> tuple[dict[str, Any], TrainingAnswers]:
    """Return :func:`lifetime` and the answers of one training, in one pass over the ledgers."""
    n = len(state)
    counts, largest = np.zeros(n, np.int64), Loss(0.0, 0.0)
    specs = ledger_levels()
    levels, deltas = {name: np.zeros(n) for name in specs}, {name: np.zeros(n) for name in specs}
    complete = True
    for first in range(0, n, state.shard):
        try:
            for device, answers in state.ledger(first).devices():
                if not 0 <= device < n:
                    complete = False
                    continue
                try:
                    for answer in checked(answers, state.seal_key(device)):
                        if isinstance(answer, TrainingAnswer) and answer.collection == collection:
                            counts[device] += 1
                            bit, vector = max(largest.bit, answer.loss_bit), max(largest.vector, answer.loss_vector)
                            largest = Loss(bit, vector, max(largest.delta, answer.delta))
                        for level, loss, delta in losses_of(answer, specs):
                            levels[level][device] += loss
                            deltas[level][device] += delta
                except LedgerDamaged:  # the rows before the break were released; the rest is unknown
                    complete = False
        except LedgerDamaged:
            complete = False
        if n > MOST_OPEN * state.shard:  # each open ledger has three files
            state.close(first // state.shard)
    known = {**{name: extremes(levels[name], deltas[name]) for name in specs}, "complete": complete}
    return known, TrainingAnswers(counts, largest, complete)


def extremes(losses: FloatArray, deltas: FloatArray) -> dict[str, float | None]:
    """Return ``{max, mean}`` of the devices' losses, and the largest ``delta`` where there is one."""
    if not np.all(np.isfinite(losses)):
        return {"max": None, "mean": None}
    found: dict[str, float | None] = {
        "max": round_up(float(losses.max())), "mean": round_up(math.fsum(losses) / len(losses)),
    }  # fmt: skip
    return found | {"delta": float(deltas.max())} if deltas.any() else found

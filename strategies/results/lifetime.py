"""Lifetime loss of devices, read from their ledgers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpsim.curator.privacy.levels import LEVELS, LevelSpec
from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import IntArray
from ldpsim.devices.fleet import MOST_OPEN
from ldpsim.devices.ledger.chain import verify_seals
from ldpsim.devices.ledger.ledger import LedgerDamaged
from ldpsim.devices.ledger.rows import Answer
from ldpsim.devices.mechanisms.exact_loss import Loss, round_up

_MOST_KINDS = 4096  # of answers with different losses that wait to be added up


def ledger_levels() -> dict[str, LevelSpec]:
    """Return the levels of guarantee that a device's own ledger shows, by name."""
    return {name: spec for name, spec in LEVELS.items() if spec.in_ledger}


def losses_of(answer: Answer, levels: Mapping[str, LevelSpec]) -> Iterator[tuple[str, float, float]]:
    """Yield what one answer adds to the levels, as (level, loss, delta).

    An answer of a training is bounded as a whole: whatever of the record changes, it loses no
    more than its whole loss.
    """
    for name, spec in levels.items():
        for part in answer.releases if spec.attribute is None else answer.parts:
            if spec.attribute is None or spec.attribute in (answer.scope if answer.is_training else (part.attribute,)):
                whole = answer.is_training or spec.unit != "entry"
                yield name, part.loss.vector if whole else part.loss.bit, part.loss.delta


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


def nothing_known(*, complete: bool) -> Losses:
    """Return the losses for a run without ledgers (no device, or reports kept from before)."""
    value = np.full(1, 0.0 if complete else math.inf)
    return Losses(dict.fromkeys(ledger_levels(), value), dict.fromkeys(ledger_levels(), np.zeros(1)), complete)


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of the devices of some ledgers, by level.

    Args:
        levels: float64 (n,) of each level, the sum of a device's losses.
        deltas: float64 (n,) of each level, the sum of its deltas.
        complete: Whether every ledger could be read whole.
    """

    levels: Mapping[str, FloatArray] = field(repr=False)
    deltas: Mapping[str, FloatArray] = field(repr=False)
    complete: bool

    def __add__(self, other: Losses) -> Losses:
        """Return the losses of the same people by the ledgers of both."""
        levels = {name: losses + other.levels[name] for name, losses in self.levels.items()}
        deltas = {name: sums + other.deltas[name] for name, sums in self.deltas.items()}
        return Losses(levels, deltas, self.complete and other.complete)

    def figures(self) -> dict[str, Any]:
        """Return ``{LEVEL: {max, mean}, complete}`` over the devices.

        The levels are those of :func:`ledger_levels`; ``user`` counts all that the device ever
        released. A device that released nothing counts with 0. ``max`` and ``mean`` are None if a
        device's loss is unbounded. A level whose losses have a delta has ``delta`` as well, the largest
        sum of a device; the sums of losses are then an upper bound (basic composition).
        ``complete`` is False if a ledger could not be read whole, so that more may have been released
        than is known.
        """
        by_level = {name: extremes(self.levels[name], self.deltas[name]) for name in self.levels}
        return {**by_level, "complete": self.complete}


def read_ledgers(state: State, collection: str | None) -> tuple[Losses, TrainingAnswers]:
    """Return the losses of all devices and the answers of one training, in one pass over the ledgers."""
    n = len(state)
    counts, largest = np.zeros(n, np.int64), Loss(0.0, 0.0)
    specs = ledger_levels()
    levels, deltas = {name: np.zeros(n) for name in specs}, {name: np.zeros(n) for name in specs}
    complete = True
    alike: dict[bytes, tuple[Answer, list[int]]] = {}
    known = set[bytes]()
    for shard in state.shards:
        try:
            everything = state.ledger(shard * state.shard).answers()
        except LedgerDamaged:
            everything, complete = [], False
        answers = [answer for answer in everything if 0 <= answer.device < n]
        complete &= len(answers) == len(everything)
        keys = state.seal_keys(sorted({answer.device for answer in answers}))
        broken = set[int]()  # what a device answered before the break is known; the rest is not
        for answer, is_sound in zip(answers, verify_seals(answers, keys), strict=True):
            if not is_sound:
                broken.add(answer.device)
            if answer.device in broken:
                continue
            terms = answer.terms
            alike.setdefault(terms, (answer, []))[1].append(answer.device)
            if answer.is_training and answer.collection == collection:
                counts[answer.device] += 1
                if terms in known:  # answers that are alike have one loss
                    continue
                known.add(terms)
                (part,) = answer.parts
                bit, vector = max(largest.bit, part.loss.bit), max(largest.vector, part.loss.vector)
                largest = Loss(bit, vector, max(largest.delta, part.loss.delta))
        complete &= not broken
        if n > MOST_OPEN * state.shard:  # each open ledger has three files
            state.close(shard)
        if len(alike) > _MOST_KINDS:  # each kind keeps an answer with its report
            _add_up(alike, levels, deltas)
    _add_up(alike, levels, deltas)
    return Losses(levels, deltas, complete), TrainingAnswers(counts, largest, complete)


def _add_up(
    alike: dict[bytes, tuple[Answer, list[int]]], levels: Mapping[str, FloatArray], deltas: Mapping[str, FloatArray]
) -> None:
    """Add the losses of answers that are alike to those of their devices, and forget them."""
    specs = ledger_levels()
    for answer, devices in alike.values():
        for level, loss, delta in losses_of(answer, specs):
            np.add.at(levels[level], devices, loss)  # a device may have several of a kind
            np.add.at(deltas[level], devices, delta)
    alike.clear()


def extremes(losses: FloatArray, deltas: FloatArray) -> dict[str, float | None]:
    """Return ``{max, mean}`` of the devices' losses, and the largest ``delta`` where there is one."""
    if not np.all(np.isfinite(losses)):
        return {"max": None, "mean": None}
    figures: dict[str, float | None] = {
        "max": round_up(float(losses.max())), "mean": round_up(math.fsum(losses) / len(losses)),
    }  # fmt: skip
    return figures | {"delta": float(deltas.max())} if deltas.any() else figures

"""Lifetime loss of devices, read from their ledgers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpsim.curator.privacy.levels import LEVELS, LevelSpec
from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import IntArray
from ldpsim.devices.fleet import MOST_OPEN
from ldpsim.devices.ledger.chain import checked, sound_alone
from ldpsim.devices.ledger.ledger import LedgerDamaged
from ldpsim.devices.ledger.rows import Answer, QueryAnswer, TrainingAnswer, distinct_parts
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
        if isinstance(answer, TrainingAnswer):
            if spec.attribute is None or spec.attribute in answer.scope:
                yield name, answer.loss_vector, answer.delta
            continue
        for part in distinct_parts(answer) if spec.attribute is None else answer.parts:
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


def nothing_known(*, complete: bool) -> Losses:
    """Return the losses for a run without ledgers (no device, or reports kept from before)."""
    value = np.full(1, 0.0 if complete else math.inf)
    return Losses(dict.fromkeys(ledger_levels(), value), dict.fromkeys(ledger_levels(), np.zeros(1)), complete)


def lifetime(state: State) -> dict[str, Any]:
    """Return ``{LEVEL: {max, mean}, complete}`` over the devices of a state folder.

    The levels are those of :func:`ledger_levels`; ``user`` counts all that the device ever
    released. A device that released nothing counts with 0. ``max`` and ``mean`` are None if a
    device's loss is unbounded. A level whose losses have a delta has ``delta`` as well, the largest
    sum of a device; the sums of losses are then an upper bound (basic composition).
    ``complete`` is False if a ledger could not be read whole, so that more may have been released
    than is known.
    """
    return read_ledgers(state, None)[0].figures()


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
        """Return ``{LEVEL: {max, mean}, complete}``."""
        known = {name: extremes(self.levels[name], self.deltas[name]) for name in self.levels}
        return {**known, "complete": self.complete}


def read_ledgers(state: State, collection: str | None) -> tuple[Losses, TrainingAnswers]:
    """Return the losses of all devices and the answers of one training, in one pass over the ledgers."""
    n = len(state)
    counts, largest = np.zeros(n, np.int64), Loss(0.0, 0.0)
    specs = ledger_levels()
    levels, deltas = {name: np.zeros(n) for name in specs}, {name: np.zeros(n) for name in specs}
    alike: dict[bytes, tuple[Answer, list[int]]] = {}  # devices whose only answers lose the same
    complete = True
    for shard in state.shards:
        rows: dict[int, list[Answer]] = {}
        try:
            for device, answers in state.ledger(shard * state.shard).devices():
                if 0 <= device < n:
                    rows[device] = answers
                else:
                    complete = False
        except LedgerDamaged:
            complete = False
        keys = dict(zip(rows, state.seal_keys(list(rows)), strict=True)) if rows else {}
        alone = [row[0] for row in rows.values() if len(row) == 1]
        for device, terms in _terms_of(alone, keys):
            alike.setdefault(terms, (rows[device][0], []))[1].append(device)
            del rows[device]
        for device, answers in rows.items():
            try:
                for answer in checked(answers, keys[device]):
                    if isinstance(answer, TrainingAnswer) and answer.collection == collection:
                        counts[device] += 1
                        bit, vector = max(largest.bit, answer.loss_bit), max(largest.vector, answer.loss_vector)
                        largest = Loss(bit, vector, max(largest.delta, answer.delta))
                    for level, loss, delta in losses_of(answer, specs):
                        levels[level][device] += loss
                        deltas[level][device] += delta
            except LedgerDamaged:  # the rows before the break were released; the rest is unknown
                complete = False
        if n > MOST_OPEN * state.shard:  # each open ledger has three files
            state.close(shard)
        if len(alike) > _MOST_KINDS:  # each kind keeps an answer with its report
            complete &= _add_up(alike, levels, deltas)
    complete &= _add_up(alike, levels, deltas)
    return Losses(levels, deltas, complete), TrainingAnswers(counts, largest, complete)


def _add_up(
    alike: dict[bytes, tuple[Answer, list[int]]], levels: Mapping[str, FloatArray], deltas: Mapping[str, FloatArray]
) -> bool:
    """Add the losses of answers that are alike to those of their devices, and forget them; False if one is damaged."""
    specs, sound = ledger_levels(), True
    for answer, devices in alike.values():
        try:
            for level, loss, delta in losses_of(answer, specs):
                np.add.at(levels[level], devices, loss)  # a device may stand in a copy of its ledger too
                np.add.at(deltas[level], devices, delta)
        except LedgerDamaged:
            sound = False
    alike.clear()
    return sound


def _terms_of(answers: Sequence[Answer], keys: Mapping[int, bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the devices of these only answers that are sound, with bytes that are equal where the losses are."""
    own = [answer for answer in answers if isinstance(answer, QueryAnswer)]
    if not own:
        return
    for answer, sound in zip(own, sound_alone(own, [keys[answer.device] for answer in own]), strict=True):
        if sound:
            with suppress(LedgerDamaged):  # the caller finds the fault
                yield answer.device, answer.terms


def extremes(losses: FloatArray, deltas: FloatArray) -> dict[str, float | None]:
    """Return ``{max, mean}`` of the devices' losses, and the largest ``delta`` where there is one."""
    if not np.all(np.isfinite(losses)):
        return {"max": None, "mean": None}
    found: dict[str, float | None] = {
        "max": round_up(float(losses.max())), "mean": round_up(math.fsum(losses) / len(losses)),
    }  # fmt: skip
    return found | {"delta": float(deltas.max())} if deltas.any() else found

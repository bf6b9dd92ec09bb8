"""Audit of an owner's noisy sums over neighbours, without the accountant.

Every graph of four people is made, and every edge of it is taken away: that is the canary. The sums of the method's own
code say how far an edge, or a person's record, moves a hop at most, and the Gaussian curve says what that loses. The
trials draw noisy sums by the code that releases them, with and without the canary, and read the projection on the move.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.attacks.bounds import lower_bound
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort, within
from ldpsim.curator.owner.aggregation.sums import HandedLists, noisy_sums
from ldpsim.curator.owner.privacy.graph_account import EDGE, GraphRelease
from ldpsim.devices.array_types import DoubleArray
from ldpsim.devices.mechanisms import gaussian

PEOPLE = 4
EPSILON = 2.0
DELTA = 1e-3
_TRAINING, _EPOCHS = 40, 1  # everybody is in every step: all of it is one Gaussian mechanism
_PAIRS = list(itertools.combinations(range(PEOPLE), 2))


def audit_graph_owner(method: Any, effort: Effort) -> list[AuditRow]:
    """Audit hops and private steps at a small setting, of both levels; a person's own prediction claims nothing."""
    small = replace(method, hops=2, delta=DELTA, noise_multiplier=0.0, keep="last")
    rows = []
    for level in ({"level": "edge"}, {"level": "node", "degree": 2}):
        released = replace(small, **level).release(
            people=_TRAINING, training=_TRAINING, epochs=_EPOCHS, epsilon=EPSILON
        )
        rows.append(_row(method.spec.name, "relationship", released, edge_moves(released), effort, steps=0))
        if released.level != EDGE:
            rows.append(_row(method.spec.name, "central_node", released, record_moves(released), effort,
                             steps=released.asked.steps))  # fmt: skip
    said = "reads the own row without noise: nothing is claimed"
    return [*rows, effort.nothing_claimed(method.spec.name, "own prediction", said)]


@cache
def arcs_of(released: GraphRelease, lists: tuple[tuple[int, int], ...]) -> DoubleArray:
    """float64 (people, people): who sends to whom, of (holder, name) entries, by the code of the release."""
    senders, names = np.array(lists, np.int64).reshape(-1, 2).T
    data = HandedLists(csr_array((PEOPLE, 1), dtype=np.float32), np.zeros(PEOPLE, np.int64), senders, names)
    return np.asarray(data.arcs(0, None if released.level == EDGE else released.degree).toarray(), np.float64)


def edge_moves(released: GraphRelease) -> Iterator[DoubleArray]:
    """Yield the change of the sums' matrix for every graph and every edge of it."""
    for graph in itertools.chain.from_iterable(itertools.combinations(_PAIRS, k) for k in range(1, len(_PAIRS) + 1)):
        entries = {pair: (pair, pair[::-1]) for pair in graph}
        whole = arcs_of(released, tuple(entry for both in entries.values() for entry in both))
        for canary in graph:
            yield whole - arcs_of(released, tuple(e for pair, both in entries.items() if pair != canary for e in both))


def record_moves(released: GraphRelease) -> Iterator[DoubleArray]:
    """Yield the change of the sums of others for every graph and every person whose record is not there."""
    for graph in itertools.chain.from_iterable(itertools.combinations(_PAIRS, k) for k in range(1, len(_PAIRS) + 1)):
        lists = tuple(entry for pair in graph for entry in (pair, pair[::-1]))
        whole = arcs_of(released, lists)
        for person in range(PEOPLE):
            moved = whole - arcs_of(released, tuple(entry for entry in lists if entry[0] != person))
            moved[person] = 0.0  # the own row is nobody else's to read
            yield moved


def largest_move(moves: Iterator[DoubleArray]) -> tuple[float, DoubleArray, DoubleArray]:
    """Return the largest change in the L2 norm over rows of norm 1, the change, and the rows, float64 (people,)."""
    signs = [np.array(each, np.float64) for each in itertools.product((1.0, -1.0), repeat=PEOPLE)]
    best: tuple[float, DoubleArray, DoubleArray] = (0.0, np.zeros((PEOPLE, PEOPLE)), np.ones(PEOPLE))
    for move in moves:
        for rows in signs:
            norm = float(np.linalg.norm(move @ rows))
            if norm > best[0]:
                best = norm, move, rows
    return best


def _row(
    name: str, level: str, released: GraphRelease, moves: Iterator[DoubleArray], effort: Effort, *, steps: int
) -> AuditRow:
    claimed = released.relationship if level == "relationship" else released.joins
    assert claimed is not None
    norm, move, rows = largest_move(moves)
    hop = norm / released.deviation
    shift = math.sqrt(released.asked.hops * hop**2 + steps / released.multiplier**2)
    exact = gaussian.epsilon_of(released.asked.delta, shift=shift, sigma=1.0)
    sides = [_trials(side, rows, move, released, effort, number) for number, side in enumerate((move, 0 * move))]
    bound = lower_bound(*sides, error=effort.error, delta=released.asked.delta)
    words = f"{released.level} level, every graph of {PEOPLE}, delta {released.asked.delta:g}"
    return AuditRow(name, level, claimed, exact, bound, effort.confidence, effort.trials,
                    within(claimed, exact, bound), words)  # fmt: skip


def _trials(
    side: DoubleArray, rows: DoubleArray, move: DoubleArray, released: GraphRelease, effort: Effort, number: int
) -> list[int]:
    """Return the projection of noisy sums on the move, in steps of half a deviation."""
    direction = move @ rows / max(1e-12, float(np.linalg.norm(move @ rows)))
    draws = np.random.default_rng([effort.seed, number, *released.level.encode()])
    many = np.repeat(rows[:, None], effort.trials, axis=1).astype(np.float32)
    found = direction @ noisy_sums(csr_array(side.astype(np.float32)), many, released.deviation, draws)
    return [int(each) for each in np.floor(2 * found / released.deviation)]

"""Directed LDPGen graph of the published code; p_ij depends on the groups of i and j only.

With h_ib the estimated degree of i towards the group b, H_b the sum of h_ib over all people and
H_ab the sum over the members of a, i in group a has a link to each j in group b with probability

    p_ij = min(1, h_ib (H_b / |b|) / (H_b + H_ab)).

Apart from its group, j does not enter. With one group, p_ij = h_i / 2n: the number of links of i
is kept, and their targets are random. Chung and Lu's model (:mod:`ldpsim.curator.links.block_model`)
uses the degrees of both ends.

The degrees are the reported ones, rounded to 0..n - 1, carried over to the new groups:

    h_ib = sum over the old groups a of d_ia |a and b| / |a|.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray


def directed_probabilities(degrees: NDArray, old: IntArray, new: IntArray) -> NDArray[np.float64]:
    """float64 (n, k): p_ij of each person i with any other member of each new group.

    Args:
        degrees: (n, k), reported towards the old groups.
        old: int64 (n,), below k.
        new: int64 (n,), below k.
    """
    n, count = degrees.shape
    shared = np.zeros((count, count))
    np.add.at(shared, (old, new), 1)
    moved = shared / np.maximum(1, shared.sum(axis=1, keepdims=True))
    towards = np.clip(np.round(degrees), 0, n - 1) @ moved
    within = np.zeros((count, count))
    np.add.at(within, new, towards)
    total, size = towards.sum(axis=0), np.maximum(1, shared.sum(axis=0))
    share = np.divide(total / size, total + within, out=np.zeros_like(within), where=total > 0)
    return np.minimum(1, towards * share[new])


def draw_links(probabilities: NDArray[np.float64], groups: IntArray, rng: np.random.Generator) -> IntArray:
    """int64 (2, E), sources over targets: one independent coin for each ordered pair, no self-loops.

    Args:
        probabilities: float64 (n, k), towards each group.
        groups: int64 (n,), below k.
        rng: Draws the number of links of each person to each group, then their targets.
    """
    sources, targets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for group in range(probabilities.shape[1]):
        members = np.flatnonzero(groups == group)
        for i, number in enumerate(rng.binomial(len(members), probabilities[:, group])):
            if number:
                chosen = members[rng.choice(len(members), number, replace=False)]
                chosen = chosen[chosen != i]
                sources.append(np.full(len(chosen), i))
                targets.append(chosen)
    return np.stack([np.concatenate(sources), np.concatenate(targets)])

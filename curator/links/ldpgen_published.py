"""LDPGen's graph as Blink's published comparison draws it: a link is one end's business.

With h_ib the degree that i seems to have towards the group b, H_b the sum of h_ib over
everybody and H_ab that over the members of a, every j in b gets a link from i, who is in a,
with probability

    p_ij = min(1, h_ib (H_b / |b|) / (H_b + H_ab)),

in which there is nothing of j but the group. Where all are in one group that is h_i / 2n: how
many links leave i is kept, and where they lead is chance. Chung and Lu's model
(:mod:`curator.links.chung_lu`) has both ends' degrees in it.

Degrees are what was reported, rounded to 0..n - 1, towards groups that are made of them in turn:

    h_ib = sum over the old groups a of d_ia |a and b| / |a|.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from devices.array_types import IntArray


def directed_probabilities(degrees: NDArray, old: IntArray, new: IntArray) -> NDArray[np.float64]:
    """float64 (n, k): p_ij of everybody with any other member of each new group.

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
    """int64 (2, E): from whom to whom, each pair by a coin of its own; nobody has a link with themselves.

    Args:
        probabilities: float64 (n, k), towards each group.
        groups: int64 (n,), below k.
        rng: The coins: a number of links for everybody and group, then where they lead; not one a pair.
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

"""DPRR: reported ones, thinned to the reported degrees.

Degree-preserving randomised response (Hidano and Murakami 2022, https://arxiv.org/abs/2202.10209), in the form of
Blink's comparison. Device i reports its degree with Laplace noise for eps_1 = share eps, d~_i, and its row of n - 1
bits by randomised response for eps_2 = (1 - share) eps, which keeps a bit with probability p = e^eps_2 / (1 + e^eps_2).
Each reported 1 survives with probability

    q_i = d~_i / (d~_i (2 p - 1) + (n - 1) (1 - p)),    clipped to [0, 1],

so that about d~_i remain: i reports d_i p + (n - 1 - d_i) (1 - p) ones on average. In the paper the device thins its
row itself. Thinning reads only the two reports, so the curator does it here, at the same loss and with the same
distribution of the graph. The random seed is a hash of the reports: the same reports give the same graph.

Each surviving 1 is an edge. ``direction="outgoing"`` (the default) carries features from the
reporting device to the reported one, which gives the accuracies published in Blink's
comparison. ``incoming`` carries them the other way, as the other baselines do. ``both``
makes the edge undirected, which is more accurate than either (docs/results/blink.md).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.methods.base import (
    Budget,
)
from ldpsim.curator.methods.local.graphs import both_ways
from ldpsim.curator.methods.local.label_questions import StageMechanisms
from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks
from ldpsim.curator.methods.parameters import SHARE, one_of, parameter
from ldpsim.curator.methods.spec import TRAINING_GRID
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import noisy_rows_of_bits
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Degree, RandomizedResponse

DIRECTIONS = ("outgoing", "incoming", "both")


@dataclass(frozen=True)
class DPRR(LinkMethod):
    """Reported ones, thinned to the reported degrees.

    Args:
        degree_share: Share of epsilon for the degree, in (0, 1).
        direction: ``outgoing``, ``incoming`` or ``both``.

    Raises:
        ValueError: for a parameter outside its range.
    """

    degree_share: float = parameter(0.1, SHARE)
    direction: str = parameter("outgoing", one_of(*DIRECTIONS))

    spec = replace(
        LinkMethod.spec, name="dprr",
        # it keeps as many as people have neighbours
        memory="edges",
        paper="Hidano and Murakami, Degree-Preserving Randomized Response for GNNs under LDP",
        mechanisms=("randomized_response", "degree", "grr"), search_grid=({"direction": DIRECTIONS}, TRAINING_GRID),
        options=LinkMethod.spec.options | {"reporting"},
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Randomised response for eps_2 and a noisy degree, both about the same part of the list."""
        share, reporting = self.degree_share, budget.reporting
        row = RandomizedResponse.from_epsilon((1 - share) * epsilon, n=facts.n, reporting=reporting)
        return ((row, Degree.from_epsilon(share * epsilon, n=facts.n, reporting=reporting)),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Keep each reported 1 with probability q_i."""
        bits, degrees = noisy_rows_of_bits(reports), reports.needed("degrees")
        ones, keep = bits.ones, survival(degrees, bits.lengths, bits.flip)
        seed = hashlib.sha256(ones.indptr.tobytes() + ones.indices.tobytes() + degrees.tobytes()).digest()
        coins = np.random.default_rng(int.from_bytes(seed, "little")).random(ones.nnz)
        rows = np.repeat(np.arange(reports.facts.n), np.diff(ones.indptr))
        survivors = coins < keep[rows]
        reporter, neighbour = rows[survivors].astype(np.int64), ones.indices[survivors].astype(np.int64)
        if self.direction == "both":
            pairs = np.unique(np.minimum(reporter, neighbour) * reports.facts.n + np.maximum(reporter, neighbour))
            edges = both_ways(pairs // reports.facts.n, pairs % reports.facts.n)
        else:
            edges = np.stack([reporter, neighbour] if self.direction == "outgoing" else [neighbour, reporter])
        return edges, None, {"ones": ones.nnz, "survived": int(survivors.sum())}

    def edge_loss(self, budget: Budget) -> str:
        """As :meth:`LinkMethod.edge_loss`; one edge changes a bit and the degree at each reporting end."""
        ends = "the end that reports it" if budget.reporting == "one-end" else "both ends"
        return f"an edge changes a bit and the degree at {ends}, and their losses add up"


def survival(degrees: NDArray[np.int64], targets: NDArray[np.int64], flip: float) -> NDArray[np.float64]:
    """float64 (n,): q_i, for rows of ``targets`` bits flipped with probability ``flip``.

    >>> survival(np.array([2]), np.array([10]), flip=0.25).round(3)
    array([0.571])
    """
    wanted = np.clip(degrees, 0, targets).astype(np.float64)
    ones = wanted * (1 - 2 * flip) + targets * flip
    return np.divide(wanted, ones, out=np.zeros_like(wanted), where=ones > 0)

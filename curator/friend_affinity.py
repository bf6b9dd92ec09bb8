"""Affinity of friends: of which classes they are, from pairs that are public or reported.

With N(c, k) the expected number of edges between labelled people of class c and of class k, the noise of the reports
taken out, s the share of edges within a class and m the classes' shares of the ends of edges, the homophily is

    h = (s - sum of m_c^2) / (1 - sum of m_c^2).

It is shrunk towards the assumed homophily: with the standard error e of h, and the spread t of the homophilies of
graphs, its weight is t^2 / (t^2 + e^2). The affinity H(c, k), the probability that a friend of a person of class c is
of class k, is N with rows divided by their sums. It is shrunk towards the affinity A of h alone, by the factor of James
and Stein:

    H <- w H + (1 - w) A,    w = max(0, 1 - variance of H / |H - A|^2).

Where the sum of N is not measurably above zero, s is a quotient of noise, however large its e: the assumed affinity is
taken (Fieller 1954, https://doi.org/10.1111/j.2517-6161.1954.tb00159.x: such a quotient has no bounded interval).

Nobody's true list is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ldpsim.curator.knowledge.knowledge import Knowledge, reported_links
from ldpsim.curator.links.class_affinity import labelled_edges
from ldpsim.curator.nulls.inputs import is_sampled
from ldpsim.curator.reports.rows import flipped_rows
from ldpsim.curator.votes.volunteer_knowledge import ASSUMED
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.mechanisms.score_rows import affinity

SPREAD = 0.5  # t
# Standard errors of the number of edges. Where both ends report they are up to a third too small, as trials showed.
_MEASURABLE = 3.0
_EDGES = 1.0  # edges of each class before any is counted


@dataclass(frozen=True, eq=False)
class FriendAffinity:
    """Affinity of friends, and where it comes from.

    Args:
        matrix: float64 (classes, classes): H.
        homophily: h, the excess of friends of one's own class over chance, -1 .. 1.
        source: ``public graph``, ``reported lists``, ``calibration``, ``votes of labelled people``, or
            ``assumed``.
    """

    matrix: DoubleArray = field(repr=False)
    homophily: float
    source: str

    @staticmethod
    def of_homophily(homophily: float, shares: DoubleArray, source: str) -> FriendAffinity:
        """Return the affinity of a homophily alone; ``shares``: float64 (classes,)."""
        return FriendAffinity(affinity(homophily, shares), homophily, source)


def affinity_of_pairs(knowledge: Knowledge, people: IntArray, shares: DoubleArray) -> FriendAffinity:
    """Return the affinity by public or reported pairs; the assumed one where there are none.

    Args:
        knowledge: Reports and public data.
        people: int64, sorted: the labelled people, or a sample of them, whose pairs count.
        shares: float64 (classes,): shares of the classes among people.
    """
    reports, public = knowledge.reports, knowledge.public
    assumed = FriendAffinity.of_homophily(ASSUMED, shares, "assumed")
    if public.edges is None and (reports is None or flipped_rows(reports) is None):
        return assumed
    labels = knowledge.class_estimates(people)
    if public.edges is None and reports is not None and is_sampled(public.split):
        sample = reports.of_people(people, "adjacency")
        within_sample = sample.with_arrays(adjacency=sample.needed("adjacency")[:, people])
        links, labels = reported_links(within_sample), labels[people]
    else:
        links = knowledge.links
    edges, _ = labelled_edges(links, labels)
    # Each pair in s varies by the product of its labels' weights: a count of pairs, where labels are in clear.
    directed = links.ends_by(np.square(labels)) / links.resolution**2
    variance, total = directed + directed.T, edges.sum()
    if total <= _MEASURABLE * np.sqrt(variance.sum()):
        return assumed
    end_shares = np.maximum(edges.sum(axis=1), 0) + 1e-9  # m
    end_shares /= end_shares.sum()
    by_chance, share = float(np.square(end_shares).sum()), float(np.trace(edges) / total)
    spread = np.trace(variance) * (1 - share) ** 2 + (variance.sum() - np.trace(variance)) * share**2
    estimate, error = ((share - by_chance) / (1 - by_chance), float(np.sqrt(spread)) / total / (1 - by_chance))
    weight = SPREAD**2 / (SPREAD**2 + error**2)
    homophily = float(np.clip(weight * estimate + (1 - weight) * ASSUMED, -1.0, 1.0))
    by_homophily = affinity(homophily, end_shares)
    counts = np.maximum(edges, 0) + _EDGES * by_homophily
    row_sums = counts.sum(axis=1, keepdims=True)
    matrix = counts / row_sums
    noise, distance = (np.maximum(variance, 0) / row_sums**2).sum(), np.square(matrix - by_homophily).sum()
    matrix_weight = max(0.0, 1 - float(noise / distance)) if distance > 0 else 0.0
    source = "reported lists" if public.edges is None else "public graph"
    return FriendAffinity(matrix_weight * matrix + (1 - matrix_weight) * by_homophily, homophily, source)

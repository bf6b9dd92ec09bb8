"""Affinity of friends: of which classes they are, from pairs that are public or reported.

With N(c, k) the expected number of edges between labelled people of class c and of class k, the noise of the reports
taken out, s the share of edges within a class and m the classes' shares of the ends of edges, the homophily is

    h = (s - sum of m_c^2) / (1 - sum of m_c^2).

With its standard error e, and the mean a (the assumed homophily) and the spread t of the homophilies of graphs, the
posterior of h is normal with the mean m and the variance v,

    m = (t^2 h + e^2 a) / (t^2 + e^2),    v = t^2 e^2 / (t^2 + e^2).

Unless h is measurably negative, h + 2 e < 0, friends are taken to be alike: h becomes the mean of that normal
distribution restricted to h >= 0. A wrong sign would turn each device's prediction around.

The affinity H(c, k), the probability that a friend of a person of class c is of class k, is N with rows divided by
their sums. It is shrunk towards the affinity A of h alone, by the factor of James and Stein:

    H <- w H + (1 - w) A,    w = max(0, 1 - variance of H / |H - A|^2).

Where the sum of N is not measurably above zero, s is a quotient of noise, however large its e: the assumed affinity is
taken (Fieller 1954, https://doi.org/10.1111/j.2517-6161.1954.tb00159.x: such a quotient has no bounded interval).

Nobody's true list is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_ndtr

from ldpsim.curator.knowledge.knowledge import Knowledge, reported_links
from ldpsim.curator.links.class_affinity import labelled_edges
from ldpsim.curator.nulls.inputs import is_sampled
from ldpsim.curator.reports.rows import flipped_rows
from ldpsim.curator.votes.volunteer_knowledge import ASSUMED
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.mechanisms.score_rows import affinity

SPREAD = 0.5  # t
_MEASURABLE = 2.0  # standard errors
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
    # Each pair varies by the product of its labels' weights: a count of pairs, where labels are in clear. N counts a
    # pair within a class twice, and one between two classes in two entries.
    directed = links.ends_by(np.square(labels)) / links.resolution**2
    variance, total = directed + directed.T + 2 * np.diag(np.diag(directed)), edges.sum()
    within = np.trace(variance)
    between = 2 * (variance.sum() - within)
    if total <= _MEASURABLE * np.sqrt(within + between):
        return assumed
    end_shares = np.maximum(edges.sum(axis=1), 0) + 1e-9  # m
    end_shares /= end_shares.sum()
    by_chance, share = float(np.square(end_shares).sum()), float(np.trace(edges) / total)
    error = float(np.sqrt(within * (1 - share) ** 2 + between * share**2)) / total / (1 - by_chance)
    homophily = _posterior_mean((share - by_chance) / (1 - by_chance), error)
    by_homophily = affinity(homophily, end_shares)
    counts = np.maximum(edges, 0) + _EDGES * by_homophily
    row_sums = counts.sum(axis=1, keepdims=True)
    matrix = counts / row_sums
    noise, distance = (np.maximum(variance, 0) / row_sums**2).sum(), np.square(matrix - by_homophily).sum()
    matrix_weight = max(0.0, 1 - float(noise / distance)) if distance > 0 else 0.0
    source = "reported lists" if public.edges is None else "public graph"
    return FriendAffinity(matrix_weight * matrix + (1 - matrix_weight) * by_homophily, homophily, source)


def _posterior_mean(estimate: float, error: float) -> float:
    """Return the homophily after an estimate with its standard error, -1 .. 1."""
    weight = SPREAD**2 / (SPREAD**2 + error**2)
    mean, deviation = weight * estimate + (1 - weight) * ASSUMED, error * math.sqrt(weight)
    if deviation and estimate + _MEASURABLE * error >= 0:
        ratio = mean / deviation
        mean += deviation * math.exp(-(ratio**2) / 2 - float(log_ndtr(ratio))) / math.sqrt(2 * math.pi)
    return float(np.clip(mean, -1.0, 1.0))

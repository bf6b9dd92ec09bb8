"""Shared parts of the local methods, and :class:`LinkMethod`, the base of those that protect links alone.

A link method has the setting of Blink (Zhu et al. 2023) and its baselines: features are
public, labels are public or reported under noise, and all of epsilon goes to the adjacency. A concrete
method defines the mechanisms about the adjacency and the links that it makes of the reports.

Its plainest methods are here: randomised response, its symmetric and thinned forms, and label propagation.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.linear.propagation import adjacency_matrix, label_propagation
from ldpsim.curator.linear.scaling import PUBLIC_SCALINGS, scale_public
from ldpsim.curator.methods.base import (
    ONE_END,
    Budget,
    Graph,
    LocalMethod,
    MethodSpec,
    Question,
    of_an_edge,
    spending,
)
from ldpsim.curator.methods.parameters import SHARE, one_of, parameter, unused
from ldpsim.curator.methods.spec import TRAINING_GRID
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.pairs import agreed_pairs
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import noisy_rows_of_bits
from ldpsim.curator.shown import shown_loss
from ldpsim.devices import mechanisms
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import Degree, Mechanism, NoisyRow, RandomizedResponse
from ldpsim.devices.query import Ask, Query

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings

StageMechanisms = tuple[tuple[Mechanism, ...], ...]
ReconstructedLinks = tuple[IntArray, Any, dict[str, Any]]  # edges int64 (2, E), weights float32 (E,) or None, notes
PUBLIC_GRAPH = "the graph is public in this setting: nothing protects an edge, at any level"


@dataclass(frozen=True)
class LinkMethod(LocalMethod):
    """A method that protects links alone.

    Args:
        public_scaling: Scaling of the public features.

    Raises:
        ValueError: for an unknown scaling.
    """

    public_scaling: str = parameter("row-normalised", one_of(*PUBLIC_SCALINGS))

    spec = MethodSpec(
        private=("adjacency",), public_features=True, mechanisms=("randomized_response", "grr"),
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon"}, finer=("eps_adjacency",),
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Return the mechanisms about the adjacency by stage: randomised response on the row, unless overridden.

        Raises:
            ValueError: if ``epsilon`` does not fit.
        """
        return ((RandomizedResponse.from_epsilon(epsilon, n=facts.n, reporting=budget.reporting),),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return edges, weights and notes."""
        raise NotImplementedError

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Ask everybody about the adjacency; ask the labelled nodes for private labels."""
        if self.spec.public_features and not budget.public_features:
            raise ValueError(f"{self.spec.name} protects links alone: it needs public features")
        epsilon = budget.eps_adjacency or budget.epsilon
        with spending("--eps-adjacency", budget.eps_adjacency, budget, epsilon):
            first, *later = self.stages(facts, budget, epsilon)
        asks = (Ask("adjacency", first),)
        return with_labels(asks, facts, split, budget, collection, self.spec.name, later=tuple(later))

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the public features on the links made of the reports."""
        if public.features is None:
            raise ValueError(f"{self.spec.name} needs public features, and there are none")
        edges, weights, notes = self.links(reports)
        features = scale_public(public.features, self.public_scaling)
        return labelled_graph(features, edges, weights, notes, reports, public)

    def claim(self, budget: Budget) -> Claim:
        """Return the claim: epsilon for one bit of a list."""
        epsilon = budget.eps_adjacency or budget.epsilon
        return Claim(f"epsilon-link LDP, epsilon = {shown_loss(epsilon)}", epsilon, (self.edge_loss(budget),))

    def edge_loss(self, budget: Budget) -> str:
        """Return why the loss of an edge differs from that of one bit."""
        return of_an_edge(budget)


def with_labels(
    asks: tuple[Ask, ...], facts: PublicFacts, split: Split, budget: Budget, collection: str, method: str,
    *, later: StageMechanisms = (),
) -> tuple[Question, ...]:  # fmt: skip
    """Return the questions to everybody; with private labels the labelled nodes are asked for them too.

    Args:
        asks: The first stage's asks to everybody.
        facts, split, budget, collection: As in :meth:`LocalMethod.questions`.
        method: Name, for the message.
        later: Mechanisms about the adjacency of each later stage.

    Raises:
        ValueError: for private labels without a budget of their own.
    """
    if not budget.private_labels:
        return ask_labels(asks, None, facts, split, collection, later=later)
    if budget.eps_labels is None:
        raise ValueError(f"--eps-labels is needed: labels are private, and {method}'s epsilon has no share for them")
    return ask_labels(asks, label_mechanism(budget, budget.eps_labels, facts), facts, split, collection, later=later)


def label_mechanism(budget: Budget, epsilon: float, facts: PublicFacts) -> Mechanism:
    """Return the mechanism of a label report that ``--label-mechanism`` names, GRR by default.

    Args:
        budget: The budget of the run.
        epsilon: Its part for the label.
        facts: Number of classes.

    Raises:
        ValueError: for a name of no such mechanism, or a budget that it refuses.
    """
    kind: Any = mechanisms.find(budget.label_mechanism)
    if kind is None or not _is_about_a_label(kind):
        names = ", ".join(name for name, other in mechanisms.every().items() if _is_about_a_label(other))
        raise ValueError(f"--label-mechanism {budget.label_mechanism}: must be one of {names}")
    with spending("--eps-labels", budget.eps_labels, budget, epsilon):
        made: Mechanism = kind.from_epsilon(epsilon, categories=facts.classes)
    return made


def _is_about_a_label(kind: type[Mechanism]) -> bool:
    """Return whether a mechanism is about the label alone and made from a budget."""
    return kind.reads == ("label",) and hasattr(kind, "from_epsilon")


def ask_labels(
    asks: tuple[Ask, ...], label: Mechanism | None, facts: PublicFacts, split: Split, collection: str,
    *, later: StageMechanisms = (),
) -> tuple[Question, ...]:  # fmt: skip
    """Return the question to the labelled nodes, with ``label``, and the one to all others, without."""
    after = tuple((Ask("adjacency", mechanisms),) for mechanisms in later)
    plain = Query(collection, (asks, *after))
    if label is None:
        return (Question(plain),)
    labelled = Question(Query(collection, ((*asks, Ask("label", (label,))), *after)), split.labelled)
    others = np.setdiff1d(np.arange(facts.n), split.labelled)
    return (labelled, Question(plain, others)) if len(others) else (labelled,)


def labelled_graph(
    features: Any, edges: IntArray, weights: Any, notes: dict[str, Any], reports: Reports, public: PublicKnowledge
) -> Graph:
    """Return a graph with the labels that the curator has, reported or public."""
    evidence = Evidence(reports, public)
    return Graph(features, edges, weights, evidence.labels.labels, evidence.train, evidence.val, notes)


def reported_edges(ones: csr_array) -> IntArray:
    """int64 (2, E): an edge to each reporter from every node that it reported."""
    entries = ones.tocoo()
    return np.stack([entries.col, entries.row]).astype(np.int64)


def both_ways(left: IntArray, right: IntArray) -> IntArray:
    """int64 (2, 2m): each pair in both directions."""
    return np.stack([np.concatenate([left, right]), np.concatenate([right, left])]).astype(np.int64)


@dataclass(frozen=True)
class RR(LinkMethod):
    """The graph of all reported ones.

    Plain randomised response (Warner 1965, https://doi.org/10.1080/01621459.1965.10480775).

    The network runs on the reports. Each reported 1 is a directed edge: i takes features from the nodes that it
    reported.
    """

    spec = replace(
        LinkMethod.spec, name="rr", memory="edges",
        paper="Warner, Randomized Response; a baseline of Blink", training_defaults={"epochs": 200},
        options=LinkMethod.spec.options | {"reporting"},
    )  # fmt: skip

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return every reported 1, from the reported node to the reporter."""
        ones = reports.needed("adjacency")
        return reported_edges(ones), None, {"ones": ones.nnz}


@dataclass(frozen=True)
class SymRR(LinkMethod):
    """The pairs whose larger id reported a 1.

    Symmetric randomised response (Imola et al. 2021, https://arxiv.org/abs/2010.08688), as in Blink's comparison.

    The report of one end of each pair counts for both directions. Only that end is asked (one-end
    reporting), so an edge loses eps and not 2 eps. The published code of the comparison draws both
    ends' bits and keeps the lower triangle and, by mistake, the diagonal above it. The lower
    triangle is meant, and is asked here.
    """

    spec = replace(
        LinkMethod.spec, name="symrr", memory="edges",
        paper="Imola et al., Locally Differentially Private Analysis of Graph Statistics; as in Blink",
        training_defaults={"epochs": 200},
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Randomised response about j < i, for every kind of reporting."""
        return ((RandomizedResponse.from_epsilon(epsilon, n=facts.n, reporting="one-end"),),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return every reported 1 in both directions."""
        neighbour, reporter = reported_edges(reports.needed("adjacency"))
        return both_ways(neighbour, reporter), None, {"edges": len(neighbour)}

    def edge_loss(self, budget: Budget) -> str:
        """As :meth:`LinkMethod.edge_loss`; reporting is always one-end here."""
        return ONE_END


DIRECTIONS = ("outgoing", "incoming", "both")


@dataclass(frozen=True)
class DPRR(LinkMethod):
    """Reported ones, thinned to the reported degrees.

    Degree-preserving randomised response (Hidano and Murakami 2022, https://arxiv.org/abs/2202.10209).

    The form is that of Blink's comparison. Device i reports its degree with Laplace noise for
    eps_1 = share eps, d~_i, and its row by randomised response for eps_2 = (1 - share) eps, which
    keeps a bit with probability p.
    Each reported 1 survives with probability

        q_i = d~_i / (d~_i (2 p - 1) + (n - 1) (1 - p)),    clipped to [0, 1],

    so that about d~_i remain. In the paper the device thins its row itself. Thinning reads only
    the two reports, so the curator does it here, at the same loss and with the same distribution
    of the graph. The random seed is a hash of the reports: the same reports give the same graph.

    Each surviving 1 is an edge. ``direction="outgoing"`` (the default) carries features from the
    reporting device to the reported one, which gives the accuracies published in Blink's
    comparison. ``incoming`` carries them the other way, as the other baselines do. ``both``
    makes the edge undirected, which is more accurate than either (docs/results/blink.md).

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


_LEAST = -(1 << 31) + 1  # of a pair that nobody reported


@dataclass(frozen=True)
class LDPGCN(LinkMethod):
    """The largest entries of a noisy adjacency matrix.

    L-DPGCN: the Laplace graph of DPGCN (Wu et al. 2022, https://arxiv.org/abs/2108.06504) made local, as in Blink's
    comparison. Every device adds Laplace noise for eps_a = (1 - share) eps to each of the n - 1 bits of its row, and
    reports its degree for eps_d = share eps (share .01, as in DPGCN). The curator adds up the degrees, which gives a
    number of entries e, and makes the e / 2 pairs with the largest mean of both ends' numbers edges. This comes near
    the published accuracy; ranking the entries one by one does not (docs/results/blink.md). The reports are an n x n
    array at the curator.

    Args:
        count_share: Share of epsilon for the degrees, whose sum is the number of kept entries; in (0, 1).

    Raises:
        ValueError: for a parameter outside its range.
    """

    count_share: float = parameter(0.01, SHARE)

    spec = replace(
        LinkMethod.spec, name="ldpgcn", memory="pairs",
        paper="Wu et al., LinkTeller (DPGCN with Laplace noise); made local in Blink",
        mechanisms=("noisy_row", "degree", "grr"), training_defaults={"epochs": 200},
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Laplace noise on the row, and a noisy degree; ValueError for one-end reporting."""
        if budget.reporting == "one-end":
            raise ValueError("ldpgcn ranks whole rows, which --reporting one-end does not report")
        row = NoisyRow.from_epsilon((1 - self.count_share) * epsilon, n=facts.n)
        return ((row, Degree.from_epsilon(self.count_share * epsilon, n=facts.n)),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Keep the largest means, half as many as the sum of the degrees."""
        rows, degrees = reports.needed("noisy_rows"), reports.needed("degrees")
        reported = reports.reported("adjacency")
        noisy_sum = int(degrees[reported].sum())
        left, right = largest_pairs(rows, reported, round(max(0, noisy_sum) / 2))
        return both_ways(left, right), None, {"entries": 2 * len(left), "noisy_degree_sum": noisy_sum}

    def edge_loss(self, budget: Budget) -> str:
        """As :meth:`LinkMethod.edge_loss`; one edge changes an entry and the degree at both ends."""
        return "an edge changes an entry and the degree at both ends, and their losses add up"


def largest_pairs(
    rows: NDArray[np.int32], reported: NDArray[np.bool_], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ``count`` pairs with the largest mean of the reports about them (one report: that one)."""
    n = len(rows)
    starts = np.concatenate([[0], np.cumsum(np.arange(n - 1, -1, -1))])
    twice = np.empty(starts[-1], np.int32)
    for i in range(n):
        # silent rows are zero, so the sum of both ends' numbers is that of the reports; twice the mean is whole
        total = rows[i, i + 1 :].astype(np.int64) + rows[i + 1 :, i]
        ends = reported[i + 1 :].astype(np.int64) + reported[i]
        total *= np.where(ends == 1, 2, 1)
        total[ends == 0] = _LEAST
        twice[starts[i] : starts[i + 1]] = np.clip(total, _LEAST, -_LEAST)
    silent = n - int(reported.sum())
    best = _largest(twice, min(count, len(twice) - silent * (silent - 1) // 2))
    left = np.searchsorted(starts, best, side="right") - 1
    return left.astype(np.int64), (best - starts[left] + left + 1).astype(np.int64)


def _largest(values: NDArray[np.int32], count: int) -> IntArray:
    """Return the sorted positions of the ``count`` largest values, the first of equal ones."""
    if count <= 0:
        return np.zeros(0, np.int64)
    bound = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > bound)
    return np.sort(np.concatenate([above, np.flatnonzero(values == bound)[: count - len(above)]]))


@dataclass(frozen=True)
class LPAnd(LinkMethod):
    """Label propagation on the AND graph; features are not needed.

    Null model: label propagation on the pairs whose every reported bit is 1.

    Label propagation: Zhu and Ghahramani, Learning from Labeled and Unlabeled Data with Label
    Propagation, 2002 (technical report CMU-CALD-02-107).

    It has no features and no network. Any gain from features, or from a better estimate of the
    graph, must show above it. All of epsilon goes to the adjacency.
    """

    public_scaling: str = unused("row-normalised")

    spec = replace(
        LinkMethod.spec, public_features=False, name="lp-and", trains_network=False,
        # nothing to choose
        search_grid=({},), common_selection=False,
        paper="null model; Zhu and Ghahramani, Learning from Labeled and Unlabeled Data",
        options=LinkMethod.spec.options | {"reporting", "public_features"},
    )  # fmt: skip

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the AND graph with no feature columns."""
        edges = reported_edges(agreed_pairs(reports))
        nothing = csr_array((reports.facts.n, 0), dtype=np.float32)
        return labelled_graph(nothing, edges, None, {"edges": edges.shape[1] // 2}, reports, public)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Propagate the training labels; settings, seed and device have no effect.

        Raises:
            ValueError: if no training node has a label.
        """
        from torch import nn  # torch is only needed from here on

        from ldpsim.curator.learning.training import NO_LABEL, TrainedNetwork

        if not len(graph.train):
            raise ValueError(NO_LABEL)
        started = time.perf_counter()
        adjacency = adjacency_matrix(graph.features.shape[0], graph.edge_index)
        predictions = label_propagation(adjacency, graph.labels, graph.train, classes)
        hits = predictions[graph.val] == graph.labels[graph.val]
        share = float(hits.mean()) if len(hits) else math.nan
        return TrainedNetwork(nn.Module(), predictions, 1, share, time.perf_counter() - started)

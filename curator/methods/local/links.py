"""Shared parts of the local methods, and :class:`LinkMethod`, the base of those that protect links alone.

A link method has the setting of Blink (Zhu et al. 2023) and its baselines: features are
public, labels are public or reported under noise, and all of epsilon goes to the adjacency. A concrete
method defines the mechanisms about the adjacency and the links that it makes of the reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.linear.scaling import PUBLIC_SCALINGS, scale_public
from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, MethodSpec, Question, require_reports, spending
from ldpsim.curator.methods.parameters import check_choices
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.shown import shown_loss
from ldpsim.devices import mechanisms
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import Mechanism, RandomizedResponse
from ldpsim.devices.query import Ask, Query

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

    public_scaling: str = "row-normalised"

    spec = MethodSpec(
        private=("adjacency",), public_features=True, mechanisms=("randomized_response", "grr"),
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon"}, finer=("eps_adjacency",),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_choices(self, public_scaling=PUBLIC_SCALINGS)

    def adjacency(self, facts: PublicFacts, budget: Budget, epsilon: float) -> tuple[Mechanism, ...]:
        """Return the mechanisms about the adjacency: randomised response on the row, unless overridden.

        Raises:
            ValueError: if ``epsilon`` does not fit.
        """
        return (RandomizedResponse.from_epsilon(epsilon, n=facts.n, reporting=budget.reporting),)

    def later(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Return the mechanisms of later stages about the adjacency, one tuple a stage; none unless overridden."""
        return ()

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return edges, weights and notes."""
        raise NotImplementedError

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Ask everybody about the adjacency; ask the labelled nodes for private labels."""
        if self.spec.public_features and not budget.public_features:
            raise ValueError(f"{self.spec.name} protects links alone: it needs public features")
        epsilon = budget.eps_adjacency or budget.epsilon
        with spending("--eps-adjacency", budget.eps_adjacency, budget, epsilon):
            asked = self.adjacency(facts, budget, epsilon)
            later = self.later(facts, budget, epsilon)
        return with_labels((Ask("adjacency", asked),), facts, split, budget, collection, self.spec.name, later=later)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the public features on the links made of the reports."""
        require_reports(reports, self.spec.name)
        if public.features is None:
            raise ValueError(f"{self.spec.name} needs public features, and there are none")
        edges, weights, notes = self.links(reports)
        features = scale_public(public.features, self.public_scaling)
        return labelled_graph(features, edges, weights, notes, reports, public)

    def claim(self, budget: Budget) -> Claim:
        """Return the claim: epsilon for one bit of a list."""
        epsilon = budget.eps_adjacency or budget.epsilon
        return Claim(f"epsilon-link LDP, epsilon = {shown_loss(epsilon)}", epsilon)


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
        raise ValueError(f"--private-labels needs --eps-labels: {method}'s epsilon has no share for labels")
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
    if kind is None or kind not in _label_mechanisms():
        known = ", ".join(other.name for other in _label_mechanisms())
        raise ValueError(f"--label-mechanism {budget.label_mechanism}: must be one of {known}")
    with spending("--eps-labels", budget.eps_labels, budget, epsilon):
        made: Mechanism = kind.from_epsilon(epsilon, categories=facts.classes)
    return made


def _label_mechanisms() -> list[type[Mechanism]]:
    """Return the mechanisms about the label alone that are made from a budget, also those of other packages."""
    return [kind for kind in mechanisms.every().values()
            if kind.reads == ("label",) and hasattr(kind, "from_epsilon")]  # fmt: skip


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

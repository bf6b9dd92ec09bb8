"""Knowledge that a null model may use: no more than the curator of the method has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from curator.linear.factored import Factored
from curator.owned import OwnedGraph
from curator.reports.agreed_pairs import agreed_edges
from curator.reports.estimates import smoothed
from curator.reports.frequency import estimate_features
from curator.reports.labels import label_evidence
from curator.reports.reports import Reports
from devices.array_types import IntArray
from devices.facts import PublicKnowledge, Split
from devices.mechanisms import GRRFS


@dataclass(frozen=True, eq=False)
class NullEvidence:
    """Everything that a null model may use.

    Args:
        classes: Number of classes.
        labels: int64 (n,), -1 where the curator has none, as for every test node. Where labels are
            private, these are the reported ones, or the likeliest given the report.
        split: Division of the people.
        edges: int64 (2, m), each undirected edge once: the public graph, or the pairs whose every reported bit
            is 1. None if the curator has no pairs.
        features: (n, d), CSR or numpy: the public ones, or an unbiased estimate from the reports. None if the
            curator sees none.
        reported: Attributes of which it knows from answers (``adjacency``, ``features``, ``label``); others are
            public.
        named: float64 (n, classes): the classes that each label report names, where that is more than ``labels``
            (:mod:`curator.reports.labels`); else None.
        taught_by_validation: Whether null models learn from validation labels too, because the method does.
    """

    classes: int
    labels: IntArray = field(repr=False)
    split: Split = field(repr=False)
    edges: IntArray | None = field(default=None, repr=False)
    features: Any = field(default=None, repr=False)
    reported: frozenset[str] = frozenset()
    named: NDArray[np.float64] | None = field(default=None, repr=False)
    taught_by_validation: bool = False

    @property
    def teachers(self) -> IntArray:
        """int64, sorted: people whose labels null models learn from."""
        split = self.split
        return self.labelled(np.sort(split.labelled) if self.taught_by_validation else split.train)

    def labelled(self, nodes: IntArray) -> IntArray:
        """Return those of the nodes whose label is known."""
        return nodes[self.labels[nodes] >= 0]


def known_from_reports(reports: Reports, public: PublicKnowledge) -> NullEvidence:
    """Return the knowledge of a curator who has these reports.

    What is public is taken as it is, even if it was reported too.
    """
    edges, features, reported = public.edges, public.features, set[str]()
    if edges is None and reports.adjacency is not None:
        edges = agreed_edges(reports)
        reported.add("adjacency")
    if features is None and reports.features is not None:
        features = _estimated(reports)
        reported.add("features")
    if reports.labels is not None:
        reported.add("label")
    told = label_evidence(reports, public).only(public.split.labelled)
    return NullEvidence(
        told.classes, told.labels, public.split, edges, features, frozenset(reported), told.rows
    )  # fmt: skip


def known_from_graph(owned: OwnedGraph, reads: Sequence[str]) -> NullEvidence:
    """Return the knowledge of an owner who reads parts of the raw data.

    Args:
        owned: Raw data.
        reads: ``adjacency``, ``features`` and ``label``, or some of them (``reads`` of a reference).
    """
    labels = owned.labels if "label" in reads else np.full(owned.facts.n, -1, np.int64)
    return NullEvidence(
        owned.facts.classes, _labels_to_use(labels, owned.split), owned.split,
        owned.edges if "adjacency" in reads else None, owned.features if "features" in reads else None,
    )  # fmt: skip


def _labels_to_use(labels: IntArray, split: Split) -> IntArray:
    """Return the labels of training and validation nodes, -1 for all others."""
    known = np.full(len(labels), -1, np.int64)
    known[split.labelled] = labels[split.labelled]
    return known


def _estimated(reports: Reports) -> Any:
    """float32 (n, d): unbiased estimates; (n, k) for a mechanism that reports k numbers about the features.

    Sparse reports stay sparse. They are then the estimates less the middle of the range, which is one number for all
    entries.
    """
    mechanism = reports.source("features")
    alone = csr_array(eye_array(reports.facts.n, dtype=np.float32))
    if mechanism.coded:
        return estimate_features(reports.features, reports.reported("features"), cast(GRRFS, mechanism), alone, 0)
    if not mechanism.packed and reports.features.shape[1] != reports.facts.d:
        # A mechanism of another package: its report is something else than a row of features.
        rows = np.asarray(mechanism.estimate(reports.features), np.float32)
        return np.where(reports.reported("features")[:, None], rows, np.float32(0))
    found = smoothed(reports, alone, 0)
    return found.base if isinstance(found, Factored) else found

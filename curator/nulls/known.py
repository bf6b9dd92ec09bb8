"""Knowledge that a null model may use: no more than the curator of the method has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.reports.estimates import smoothed
from ldpsim.curator.reports.frequency import estimate_features
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRRFS, OneBit


@dataclass(frozen=True, eq=False)
class NullEvidence:
    """Everything that a null model may use.

    Args:
        labels: Labels of training and validation people, as far as the curator has them, public or reported.
        split: Division of the people.
        edges: int64 (2, m), each undirected edge once (:attr:`ldpsim.curator.evidence.evidence.Evidence.edges`). None
        if the
            curator has no pairs.
        features: (n, d), CSR or numpy: the public ones, or an unbiased estimate from the reports. None if the
            curator sees none.
        reported: Attributes of which it knows from answers (``adjacency``, ``features``, ``label``); others are
            public.
        taught_by_validation: Whether null models learn from validation labels too, because the method does.
    """

    labels: LabelEvidence = field(repr=False)
    split: Split = field(repr=False)
    edges: IntArray | None = field(default=None, repr=False)
    features: Any = field(default=None, repr=False)
    reported: frozenset[str] = frozenset()
    taught_by_validation: bool = False

    @property
    def teachers(self) -> IntArray:
        """int64, sorted: people whose labels null models learn from."""
        split = self.split
        return self.labels.known(np.sort(split.labelled) if self.taught_by_validation else split.train)


def known_from_reports(reports: Reports, public: PublicKnowledge) -> NullEvidence:
    """Return the knowledge of a curator who has these reports.

    What is public is taken as it is, even if it was reported too. Features of volunteers alone are left out: they teach
    nothing of people whose features nobody knows.
    """
    evidence = Evidence(reports, public)
    features = public.features
    if features is None and reports.features is not None and reports.reported("features")[public.split.test].any():
        features = _estimated(reports)
    given = {
        "adjacency": public.edges is None and reports.adjacency is not None,
        "features": public.features is None and reports.features is not None,
        "label": reports.labels is not None,
    }
    reported = frozenset(name for name, was_reported in given.items() if was_reported)
    return NullEvidence(evidence.labels.only(public.split.labelled), public.split, evidence.edges, features, reported)


def known_from_graph(owned: OwnedGraph, reads: Sequence[str]) -> NullEvidence:
    """Return the knowledge of an owner who reads parts of the raw data.

    Args:
        owned: Raw data.
        reads: ``adjacency``, ``features`` and ``label``, or some of them (``reads`` of a reference).
    """
    labels = LabelEvidence(owned.labels, owned.facts.classes)
    return NullEvidence(
        labels.only(owned.split.labelled if "label" in reads else np.zeros(0, np.int64)), owned.split,
        owned.edges if "adjacency" in reads else None, owned.features if "features" in reads else None,
    )  # fmt: skip


def _estimated(reports: Reports) -> Any:
    """float32 (n, d): unbiased estimates; (n, k) for a mechanism that reports k numbers about the features.

    Sparse reports stay sparse. They are then the estimates less the middle of the range, which is one number for all
    entries.
    """
    mechanism = reports.source("features")
    alone = csr_array(eye_array(reports.facts.n, dtype=np.float32))
    if isinstance(mechanism, GRRFS):
        return estimate_features(reports.features, reports.reported("features"), mechanism, alone, 0)
    if not isinstance(mechanism, OneBit) and reports.features.shape[1] != reports.facts.d:
        # A mechanism of another package: its report is something else than a row of features.
        rows = np.asarray(mechanism.estimate(reports.features), np.float32)
        return np.where(reports.reported("features")[:, None], rows, np.float32(0))
    found = smoothed(reports, alone, 0)
    return found.base if isinstance(found, Factored) else found

"""Inputs that a null model may use: no more than the curator of the method has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.learning.ridge import Ridge, fit_ridge
from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.linear.scaling import weighted_rows
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.reports.estimates import packed_estimates, smoothed
from ldpsim.curator.reports.frequency_estimation import estimate_features
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRRFS, OneBit

LARGEST_SAMPLE = 100_000  # labelled people to whom a device's model of features is fitted; more cost time alone


@dataclass(frozen=True, eq=False)
class NullInputs:
    """Everything that a null model may use.

    Args:
        labels: Labels of training and validation people, as far as the curator has them, public or reported.
        split: Division of the people.
        edges: int64 (2, m), each undirected edge once (:attr:`ldpsim.curator.knowledge.knowledge.Knowledge.edges`);
            None if the curator has no pairs.
        features: (n, d), CSR or numpy: the public ones, or an unbiased estimate from the reports. None if the
            curator sees none.
        reported: Attributes that it has from reports (``adjacency``, ``features``, ``label``); others are
            public.
        volunteers_alone: Whether ``features`` are those of volunteers alone.
        uses_validation_labels: Whether null models learn from validation labels too, because the method does.
    """

    labels: ObservedLabels = field(repr=False)
    split: Split = field(repr=False)
    edges: IntArray | None = field(default=None, repr=False)
    features: Any = field(default=None, repr=False)
    reported: frozenset[str] = frozenset()
    volunteers_alone: bool = False
    uses_validation_labels: bool = False

    @property
    def training_people(self) -> IntArray:
        """int64, sorted: people whose labels null models learn from."""
        split = self.split
        return self.labels.with_label(np.sort(split.labelled) if self.uses_validation_labels else split.train)

    @cached_property
    def ridge(self) -> Ridge:
        """Ridge regression on rows of length 1 of the features; features alone, and devices, read it."""
        features = self.features
        rows = weighted_rows(np.asarray(features) if isinstance(features, Factored) else features)
        return fit_ridge(rows, self.training_people, self.labels)


def known_from_reports(reports: Reports, public: PublicKnowledge, *, nulls: bool = True) -> NullInputs:
    """Return the knowledge of a curator who has these reports.

    What is public is taken as it is, even if it was reported too. Features of volunteers alone are left out: a model of
    them says nothing of people whose features the curator does not have.

    Args:
        reports: The reports.
        public: Public knowledge.
        nulls: Whether null models read it. Without them there are no edges, and no reported features of very many
            people: the model of features is fitted to a sample (:func:`sampled_people`).
    """
    knowledge = Knowledge(reports, public)
    features = public.features
    if has_reported_features(reports, public) and (nulls or not is_sampled(public.split)):
        features = feature_estimates(reports)
    attributes = {
        "adjacency": public.edges is None and reports.adjacency is not None,
        "features": public.features is None and reports.features is not None,
        "label": reports.labels is not None,
    }
    reported = frozenset(name for name, was_reported in attributes.items() if was_reported)
    labels = knowledge.labels.only(public.split.labelled)
    return NullInputs(labels, public.split, knowledge.edges if nulls else None, features, reported)


def has_reported_features(reports: Reports, public: PublicKnowledge) -> bool:
    """Return whether features are not public, and reported by more people than volunteers."""
    if public.features is not None or reports.features is None:
        return False
    return bool(reports.reported("features")[public.split.test].any())


def is_sampled(split: Split) -> bool:
    """Return whether the model of features is fitted to a sample of the labelled people."""
    return len(split.labelled) > LARGEST_SAMPLE


def sampled_people(inputs: NullInputs) -> IntArray:
    """int64, sorted: labelled people to whom the model of features is fitted; every k-th where there are very many."""
    people = inputs.labels.with_label(np.sort(inputs.split.labelled))
    return people[:: max(1, -(-len(people) // LARGEST_SAMPLE))]


def known_from_graph(owned: OwnedGraph, reads: Sequence[str]) -> NullInputs:
    """Return the knowledge of an owner who reads parts of the raw data.

    Args:
        owned: Raw data.
        reads: ``adjacency``, ``features`` and ``label``, or some of them (``reads`` of a reference).
    """
    labels = ObservedLabels(owned.labels, owned.facts.classes)
    return NullInputs(
        labels.only(owned.split.labelled if "label" in reads else np.zeros(0, np.int64)), owned.split,
        owned.edges if "adjacency" in reads else None, owned.features if "features" in reads else None,
    )  # fmt: skip


def feature_estimates(reports: Reports) -> Any:
    """float32 (n, d): unbiased estimates; (n, k) for a mechanism that reports k numbers about the features.

    Very many bits stay packed (:class:`ldpsim.curator.linear.factored.Factored`). Sparse reports stay sparse: they are
    then the estimates less the middle of the range, which is one number for all entries.
    """
    mechanism = reports.source("features")
    identity = csr_array(eye_array(reports.facts.n, dtype=np.float32))
    if isinstance(mechanism, GRRFS):
        return estimate_features(reports.features, reports.reported("features"), mechanism, identity, 0)
    if not isinstance(mechanism, OneBit) and reports.features.shape[1] != reports.facts.d:
        # A mechanism of another package: its report is something else than a row of features.
        rows = np.asarray(mechanism.estimate(reports.features), np.float32)
        return np.where(reports.reported("features")[:, None], rows, np.float32(0))
    if (packed := packed_estimates(reports)) is not None:
        return packed
    estimates = smoothed(reports, identity, 0)
    return estimates.base if isinstance(estimates, Factored) else estimates

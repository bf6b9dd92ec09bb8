"""Extreme values: labels that the neighbours contradict, and noisy features that no noise explains.

A label report counts in the training of all, and forward correction multiplies it by 1 / (p - q). So it is dropped if
more than half of at least three neighbours who reported agree on one other class. The graph is the public one, or the
pairs whose every reported bit is 1. Liars who are the majority of a neighbourhood pass. On a sparse graph most people
have too few neighbours to say anything.

Noisy features are clipped to their public range and the reach of their noise beyond it. Honest reports stay as they
are.

Trainings in rounds have an aggregation of their own (``strategies.rounds.trimmed``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from curator.defences.base import Notes, silent_on, step_noise
from curator.defences.tails import largest_noise
from curator.evidence.evidence import Evidence
from curator.linear.propagation import adjacency_matrix
from curator.reports.frequency import both_directions
from curator.reports.reports import Reports
from curator.reports.silenced import without_labels
from devices.array_types import BoolArray, IntArray
from devices.facts import PublicKnowledge

LEAST = 3  # neighbours who reported


def damp(reports: Reports, public: PublicKnowledge, level: float) -> tuple[Reports, Notes]:
    """Drop labels that a majority of neighbours contradicts, and clip noisy features."""
    notes: Notes = {}
    evidence = Evidence(reports, public)
    if reports.labels is not None and evidence.edges is not None:
        graph = adjacency_matrix(reports.facts.n, both_directions(evidence.edges))
        wrong = contradicted(graph, evidence.labels.labels, reports.facts.classes)
        notes["dropped_labels"] = int(wrong.sum())
        reports = without_labels(reports, wrong)
    if (noise := step_noise(reports, "features")) is not None:
        reach = largest_noise(noise.t, noise.s, level / max(1, reports.facts.d))
        clipped = np.clip(reports.features, -reach, noise.grid + reach)
        notes["clipped_features"] = int((clipped != reports.features).sum())
        reports = replace(reports, features=clipped)
    return reports, notes or silent_on("labels beside a graph, and no features under Laplace noise")


def contradicted(graph: csr_array, labels: IntArray, classes: int) -> BoolArray:
    """bool (n,): more than half of three or more neighbours with a label agree on another class.

    Args:
        graph: 0/1 CSR (n, n), symmetric.
        labels: int64 (n,), -1 for none.
        classes: Number of classes.
    """
    given = np.flatnonzero(labels >= 0)
    told = csr_array((np.ones(len(given), np.int32), (given, labels[given])), shape=(len(labels), classes))
    counts = np.asarray((graph.astype(np.int32) @ told).toarray())
    heard = counts.sum(axis=1)
    best = counts.argmax(axis=1)
    majority = 2 * counts[np.arange(len(labels)), best] > heard
    return np.asarray((labels >= 0) & (heard >= LEAST) & majority & (best != labels))

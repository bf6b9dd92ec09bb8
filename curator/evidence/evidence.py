"""All that reports and public knowledge tell a curator, in the form that the posterior reads.

Whatever was asked, there are four kinds of evidence: about pairs (adjacency reports, or a public graph), about a
person from features (public, or a reported bit for each), about a person from the own label (public, or reported),
and scores of pairs by features. Other reports of features, with one budget for the whole vector, say next
to nothing about one person and are not read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from curator.learning.node_evidence import NodeEvidence, node_evidence, unit_rows
from curator.links.evidence import LinkEvidence, public_links
from curator.links.pair_scores import Scores, public_scores, reported_scores
from curator.reports.agreed_pairs import agreed_edges
from curator.reports.labels import LabelEvidence, label_evidence
from curator.reports.reports import Reports
from curator.reports.rows import noisy_rows_of_bits
from devices.array_types import DoubleArray, IntArray
from devices.facts import PublicKnowledge


@dataclass(frozen=True, eq=False)
class PosteriorEvidence:
    """Evidence of a curator.

    Args:
        classes: Number of classes.
        links: Evidence about pairs.
        scores: Scores of pairs, None without features.
        rows: (n, d): rows of length 1 of the features or reported bits, None without any.
        people: Class evidence from features.
        labels: Labels of training and validation people, public or reported.
        train, val: int64: people of the split with a label.
    """

    classes: int
    links: LinkEvidence = field(repr=False)
    scores: Scores | None = field(repr=False)
    rows: Any = field(repr=False)
    people: NodeEvidence = field(repr=False)
    labels: LabelEvidence = field(repr=False)
    train: IntArray = field(repr=False)
    val: IntArray = field(repr=False)

    def own(self, sources: IntArray) -> DoubleArray:
        """float64 (n, classes): log-likelihood of the own label for these people, 0 for everybody else."""
        found = np.zeros((len(self.labels.labels), self.classes))
        found[sources] = self.labels.log_likelihood(sources)
        return found

    def class_estimates(self, sources: IntArray) -> DoubleArray:
        """float64 (n, classes): one-hot labels of these people, or unbiased estimates of them; zeros for others."""
        found = np.zeros((len(self.labels.labels), self.classes))
        found[sources] = self.labels.estimates(sources)
        return found


def told(reports: Reports, public: PublicKnowledge) -> PosteriorEvidence:
    """Return the evidence of reports and public knowledge.

    Raises:
        ValueError: if there is neither a report about pairs nor a public graph, or no training label.
    """
    split, labels = public.split, label_evidence(reports, public).only(public.split.labelled)
    train, val = (labels.known(nodes) for nodes in (split.train, split.val))
    features = public.features
    bits, flip, answered, scores = None, 0.0, None, None
    asked = reports.source("features") if features is None and reports.features is not None else None
    if asked is not None and asked.packed and asked.flip_probability is not None:
        d, answered, flip = reports.facts.d, reports.reported("features"), asked.flip_probability
        scores = reported_scores(reports.features, flip, d, answered)
        bits = np.unpackbits(reports.features, axis=1, count=d)
    rows = unit_rows(features, bits)
    if features is not None and rows is not None:
        scores = public_scores(rows)
    people = node_evidence(features, labels, split, bits=bits, flip=flip, answered=answered)
    return PosteriorEvidence(public.facts.classes, _links(reports, public), scores, rows, people, labels, train, val)


def _links(reports: Reports, public: PublicKnowledge) -> LinkEvidence:
    if public.edges is not None:
        return public_links(public.facts.n, public.edges)
    rows = noisy_rows_of_bits(reports)
    left, right = agreed_edges(reports)
    return LinkEvidence(left, right, rows.reported, rows.one_end, rows.flip)

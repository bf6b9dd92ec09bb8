"""All that reports and public knowledge tell a curator, in the form that the posterior reads.

Whatever was asked, there are four kinds of evidence: about pairs (adjacency reports, or a public graph), about a
person from features (public, or a reported bit for each), about a person from the own label (public, or reported
under GRR), and scores of pairs by features. Other reports of features, with one budget for the whole vector, say next
to nothing about one person and are not read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import triu

from curator.learning.node_evidence import NodeEvidence, node_evidence, rows_of
from curator.links.evidence import LinkEvidence, public_links
from curator.posterior.pair_scores import Scores, public_scores, reported_scores
from curator.reports.agreed_pairs import agreed_pairs
from curator.reports.reports import Reports
from devices.array_types import DoubleArray, IntArray
from devices.facts import PublicKnowledge
from devices.mechanisms import GRR, OneBit, RandomizedResponse


@dataclass(frozen=True, eq=False)
class Told:
    """Evidence of a curator.

    Args:
        classes: Number of classes.
        links: Evidence about pairs.
        scores: Scores of pairs, None without features.
        rows: (n, d): rows of length 1 of the features or reported bits, None without any.
        people: Class evidence from features.
        labels: int64 (n,): labels of training and validation people, public or reported, -1 for none.
        train, val: int64: people of the split with a label.
        soft: float64 (n, classes): log-likelihood of the reported labels; None for public ones.
        truth: Probability that a label is true.
    """

    classes: int
    links: LinkEvidence = field(repr=False)
    scores: Scores | None = field(repr=False)
    rows: Any = field(repr=False)
    people: NodeEvidence = field(repr=False)
    labels: IntArray = field(repr=False)
    train: IntArray = field(repr=False)
    val: IntArray = field(repr=False)
    soft: DoubleArray | None = field(repr=False)
    truth: float

    def own(self, sources: IntArray) -> DoubleArray:
        """float64 (n, classes): log-likelihood of the own label for these people, 0 for everybody else."""
        found = np.zeros((len(self.labels), self.classes))
        if self.soft is not None:
            found[sources] = self.soft[sources]
        else:
            found[sources] = -np.inf
            found[sources, self.labels[sources]] = 0
        return found

    def class_estimates(self, sources: IntArray) -> DoubleArray:
        """float64 (n, classes): one-hot labels of these people, or unbiased estimates of them; zeros for others."""
        found = np.zeros((len(self.labels), self.classes))
        lie = (1 - self.truth) / max(1, self.classes - 1)
        found[sources] = (np.eye(self.classes)[self.labels[sources]] - lie) / (self.truth - lie)
        return found


def told(reports: Reports, public: PublicKnowledge) -> Told:
    """Return the evidence of reports and public knowledge.

    Raises:
        ValueError: if there is neither a report about pairs nor a public graph, or no training label.
    """
    classes, split = public.facts.classes, public.split
    truth, soft = 1.0, None
    labels = public.labels
    if reports.labels is not None:
        labels = reports.labels
        if not reports.source("labels").in_clear:
            channel = reports.mechanism("label", GRR)
            truth = channel.truth_probability
            soft = np.where(labels[:, None] == np.arange(classes), channel.weight, 0.0)
    known = np.full(len(labels), -1, np.int64)
    known[split.labelled] = labels[split.labelled]
    if soft is not None:
        soft[known < 0] = 0
    train, val = (nodes[known[nodes] >= 0] for nodes in (split.train, split.val))
    features = public.features
    bits, flip, answered, scores = None, 0.0, None, None
    if features is None and reports.features is not None and isinstance(reports.source("features"), OneBit):
        one_bit = reports.mechanism("features", OneBit)
        flip, answered = one_bit.flip_probability, reports.reported("features")
        scores = reported_scores(reports.features, flip, one_bit.d, answered)
        bits = np.unpackbits(reports.features, axis=1, count=one_bit.d)
    rows = rows_of(features, bits)
    if features is not None and rows is not None:
        scores = public_scores(rows)
    people = node_evidence(features, known, split, classes, bits=bits, flip=flip, answered=answered, soft=soft)
    return Told(classes, _links(reports, public), scores, rows, people, known, train, val, soft, truth)


def _links(reports: Reports, public: PublicKnowledge) -> LinkEvidence:
    if public.edges is not None:
        return public_links(public.facts.n, public.edges)
    reports.needed("adjacency")
    mechanism = reports.mechanism("adjacency", RandomizedResponse)
    pairs = triu(agreed_pairs(reports), k=1).tocoo()
    order = np.lexsort((pairs.col, pairs.row))
    return LinkEvidence(
        pairs.row[order].astype(np.int64), pairs.col[order].astype(np.int64), reports.reported("adjacency"),
        one_end=mechanism.reporting == "one-end", flip=mechanism.flip_probability,
    )  # fmt: skip

"""Strong null model of public features: what a curator can reach without asking anybody.

Three opinions about everybody's class, pooled with exponents that the validation labels choose:

    features  the evidence of the person's own features (:mod:`curator.learning.node_evidence`)
    mlp       a perceptron
    knn-gcn   a GCN on the graph that joins a person to the K people with the most similar features

Similar means the cosine of the rows of :func:`curator.linear.tfidf.weighted_rows`. Edges of the true graph, reports
and test labels are not read. A method that asks has gained something only if it is above this.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from curator.evidence.labels import LabelEvidence
from curator.graph import Graph
from curator.learning.node_evidence import node_evidence
from curator.learning.pool import fit_pool
from curator.learning.training import TrainingSettings, train
from curator.linear.scaling import scale_public
from curator.linear.tfidf import is_text, weighted_rows
from curator.nulls.known import Known
from devices.array_types import DoubleArray, IntArray
from devices.data.population import Population
from strategies.people.owned_graph import sparse_features

NEIGHBOURS = 10
_PRIOR = {"features": 1.0, "mlp": 0.0, "knn-gcn": 0.0}
_BLOCK = 1024


def strong_null(
    known: Known, population: Population, *, seed: int, told: LabelEvidence | None = None
) -> IntArray | None:
    """Return everybody's class, int64 (n,); None without features or without a training label.

    Args:
        known: Labels and features; its edges are not read.
        population: The people, whose public features make the graph of similar people.
        seed: Seed of the two networks.
        told: Reported labels, None for public ones.
    """
    if known.features is None or not known.features.shape[1] or not len(known.labelled(known.split.train)):
        return None
    parts = opinions(known, alike(population), seed=seed, told=told)
    nodes = known.labelled(known.split.val)
    pool = fit_pool(parts, known.labels, nodes, soft=told.soft if told else None, prior=_PRIOR)
    return pool.log_probability.argmax(axis=1).astype(np.int64)


def opinions(
    known: Known, edges: IntArray, *, seed: int, told: LabelEvidence | None = None
) -> Mapping[str, DoubleArray]:
    """Return ln-probabilities by name, float64 (n, classes).

    Args:
        known: Labels and features.
        edges: int64 (2, m): the graph of similar people, both directions.
        seed: Seed of the two networks.
        told: As in :func:`strong_null`.
    """
    evidence = node_evidence(known.features, told or LabelEvidence(known.labels, known.classes), known.split)
    rows = scale_public(known.features, "row-normalised") if is_text(known.features) else weighted_rows(known.features)
    parts = {"features": evidence.log_probability}
    nobody = np.zeros((2, 0), np.int64)
    for name, gnn, graph in (("mlp", "mlp", nobody), ("knn-gcn", "gcn", edges)):
        given = Graph(
            rows, graph, None, known.labels, known.labelled(known.split.train), known.labelled(known.split.val)
        )
        settings = TrainingSettings(gnn=gnn, selection="loss")
        network = train(given, settings=settings, classes=known.classes, seed=seed, device="cpu")
        with torch.no_grad():
            parts[name] = torch.log_softmax(network.model().double(), dim=1).numpy()
    return parts


@lru_cache(maxsize=1)
def alike(population: Population) -> IntArray:
    """Return the edges between each person and the K people with the most similar features, of all people."""
    return nearest(weighted_rows(sparse_features(population)), NEIGHBOURS)


def nearest(rows: Any, k: int) -> IntArray:
    """int64 (2, m): edges in both directions between each row and the k others with the largest cosine.

    A row of zeros has no such edge of its own choice.

    Args:
        rows: (n, d), CSR or numpy, of length 1 each.
        k: Number of neighbours; fewer where there are fewer people.
    """
    n = rows.shape[0]
    k = min(k, n - 1)
    columns = rows.T.tocsc() if issparse(rows) else np.asarray(rows).T
    chosen = []
    for start in range(0, n, _BLOCK):
        found = rows[start : start + _BLOCK] @ columns
        cosine = np.asarray(found.toarray() if issparse(found) else found, np.float32)
        here = np.arange(len(cosine))
        cosine[here, start + here] = -np.inf
        best = np.argpartition(-cosine, k - 1, axis=1)[:, :k]
        close = np.take_along_axis(cosine, best, axis=1) > 0
        chosen.append(np.stack([np.repeat(start + here, k)[close.ravel()], best[close]]))
    one = np.concatenate(chosen, axis=1).astype(np.int64)
    return np.unique(np.concatenate([one, one[::-1]], axis=1), axis=1)

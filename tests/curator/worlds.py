"""Small populations with classes: reports of each kind, and what a curator was told; a graph to learn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.graph import Graph
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, Degree, Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask

N, D, CLASSES = 150, 60, 3
SPLIT = Split(np.arange(75), np.arange(75, 110), np.arange(110, N))


def reports_of(
    facts: PublicFacts, given: Mapping[str, Mechanism | tuple[Mechanism, ...]], *, answered: np.ndarray | None = None,
    **arrays: Any,
) -> Reports:  # fmt: skip
    """Return reports of these mechanisms, by attribute, of which everybody was asked."""
    everybody = np.ones(facts.n, np.bool_)
    asks = {name: Ask(name, of if isinstance(of, tuple) else (of,)) for name, of in given.items()}
    answered = everybody if answered is None else answered
    return Reports(facts, asks, dict.fromkeys(asks, everybody), answered, arrays)


def labelled_graph(
    n: int = 60, classes: int = 3, *, inside: float = 0.2, outside: float = 0.02, noise: float = 0.5, seed: int = 0
) -> tuple[Graph, np.ndarray]:
    """Return a graph and all labels: half of the people train, the next quarter validates, the labels of others are -1.

    Features are a one-hot label and normal noise.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    same = labels[:, None] == labels
    left, right = np.nonzero(np.triu(rng.random((n, n)) < np.where(same, inside, outside), 1))
    features = (np.eye(classes)[labels] + rng.normal(0, noise, (n, classes))).astype(np.float32)
    known = np.where(np.arange(n) < 3 * n // 4, labels, -1)
    edges = np.stack([np.r_[left, right], np.r_[right, left]])
    return Graph(features, edges, None, known, np.arange(n // 2), np.arange(n // 2, 3 * n // 4)), labels


def world(
    *, seed: int = 0, epsilon: float = 4.0, inside: float = 0.15, outside: float = 0.01, words: float = 0.25,
    public: bool = True, bits: bool = False, private_labels: bool = False, reporting: Any = "both",
    silent: tuple[int, ...] = (), public_graph: bool = False, degrees: float = 0.0,
) -> tuple[Reports, PublicKnowledge, np.ndarray]:  # fmt: skip
    """Return reports, public knowledge and the true labels.

    Args:
        seed: Of the people and of all noise.
        epsilon: Of one bit of a list.
        inside, outside: Probability of an edge inside a class and between classes.
        words: Probability of a word of the own class; .05 for other words.
        public: Features are public.
        bits: Features are reported as bits.
        private_labels: Labels are reported under GRR.
        reporting: ``both`` or ``one-end``.
        silent: Devices without any report.
        public_graph: The graph is public, and not asked.
        degrees: Of a number of neighbours, its epsilon; 0: not asked.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, N)
    same = labels[:, None] == labels[None, :]
    truth = np.triu(rng.random((N, N)) < np.where(same, inside, outside), 1)
    own = np.arange(D)[None, :] % CLASSES == labels[:, None]
    features = (rng.random((N, D)) < np.where(own, words, 0.05)).astype(np.float32)
    answered = np.ones(N, np.bool_)
    answered[list(silent)] = False
    asks: dict[str, Ask] = {}
    asked: dict[str, np.ndarray] = {}

    def ask(attribute: str, who: np.ndarray, *mechanisms: Mechanism) -> None:
        asks[attribute] = Ask(attribute, mechanisms)
        asked[attribute] = who

    reported: dict[str, Any] = {}
    if not public_graph:
        response = RandomizedResponse.from_epsilon(epsilon, n=N, reporting=reporting)
        noisy = (truth | truth.T) ^ (rng.random((N, N)) < response.flip_probability)
        np.fill_diagonal(noisy, False)
        noisy = np.tril(noisy) if reporting == "one-end" else noisy
        noisy[~answered] = False
        ask("adjacency", np.ones(N, np.bool_), response, *([Degree.from_epsilon(degrees, n=N)] if degrees else []))
        reported["adjacency"] = csr_array(noisy)
        if degrees:
            drawn = (truth | truth.T).sum(axis=1) + np.rint(rng.laplace(0, 1 / degrees, N)).astype(np.int64)
            reported["degrees"] = drawn * answered
    if bits:
        one_bit = OneBit.from_epsilon(3.0, d=D)
        drawn = (features > 0) ^ (rng.random((N, D)) < one_bit.flip_probability)
        drawn[~answered] = False
        ask("features", np.ones(N, np.bool_), one_bit)
        reported["features"] = np.packbits(drawn, axis=1)
    known = np.full(N, -1)
    known[SPLIT.labelled] = labels[SPLIT.labelled]
    if private_labels:
        channel = GRR.from_epsilon(2.0, categories=CLASSES)
        lies = rng.random(N) >= channel.truth_probability
        said = np.where(lies, (labels + rng.integers(1, CLASSES, N)) % CLASSES, labels)
        of_labels = np.isin(np.arange(N), SPLIT.labelled)
        ask("label", of_labels, channel)
        reported["labels"] = np.where(of_labels & answered, said, -1)
        known[:] = -1
    reports = Reports(PublicFacts(N, D, CLASSES), asks, asked, answered, reported)
    edges = np.array(np.nonzero(truth)) if public_graph else None
    features_known = csr_array(features) if public else None
    return reports, PublicKnowledge(reports.facts, SPLIT, known, features_known, edges), labels

"""A small population with classes, its reports, and what a curator was told."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, Degree, Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask

N, D, CLASSES = 150, 60, 3
SPLIT = Split(np.arange(75), np.arange(75, 110), np.arange(110, N))


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

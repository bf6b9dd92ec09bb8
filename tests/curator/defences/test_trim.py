"""Labels that neighbours contradict, and features that no noise explains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from curator.defences.trim import contradicted, damp
from curator.reports.silenced import silenced
from devices.facts import PublicFacts
from devices.mechanisms import GRR, Laplace, SubsetSelection
from devices.query import Ask
from tests.curator.defences.lies import features_of, public, reports_of

STAR = np.array([[0, 0, 0, 0, 4], [1, 2, 3, 4, 5]])  # 0 has four neighbours


def _star() -> csr_array:
    both = np.concatenate([STAR, STAR[::-1]], axis=1)
    return csr_array((np.ones(both.shape[1], np.float32), (both[0], both[1])), shape=(6, 6))


def test_a_majority_of_three_or_more_contradicts() -> None:
    def wrong(*labels: int) -> list[int]:
        return np.flatnonzero(contradicted(_star(), np.array(labels), 3)).tolist()

    assert wrong(0, 1, 1, 1, 2, 0) == [0]
    assert wrong(0, 1, 1, 2, 2, 0) == []  # two of four are no majority
    assert wrong(0, 1, 1, -1, -1, 0) == []  # two neighbours who reported are too few
    assert wrong(1, 1, 1, 1, 2, 0) == []  # they agree with it
    assert wrong(-1, 1, 1, 1, 1, 0) == []  # there is no label to drop


def test_a_contradicted_label_counts_as_none() -> None:
    rows = np.asarray(_star().toarray(), np.bool_)
    base = reports_of(rows, 4.0)
    labels = np.array([0, 1, 1, 1, 1, 1])
    asks = {**base.asks, "label": Ask("label", (GRR.from_epsilon(1.0, categories=3),))}
    reports = replace(base, labels=labels, asks=asks, asked={**base.asked, "label": base.answered},
                      facts=PublicFacts(6, 1, 3))  # fmt: skip
    private, notes = damp(reports, public(6), 1e-6)
    known, _ = damp(replace(reports, adjacency=None), replace(public(6), edges=STAR), 1e-6)
    for kept in (private, known):
        assert kept.labels is not None and kept.labels.tolist() == [-1, 1, 1, 1, 1, 1]
    assert notes == {"dropped_labels": 1} and reports.labels is labels
    assert "not_used" in damp(replace(reports, adjacency=None), public(6), 1e-6)[1]


def test_a_contradicted_set_of_classes_counts_as_none() -> None:
    """A report of another form than one category is read by its likelihood, and dropped with all that it says."""
    base = reports_of(np.asarray(_star().toarray(), np.bool_), 4.0)
    chosen = SubsetSelection.from_epsilon(1.0, categories=3)
    named = np.eye(3, dtype=np.bool_)[[0, 1, 1, 1, 1, 1]]
    reports = replace(base, labels=named, asks={**base.asks, "label": Ask("label", (chosen,))},
                      asked={**base.asked, "label": base.answered}, facts=PublicFacts(6, 1, 3))  # fmt: skip
    kept, notes = damp(reports, public(6), 1e-6)
    assert notes == {"dropped_labels": 1} and kept.labels is not None and not kept.labels[0].any()
    assert kept.reported("label").tolist() == [False] + [True] * 5
    silent = silenced(reports, np.arange(6) == 2)
    assert silent.labels is not None and not silent.labels[2].any() and silent.labels[3].any()


def test_noisy_features_are_clipped_beyond_the_reach_of_their_noise() -> None:
    laplace = Laplace.from_epsilon(8.0, d=2)
    given = np.array([[0, laplace.grid], [-50, laplace.grid + 50], [1 << 30, -(1 << 30)]])
    kept, notes = damp(features_of(laplace, given, 3, 2), public(3), 1e-6)
    assert notes == {"clipped_features": 2} and np.array_equal(kept.features[:2], given[:2])
    assert np.abs(kept.features[2]).max() < 30 * laplace.t / laplace.s + laplace.grid

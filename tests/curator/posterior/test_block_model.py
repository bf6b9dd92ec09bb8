from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.posterior.estimate import TOLERANCE, SparsePosterior, fit_block_model
from tests.curator.posterior.worlds import SPLIT, world


def fitted(evidence: Evidence) -> SparsePosterior:
    return fit_block_model(
        evidence.links, evidence.people.log_probability, evidence.own(evidence.train),
        evidence.class_estimates(evidence.train), evidence.scores, seed=0,
    )  # fmt: skip


def test_links_add_to_features_and_the_edges_are_found() -> None:
    reports, public, labels = world(epsilon=2.5, words=0.14)  # words that leave something to the links
    evidence = Evidence(reports, public)
    model = fitted(evidence)
    alone = evidence.people.log_probability.argmax(axis=1) == labels
    together = model.beliefs.total.argmax(axis=1) == labels
    assert together[SPLIT.test].mean() > alone[SPLIT.test].mean() + 0.05
    same = np.sum(np.bincount(labels) ** 2)
    edges = 0.15 * same / 2 + 0.01 * (150**2 - same) / 2
    assert abs(model.probability.sum() - edges) < 0.25 * edges
    assert (np.diag(model.affinity) > 1).all() and model.stopped == "beliefs settled" and model.change <= TOLERANCE


def test_a_heterophilous_graph_is_read_the_other_way() -> None:
    reports, public, labels = world(public=False, inside=0.01, outside=0.12)
    model = fitted(Evidence(reports, public))
    assert (np.diag(model.affinity) < 1).all()
    assert (model.beliefs.total.argmax(axis=1) == labels)[SPLIT.test].mean() > 0.8


def test_one_round_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpsim.curator.posterior.estimate.ROUNDS", 1)
    model = fitted(Evidence(*world()[:2]))
    assert model.rounds == 1 and model.stopped == "largest number of rounds"

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ldpsim.curator.evidence.evidence import Evidence
from tests.curator.worlds import CLASSES, SPLIT, world


def test_public_labels_are_certain_and_those_of_others_are_nothing() -> None:
    reports, public, labels = world()
    evidence = Evidence(reports, public)
    own = evidence.own(evidence.train)
    assert np.array_equal(evidence.train, SPLIT.train) and np.array_equal(evidence.val, SPLIT.val)
    assert (own[SPLIT.train].argmax(axis=1) == labels[SPLIT.train]).all() and np.isneginf(own).sum() == 75 * 2
    assert not own[SPLIT.val].any() and not own[SPLIT.test].any()
    np.testing.assert_array_equal(evidence.class_estimates(evidence.train)[:75], np.eye(CLASSES)[labels[:75]])


def test_reported_labels_have_the_exact_likelihood_of_their_report() -> None:
    reports, public, _ = world(private_labels=True, silent=(3,))
    evidence = Evidence(reports, public)
    channel = reports.source("labels")
    assert reports.labels is not None and evidence.labels.soft is not None and 3 not in evidence.train
    person = int(evidence.train[0])
    law = [channel.log_probability(int(reports.labels[person]), c) for c in range(CLASSES)]
    np.testing.assert_allclose(np.diff(evidence.own(evidence.train)[person]), np.diff(law))
    assert not evidence.labels.soft[3].any() and not evidence.labels.soft[SPLIT.test].any()
    mean = np.zeros(CLASSES)  # over all reports of a person of class 1
    for report in range(CLASSES):
        labels = evidence.labels.labels.copy()
        labels[person] = report
        found = dataclasses.replace(evidence.labels, labels=labels).estimates(np.array([person]))[0]
        mean += np.exp(channel.log_probability(report, 1)) * found
    np.testing.assert_allclose(mean, [0, 1, 0], atol=1e-12)


def test_what_is_public_is_taken_even_if_it_was_reported_too() -> None:
    reports, public, _ = world(public=True, bits=True)
    assert reports.features is not None and public.features is not None
    evidence, alone = Evidence(reports, public), Evidence(reports.with_arrays(features=None), public)
    assert evidence.bits is None and evidence.scores is not None and alone.scores is not None
    pairs = np.array([1, 2]), np.array([2, 4])
    np.testing.assert_array_equal(evidence.scores(*pairs), alone.scores(*pairs))
    np.testing.assert_array_equal(evidence.people.log_probability, alone.people.log_probability)


def test_neither_reports_nor_a_graph_is_refused() -> None:
    reports, public, _ = world(public_graph=True, private_labels=True)
    with pytest.raises(ValueError, match="no adjacency"):
        _ = Evidence(reports, dataclasses.replace(public, edges=None)).links

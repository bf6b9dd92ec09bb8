"""What reports of any label mechanism say, against the mechanisms' own laws by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.reports.labels import ObservedLabels, observed_labels
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, ClearLabel, Mechanism
from ldpsim.devices.query import Ask
from tests.curator.reports.kinds import Flags, Unequal

K = 4


def told(mechanism: Mechanism, reports: Any, *, classes: int = K) -> ObservedLabels:
    """Return the evidence of these reports, one person each."""
    found = np.asarray(reports)
    n = len(found)
    split = Split(np.arange(n - 1), np.arange(n - 1, n), np.zeros(0, np.int64))
    facts, everybody = PublicFacts(n, 1, classes), np.ones(n, np.bool_)
    asked = Reports(facts, {"label": Ask("label", (mechanism,))}, {"label": everybody}, everybody, {"labels": found})
    return observed_labels(asked, PublicKnowledge(facts, split, np.full(n, -1)))


def every_report(mechanism: Mechanism) -> list[Any]:
    if isinstance(mechanism, Flags):
        return [np.array(flags) for flags in itertools.product((False, True), repeat=K)]
    return list(range(K))


KINDS: list[Mechanism] = [
    GRR.from_epsilon(1.0, categories=K), Unequal.from_epsilon(1.0, categories=K), Flags.from_epsilon(2.0, categories=K),
]  # fmt: skip


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: m.name)
def test_everything_is_that_of_the_law(mechanism: Mechanism) -> None:
    reports = every_report(mechanism)
    people = np.arange(len(reports))
    found = told(mechanism, reports)
    law = np.exp([[mechanism.log_probability(report, c) for c in range(K)] for report in reports])  # (reports, K)
    posterior = law / law.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.probabilities(people), posterior, atol=1e-9)
    np.testing.assert_allclose(np.diff(found.log_likelihood(people)), np.diff(np.log(law)), atol=1e-9)
    np.testing.assert_allclose(law.T @ found.estimates(people), np.eye(K), atol=1e-9)
    named = found.support(people)
    assert named.min() == 0 and named.max() == 1
    np.testing.assert_allclose(law.T @ named, found.lie + (found.truth - found.lie) * np.eye(K), atol=1e-9)
    assert np.take_along_axis(law, found.labels[:, None], 1)[:, 0] == pytest.approx(law.max(axis=1))
    np.testing.assert_allclose(named.sum(axis=1) @ law, np.full(K, found.whole))


def test_a_mechanism_that_states_no_log_likelihood_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GRR, "log_likelihood", lambda mechanism, report: None)
    with pytest.raises(ValueError, match="^grr states no log-likelihood of a label"):
        told(KINDS[0], [1, 2])


def test_silent_people_and_labels_in_clear() -> None:
    mechanism = Flags.from_epsilon(0.2, categories=K)
    rows = np.array([[True, True, False, False], [False] * 4])
    facts, who = PublicFacts(2, 1, K), np.array([True, False])
    asks = {"label": Ask("label", (mechanism,))}
    public = PublicKnowledge(facts, Split(*(np.array([k]) for k in (0, 1, 1))), np.array([3, 3]))
    found = observed_labels(Reports(facts, asks, {"label": who}, who, {"labels": rows}), public)
    assert found.labels[0] in (0, 1) and found.labels[1] == -1
    assert found.log_likelihoods is not None and not found.log_likelihoods[1].any() and not found.everybody()[1].any()
    nobody = observed_labels(Reports(facts, asks, {"label": ~who & False}, who, {"labels": rows}), public)
    assert nobody.labels.tolist() == [-1, -1]
    clear = told(ClearLabel(K), [1, 3, -1])
    assert clear.in_clear and (clear.truth, clear.lie) == (1, 0) and clear.labels.tolist() == [1, 3, -1]
    not_asked = observed_labels(Reports(facts, {}, {}, who), public)
    assert not_asked.in_clear and not_asked.labels.tolist() == [3, 3]

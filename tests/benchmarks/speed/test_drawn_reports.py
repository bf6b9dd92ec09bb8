"""Reports drawn with numpy have the law of those of devices: rates of flips, at a false-alarm rate of 1e-6."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.speed.drawn_reports import drawn_reports
from ldpsim.curator.methods import LPGNN, RGNN, Budget, HoGS
from ldpsim.curator.methods.base import Method
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies.people.owned_graph import sparse_features

PEOPLE = generate(300, 40, 3, seed=1)


def _drawn(method: Method, **budget: float) -> Reports:
    split = make_split("random", PEOPLE, 0)
    questions = method.questions(PEOPLE.facts, split, Budget(**budget), "c")  # type: ignore[arg-type]
    return drawn_reports(PEOPLE, questions, seed=0)


def _truth(people: Population) -> np.ndarray:
    return np.asarray(sparse_features(people).toarray() > 0)


def _agrees(hits: int, count: int, rate: float) -> None:
    assert binomtest(hits, count, rate).pvalue > 1e-6


@pytest.mark.parametrize("reporting", ["both", "one-end"])
def test_rows_and_feature_bits(reporting: str) -> None:
    reports = _drawn(HoGS(), eps_adjacency=3.0, eps_features=1.0, reporting=reporting)  # type: ignore[arg-type]
    rows, bits = reports.source("adjacency"), reports.source("features")
    true = np.zeros((300, 300), np.bool_)
    true[tuple(PEOPLE.edges)] = True
    true |= true.T
    places = np.tril(np.ones((300, 300), np.bool_), -1)
    if reporting == "both":
        places |= places.T
    found = reports.adjacency.toarray()  # type: ignore[union-attr]
    assert not found[~places].any()
    _agrees(int((found != true)[places].sum()), int(places.sum()), rows.flip_probability)
    packed = np.unpackbits(reports.features, axis=1, count=40).astype(bool)
    _agrees(int((packed != _truth(PEOPLE)).sum()), packed.size, bits.flip_probability)


def test_categories_and_labels() -> None:
    reports = _drawn(RGNN(m=5), eps_features=2.0, eps_labels=1.0)
    sampling, label = reports.source("features"), reports.source("labels")
    wrong = int((reports.features.astype(bool) != _truth(PEOPLE)).sum())
    _agrees(wrong, reports.features.size, sampling.marginals(2)[1])
    asked = reports.asked["label"]
    assert np.array_equal(reports.labels >= 0, asked)  # type: ignore[operator]
    hits = int((reports.labels == PEOPLE.labels)[asked].sum())  # type: ignore[index]
    _agrees(hits, int(asked.sum()), label.truth_probability)


def test_sampled_bits() -> None:
    reports = _drawn(LPGNN(m="7"), eps_features=4.0, eps_labels=1.0)
    mechanism = reports.source("features")
    found = reports.features.toarray()
    assert (np.count_nonzero(found, axis=1) == 7).all()
    said = found != 0
    _agrees(int(((found > 0) != _truth(PEOPLE))[said].sum()), int(said.sum()), mechanism.flip_probability)
    _agrees(int(said[:, 3].sum()), 300, 7 / 40)

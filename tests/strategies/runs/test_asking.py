"""Knowledge of the curator before anybody is asked, with and without each part that a run makes public."""

from __future__ import annotations

import numpy as np
import pytest

from curator.methods import LPGNN, HoGS, find
from curator.methods.base import Method
from devices.data.population import Population
from devices.data.splits import make_split
from strategies.people.owned_graph import sparse_features
from strategies.runs.asking import public_knowledge
from strategies.setup.options import RunOptions


@pytest.mark.parametrize("method, given, labels, features, edges", [
    (HoGS(), {}, True, False, False),
    (HoGS(), {"private_labels": True}, False, False, False),
    (HoGS(), {"public_features": True}, True, True, False),
    (LPGNN(), {}, False, False, True),
    (LPGNN(version="text"), {}, True, False, True),
    (LPGNN(adjacency="private"), {}, False, False, False),
])  # fmt: skip
def test_the_curator_knows_what_is_public_and_no_test_label(
    population: Population, method: Method, given: dict[str, bool], labels: bool, features: bool, edges: bool
) -> None:
    split = make_split("random", population, 0)
    options = RunOptions(method=method.name, **given)  # type: ignore[arg-type]
    public = public_knowledge(population, split, options, method)
    expected = np.full(len(population), -1)
    if labels:
        expected[split.labelled] = population.labels[split.labelled]
    assert np.array_equal(public.labels, expected)
    assert (public.labels[split.test] == -1).all() and len(split.test) == 10
    assert (public.features is not None) == features and (public.edges is not None) == edges
    if public.features is not None:
        assert (public.features != sparse_features(population)).nnz == 0
    if public.edges is not None:
        assert np.array_equal(public.edges, population.edges)


def test_donated_features_are_those_of_labelled_people_alone(population: Population) -> None:
    split = make_split("random", population, 0)
    method = find("vote").from_settings({"own_features": "true"})
    public = public_knowledge(population, split, RunOptions(method="vote"), method)
    whole = sparse_features(population).toarray()
    assert public.features is None and public.donated is not None
    donated = public.donated.toarray()
    assert np.array_equal(donated[split.labelled], whole[split.labelled]) and whole[split.test].any()
    assert not donated[split.test].any() and public.donated.nnz == np.count_nonzero(donated)
    assert public_knowledge(population, split, RunOptions(method="vote"), find("vote")()).donated is None

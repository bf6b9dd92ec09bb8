from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.methods import Budget, Solitude
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import MultiBit, RandomizedResponse
from ldpsim.devices.query import Ask

N, D = 6, 9
FACTS = PublicFacts(N, D, 3)
SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3, 4, 5]))
ROWS = [[1, 2], [0], [0, 1, 4], [2], [], [0, 2]]  # whom each one reported; 4 reported nobody


def _reports(silent: tuple[int, ...] = ()) -> tuple[Reports, PublicKnowledge, np.ndarray]:
    rng = np.random.default_rng(0)
    mechanism = MultiBit.from_epsilon(1.0, d=D)
    signs = np.zeros((N, D), np.int8)
    signs[np.arange(N), rng.integers(0, D, N)] = rng.choice([-1, 1], N)
    ones = np.zeros((N, N), np.bool_)
    for node, row in enumerate(ROWS):
        ones[node, row] = True
    answered = np.ones(N, np.bool_)
    answered[list(silent)] = False
    signs[list(silent)] = 0
    ones[list(silent)] = False
    flip = RandomizedResponse.from_epsilon(3.0, n=N)
    asks = {"adjacency": Ask("adjacency", (flip,)), "features": Ask("features", (mechanism,))}
    asked = dict.fromkeys(asks, np.ones(N, np.bool_))
    reports = Reports(FACTS, asks, asked, answered, {"adjacency": csr_array(ones), "features": csr_array(signs)})
    public = PublicKnowledge(FACTS, SPLIT, np.array([1, 2, 0, -1, -1, -1]))
    return reports, public, np.asarray(mechanism.estimate(signs.astype(float)))


@pytest.mark.parametrize("hops", [0, 1, 3])
@pytest.mark.parametrize("smoothing", ["mean", "symmetric", "printed"])
def test_features_are_eq_11_written_out(hops: int, smoothing: str) -> None:
    reports, public, wanted = _reports()
    graph = Solitude(l_x=hops, smoothing=smoothing, features="literal").reconstruct(reports, public)
    for _ in range(hops):
        after = np.zeros_like(wanted)
        for i, row in enumerate(ROWS):
            for j in row:
                size, other = len(ROWS[i]), len(ROWS[j])
                divisor = {"mean": size, "symmetric": math.sqrt(size * other), "printed": size * other}[smoothing]
                after[i] += wanted[j] / divisor if divisor else 0
        wanted = after
    np.testing.assert_allclose(graph.features, wanted, rtol=1e-4, atol=1e-4)


def test_edges_run_from_the_reported_to_the_one_who_reports() -> None:
    reports, public, _ = _reports()
    graph = Solitude().reconstruct(reports, public)
    got = {(int(target), int(source)) for source, target in graph.edge_index.T}
    assert got == {(node, other) for node, row in enumerate(ROWS) for other in row}
    both = Solitude(topology="and").reconstruct(reports, public).edge_index
    assert {frozenset(pair) for pair in both.T.tolist()} == {frozenset((0, 1)), frozenset((0, 2))}
    assert Solitude(topology="or").reconstruct(reports, public).edge_index.shape[1] == 2 * 7


def test_standardised_columns_can_be_taken_back() -> None:
    reports, public, _ = _reports(silent=(3,))
    literal = Solitude(features="literal", l_x=1).reconstruct(reports, public)
    standard = Solitude(l_x=1).reconstruct(reports, public)
    back = standard.features * standard.notes["feature_scale"] + standard.notes["feature_centre"]
    heard = reports.answered
    np.testing.assert_allclose(back[heard], literal.features[heard], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(standard.features[heard].mean(axis=0), 0, atol=1e-5)


def test_public_features_lose_nothing() -> None:
    assert Solitude().claim(Budget(epsilon=3.0, public_features=True)).value == 3

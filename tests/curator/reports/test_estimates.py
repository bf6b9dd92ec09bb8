from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.reports.estimates import estimated_strips, smoothed
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import ClearFeatures, Laplace, Mechanism, MultiBit, OneBit
from ldpsim.devices.query import Ask

N, D = 5, 300


def _reports(mechanism: Mechanism, features: object, silent: tuple[int, ...] = ()) -> Reports:
    answered = np.ones(N, np.bool_)
    answered[list(silent)] = False
    facts = PublicFacts(N, D, 2)
    asked = {"features": np.ones(N, np.bool_)}
    return Reports(facts, {"features": Ask("features", (mechanism,))}, asked, answered, {"features": features})


@pytest.mark.parametrize("kind", ["multi_bit", "one_bit", "laplace", "clear"])
def test_strips_are_the_mechanisms_own_estimates(kind: str) -> None:
    rng = np.random.default_rng(0)
    mechanism: Mechanism
    if kind == "multi_bit":
        mechanism = MultiBit.from_epsilon(1.0, d=D)
        dense = rng.choice([-1, 0, 1], (N, D)).astype(np.int8)
        given: object = csr_array(dense)
    elif kind == "one_bit":
        mechanism = OneBit.from_epsilon(1.0, d=D)
        dense = rng.integers(0, 2, (N, D)).astype(np.uint8)
        given = np.packbits(dense, axis=1)
    elif kind == "laplace":
        mechanism = Laplace.from_epsilon(1.0, d=D)
        dense = given = rng.integers(-900, 900, (N, D)).astype(np.int32)
    else:
        mechanism = ClearFeatures(D)
        dense = rng.random((N, D)).astype(np.float32)
        given = csr_array(dense)
    wanted = np.asarray(mechanism.estimate(dense.astype(np.float32)))
    wanted[2] = 0.5  # silent: the middle of the range
    got = np.concatenate([strip for _, strip in estimated_strips(_reports(mechanism, given, silent=(2,)))], axis=1)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    matrix = csr_array(rng.random((N, N)).astype(np.float32))
    twice = smoothed(_reports(mechanism, given, silent=(2,)), matrix, 2)
    np.testing.assert_allclose(twice, matrix.toarray() @ matrix.toarray() @ wanted, rtol=1e-4, atol=1e-2)


def test_features_in_clear_stay_sparse_without_a_hop() -> None:
    given = csr_array(np.eye(N, D, dtype=np.float32))
    assert smoothed(_reports(ClearFeatures(D), given), csr_array((N, N)), 0) is given

"""Agreement of both ends: fakes of a liar who owns its noise, and where it cannot help."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.defences.degree import keep_agreed
from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import agreed_ones
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.query import Ask, Query
from tests.curator.defences.lies import a_graph, honest_rows, reports_of

N, LIARS, FAKES = 500, 25, 50


def _answered(reporting: str) -> tuple[Reports, np.ndarray]:
    """Reports at eps 8 from bytes, with 50 fakes about honest people in the last 25 people's rows; and the fakes."""
    mechanism = RandomizedResponse.from_epsilon(8.0, n=N, reporting=reporting)  # type: ignore[arg-type]
    graph = a_graph(N, 4, 0)
    rows = honest_rows(graph, mechanism.flip_probability, 1)
    rng, fakes = np.random.default_rng(2), np.zeros((N, N), np.bool_)
    for liar in range(N - LIARS, N):
        rows[liar] = False
        strangers = np.flatnonzero(~graph[liar, : N - LIARS])
        fakes[liar, rng.choice(strangers, FAKES, replace=False)] = True
    rows |= fakes
    answers = {i: {"adjacency": (mechanism.encode(mechanism.row(i, np.flatnonzero(rows[i]))),)} for i in range(N)}
    question = Question(Query("c", ((Ask("adjacency", (mechanism,)),),)))
    return Reports.from_bytes(PublicFacts(N, 1, 2), (question,), answers), fakes


def test_a_mimic_finds_nobody_who_confirms() -> None:
    reports, fakes = _answered("both")
    kept, notes = keep_agreed(reports, 1e-6)
    assert kept.adjacency is not None and kept.adjacency.multiply(csr_array(fakes)).nnz / LIARS < 1
    assert notes["dropped_claims"] >= LIARS * (FAKES - 1)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_law_of_accepted_fakes(epsilon: float) -> None:
    """A claim about an honest stranger passes with the probability of a flip, within 5 standard errors."""
    flip = RandomizedResponse.from_epsilon(epsilon, n=N).flip_probability
    rows = honest_rows(np.zeros((N, N), np.bool_), flip, 3)
    rows[0] = True
    rows[0, 0] = False
    accepted = agreed_ones(csr_array(rows))[[0]].sum()
    assert abs(accepted - (N - 1) * flip) < 5 * ((N - 1) * flip * (1 - flip)) ** 0.5


def test_it_is_symmetric_and_drops_claims_about_silent_people() -> None:
    rows = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], np.bool_)
    kept, _ = keep_agreed(reports_of(rows, 2.0), 0.1)
    assert kept.adjacency is not None and kept.adjacency.dtype == np.bool_
    assert kept.adjacency.toarray().astype(int).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]

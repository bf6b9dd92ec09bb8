"""Choice and order of defences, what an honest population pays, and what all of them together find. Covers __init__."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.defences import DEFENCES, defences_named, defend
from ldpsim.devices.mechanisms import Degree, RandomizedResponse
from tests.curator.defences.lies import a_graph, honest_rows, reports_of


def test_names_are_read_in_one_order() -> None:
    assert defences_named("none") == () and defences_named("all") == tuple(DEFENCES)
    assert defences_named("both-ends, degree") == defences_named("degree,both-ends") == ("degree", "both-ends")
    for wrong, word in (("degre", "degree"), ("all,degree", "stands alone"), ("", "there are")):
        with pytest.raises(ValueError, match=word):
            defences_named(wrong)


def test_an_honest_population_loses_nobody() -> None:
    """2,708 people; a false alarm of 1e-3 is the chance that one of them at least is excluded by one defence."""
    n, epsilon = 2708, 3.0
    flip = RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability
    reports = reports_of(honest_rows(a_graph(n, 4, 1), flip, 2), epsilon)
    found = defend(defences_named("all"), reports, 1e-3)
    assert not found.flagged.any() and set(found.notes) == set(DEFENCES)


def test_flagged_people_are_silent_and_the_others_stay() -> None:
    n, epsilon = 300, 3.0
    rows = honest_rows(a_graph(n, 5, 1), RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability, 2)
    rows[:15] = True
    np.fill_diagonal(rows, False)
    found = defend(("duplicates",), reports_of(rows, epsilon), 1e-3)
    assert np.flatnonzero(found.flagged).tolist() == list(range(15)) and found.notes["duplicates"]["flagged"] == 15
    assert not found.reports.answered[:15].any() and found.reports.answered[15:].all()
    assert found.reports.adjacency is not None
    assert np.array_equal(found.reports.adjacency.toarray()[15:], rows[15:])


def test_colluders_go_before_they_can_frame_others() -> None:
    """A fifth of the people send one list that names person 0: what they claim about 0 is judged without them."""
    n, epsilon = 1500, 4.0
    graph = a_graph(n, 4, 1)
    rows = honest_rows(graph, RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability, 2)
    rows[: n // 5] = np.arange(n) % 4 == 0
    rows[-1, : n // 5] = True  # an honest person whose noise confirms them all
    np.fill_diagonal(rows, False)
    rows[: n // 5, -1] = True
    degree = Degree.from_epsilon(4.0, n=n)
    degrees = np.where(np.arange(n) < n // 5, rows.sum(axis=1), graph.sum(axis=1))
    reports = reports_of(rows, epsilon, more=(degree,), degrees=degrees)
    alone, together = (defend(defences_named(names), reports, 1e-3) for names in ("degree", "degree,duplicates"))
    assert alone.flagged[-1]
    assert together.flagged[: n // 5].all() and not together.flagged[n // 5 :].any()

"""Choice and order of defences, what an honest population pays, and what all of them together find. Covers __init__."""

from __future__ import annotations

import numpy as np
import pytest

from curator.defences import DEFENCES, defences_named, defend
from devices.mechanisms import RandomizedResponse
from tests.curator.defences.lies import a_graph, honest_rows, public, reports_of


def test_names_are_read_in_one_order() -> None:
    assert defences_named("none") == () and defences_named("all") == tuple(DEFENCES)
    assert defences_named("both-ends, weight") == defences_named("weight,both-ends") == ("weight", "both-ends")
    for wrong, word in (("wieght", "weight"), ("all,weight", "stands alone"), ("", "there are")):
        with pytest.raises(ValueError, match=word):
            defences_named(wrong)


def test_every_defence_says_what_it_does() -> None:
    for name, defence in DEFENCES.items():
        assert defence.name == name and defence.help.endswith(".") and len(defence.help) < 100 and defence.fits
        assert defence.judge is not None or defence.mend is not None or defence.rounds


def test_an_honest_population_loses_nobody() -> None:
    """2,708 people; a false alarm of 1e-3 is the chance that one of them at least is excluded by one defence."""
    n, epsilon = 2708, 3.0
    flip = RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability
    reports = reports_of(honest_rows(a_graph(n, 4, 1), flip, 2), epsilon)
    found = defend(defences_named("all"), reports, public(n), 1e-3)
    assert not found.flagged.any() and set(found.notes) == set(DEFENCES)


def test_flagged_people_are_silent_and_the_others_stay() -> None:
    n, epsilon = 300, 3.0
    rows = honest_rows(a_graph(n, 5, 1), RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability, 2)
    rows[:15] = True
    np.fill_diagonal(rows, False)
    found = defend(("weight",), reports_of(rows, epsilon), public(n), 1e-3)
    assert np.flatnonzero(found.flagged).tolist() == list(range(15)) and found.notes["weight"]["flagged"] == 15
    assert not found.reports.answered[:15].any() and found.reports.answered[15:].all()
    assert found.reports.adjacency is not None
    assert np.array_equal(found.reports.adjacency.toarray()[15:], rows[15:])


def test_colluders_go_before_they_can_frame_others() -> None:
    """A fifth of the people send one list at a small epsilon: alone, the tests of pairs would flag honest people."""
    n, epsilon = 1500, 1.0
    rows = honest_rows(a_graph(n, 4, 1), RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability, 2)
    rows[: n // 5] = np.arange(n) % 4 == 0
    np.fill_diagonal(rows, False)
    alone = defend(("weight",), reports_of(rows, epsilon), public(n), 1e-3)
    together = defend(defences_named("duplicates,weight,disagreement"), reports_of(rows, epsilon), public(n), 1e-3)
    assert alone.flagged[n // 5 :].any()
    assert together.flagged[: n // 5].mean() > 0.95 and not together.flagged[n // 5 :].any()

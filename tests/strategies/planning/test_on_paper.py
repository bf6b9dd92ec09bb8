from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from curator.methods import find
from strategies.estimate.graph_facts import GraphFacts
from strategies.estimate.traffic import miniature
from strategies.experiments.match_budgets import guarantee_before
from strategies.planning.on_paper import OnPaper
from strategies.runs.set_up import set_up
from strategies.setup.options import RunOptions

FACTS = GraphFacts(2000, features=60, words=6.0)


@pytest.fixture(scope="module")
def paper() -> OnPaper:
    return OnPaper(FACTS)


@pytest.mark.parametrize("method", ["hogs", "sbp", "lpgnn", "rgnn", "blink", "symrr", "ldpgen", "vote", "pate-m"])
def test_what_holds_on_paper_is_what_holds_with_people(paper: OnPaper, method: str) -> None:
    more = {"settings": {"queries": "40"}} if method == "pate-m" else {}
    options = RunOptions(method=method, out=None, device="cpu", **more)  # type: ignore[arg-type]
    found = paper.guarantee(paper.set_up(options))
    people = miniature(FACTS, FACTS.n, seed=4)
    truth = guarantee_before(set_up(options, population=people))
    assert found.to_dict()["holds"] == {
        name: {**entry, "value": entry["value"] if entry["value"] is None else pytest.approx(entry["value"], abs=2e-6)}
        for name, entry in truth.to_dict()["holds"].items()
    }


def test_a_hundred_million_people_take_no_memory_and_losses_grow_with_them() -> None:
    huge = OnPaper(replace(FACTS, n=10**8))
    tracemalloc.start()
    holds = huge.guarantee(huge.set_up(RunOptions(method="rr"))).holds
    assert huge.guarantee(huge.set_up(RunOptions(method="ldp-fedavg"))).holds["user"].value is not None
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    assert holds["bit_adjacency"].value == 8 and holds["relationship"].value == 16
    assert holds["user"].private_value == pytest.approx(8 * (10**8 - 1))


def test_a_budget_is_solved_for_people_who_are_not_there() -> None:
    paper = OnPaper(replace(FACTS, n=10**6))
    found = paper.match(RunOptions(method="lp-and"), "user", 4.0)
    assert found.holds == pytest.approx(4.0, rel=1e-3) and found.options.epsilon == pytest.approx(4e-6, rel=1e-3)
    vote = paper.match(RunOptions(method="vote"), "user", 4.0)
    assert vote.options.epsilon == pytest.approx(4.0)


def test_the_private_part_is_solved_where_a_part_of_the_record_is_public(paper: OnPaper) -> None:
    found = paper.match(RunOptions(method="lpgnn"), "user", 2.0)
    assert found.of_reports and found.holds == pytest.approx(2.0, rel=1e-3)
    assert paper.match(RunOptions(method="fedavg-mlp"), "user", 2.0).reason.startswith("unprotected")
    assert find("fedavg-mlp").trust == "trusted curator"

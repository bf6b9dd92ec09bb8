from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from ldpsim.curator.methods import find
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.experiments.compare import guarantee_before
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions

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
    assert paper.match(RunOptions(method="fedavg-mlp"), "user", 2.0).reason.startswith("in clear")
    assert find("fedavg-mlp").spec.trust == "trusted curator"


def test_an_owner_has_the_full_numbers_of_people() -> None:
    paper = OnPaper(replace(FACTS, n=10**6))
    owner = paper._in_full(paper.set_up(RunOptions(method="pate-m")))
    split = owner.repeats[0].split
    assert [len(part) for part in (split.train, split.val, split.test, split.private)] == [300_000, 0, 300_000, 400_000]
    assert replace(owner.population.facts, n=paper.sizes[0]) == paper.people[0].facts
    assert owner.population.facts.n == 10**6 and split.train.nbytes <= 8 * 10**6
    plain = paper.set_up(RunOptions(method="ldp-fedavg", label_rate=0.2))
    full, part = paper._in_full(plain).repeats[0].split, plain.repeats[0].split
    share = 10**6 / paper.sizes[0]
    assert [len(each) for each in (full.train, full.val, full.test)] == [
        round(share * len(each)) for each in (part.train, part.val, part.test)
    ]


def test_the_share_of_features_is_that_of_all_people() -> None:
    options = RunOptions(method="hogs")
    shares = []
    for n in (2000, 10**6):
        paper = OnPaper(replace(FACTS, n=n))
        setup = paper.set_up(options)
        people = miniature(replace(FACTS, n=min(n, 2000)), min(n, 2000), seed=1)
        if n == 2000:
            assert setup.budget.feature_share == pytest.approx(
                set_up(options, population=people).budget.feature_share, abs=0.021
            )
        shares.append(setup.budget.feature_share)
    given = OnPaper(FACTS).set_up(replace(options, feature_share=0.35)).budget
    assert given.feature_share == 0.35 and 0 <= min(shares)


@pytest.mark.parametrize(("more", "said"), [
    ({"classes": 1001}, "1,001 classes: a plan takes up to 1,000"),
    ({"features": 100_001}, "100,001 features: a plan takes up to 100,000"),
    ({"features": 9000, "words": 5000.6}, "5,001 features of a person that are not 0: a plan takes up to 5,000"),
])  # fmt: skip
def test_small_graphs_that_would_be_large_are_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OnPaper(replace(FACTS, n=10**6, **more))

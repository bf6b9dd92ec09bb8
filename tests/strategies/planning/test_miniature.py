from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices import datasets
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.planning.miniature import (
    bit_epsilon,
    kept_noise,
    of_a_bit,
    save,
    sizes_of,
    with_kept_noise,
)
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.setup.options import RunOptions

FACTS = GraphFacts(50_000, features=60, words=6.0)


def flip(epsilon: float) -> float:
    return 1 / (math.exp(epsilon) + 1)


@pytest.mark.parametrize("agreeing", [False, True])
def test_false_and_true_neighbours_keep_their_ratio(agreeing: bool) -> None:
    small = flip(kept_noise(9.0, 50_000, 1000, agreeing=agreeing))
    if agreeing:
        assert 1000 * small**1.5 == pytest.approx(50_000 * flip(9.0) ** 1.5)
        assert 50_000 * flip(9.0) ** 2 < 1000 * small**2 and 1000 * small < 50_000 * flip(9.0)
    else:
        assert 1000 * small == pytest.approx(50_000 * flip(9.0))


def test_rows_that_say_nothing_stay_so_and_stay_small() -> None:
    assert flip(kept_noise(1e-4, 10**8, 600, agreeing=False)) == pytest.approx(0.1)
    assert flip(kept_noise(1e-4, 10**8, 600, agreeing=True)) == pytest.approx(0.25)


@pytest.mark.parametrize("method", ["hogs", "sbp", "rr", "blink", "dprr", "fp-blink", "solitude", "ldpgcn"])
def test_the_row_gets_the_noise_of_everybody_and_the_rest_keeps_its_budget(method: str) -> None:
    paper = OnPaper(FACTS)
    setup = paper.set_up(RunOptions(method=method, epsilon=9.0))
    given = with_kept_noise(setup.options, setup, FACTS.n, 600)
    made = paper.set_up(given)
    whole, bit = of_a_bit(setup), of_a_bit(made)
    assert whole is not None and bit is not None
    agreeing = method in ("hogs", "sbp", "blink", "fp-blink")
    wanted = kept_noise(bit_epsilon(whole), FACTS.n, 600, agreeing=agreeing)
    assert bit_epsilon(bit) == pytest.approx(wanted, rel=1e-6)
    holds = [paper.guarantee(each).holds["bit_feature"].value for each in (setup, made)]
    assert holds[0] == holds[1]


@pytest.mark.parametrize("method", ["vote", "lpgnn", "ldpgen"])
def test_other_reports_keep_their_budget(method: str) -> None:
    setup = OnPaper(FACTS).set_up(RunOptions(method=method))
    assert with_kept_noise(setup.options, setup, FACTS.n, 600) == setup.options


@pytest.mark.parametrize(("facts", "people", "there", "sizes"), [
    (GraphFacts(599), None, None, (599,)), (GraphFacts(1199), None, None, (1199,)),
    (GraphFacts(1200), None, None, (1200, 600)), (GraphFacts(4799), None, None, (4799, 600)),
    (GraphFacts(4800), None, None, (4800, 2400, 600)), (GraphFacts(10**6), None, None, (10**6, 9600, 2400, 600)),
    (GraphFacts(10**6), 626, None, (626,)), (GraphFacts(10**6), 10**7, None, (10**6,)),
    (GraphFacts(300), 1, None, (240,)),
    (GraphFacts(10**6), None, 5000, (5000, 2400, 600)), (GraphFacts(400), None, 5000, (400,)),
    (GraphFacts(10**6), 700, 500, (500,)), (GraphFacts(10**6, classes=16), None, None, (10**6, 10_240, 2560, 640)),
    (GraphFacts(10**6, mean_degree=150.1), None, None, (10**6, 9616, 2404, 601)),
])  # fmt: skip
def test_the_sizes_of_a_rehearsal(
    facts: GraphFacts, people: int | None, there: int | None, sizes: tuple[int, ...]
) -> None:
    assert sizes_of(facts, people, there) == sizes


@pytest.mark.parametrize(("epsilon", "n", "size", "agreeing", "wanted"), [
    (8.0, 5000, 500, False, 10 / (math.exp(8) + 1)), (8.0, 4000, 500, True, 4 / (math.exp(8) + 1)),
    (1.0, 5000, 500, False, 0.1), (1.0, 5000, 500, True, 0.25), (800.0, 5000, 500, False, 10 / (math.exp(700) + 1)),
    (4.0, 500, 500, False, 1 / (math.exp(4) + 1)),
])  # fmt: skip
def test_the_share_of_flipped_bits_of_a_miniature(
    epsilon: float, n: int, size: int, agreeing: bool, wanted: float
) -> None:
    found = kept_noise(epsilon, n, size, agreeing=agreeing)
    assert found == pytest.approx(math.log((1 - wanted) / wanted), rel=1e-12)


def test_people_seeds_and_repeats_are_those_of_the_run() -> None:
    options = RunOptions(method="rr", epsilon=9.0, dataset="cora", split="file", repeats=3, seed=4)
    made = with_kept_noise(options, OnPaper(FACTS).set_up(options), FACTS.n, 600)
    assert made == replace(options, epsilon=None, eps_adjacency=made.eps_adjacency)


def test_a_saved_population_is_read_back_whole(tmp_path: Path) -> None:
    people = miniature(GraphFacts(60, features=20, classes=3, words=4.0), 60, seed=2)
    save(people, tmp_path / "a.npz")
    read = datasets.load(str(tmp_path / "a.npz"))
    assert read.facts == people.facts
    for name in ("edges", "labels", "feature_indptr", "feature_indices"):
        assert np.array_equal(getattr(read, name), getattr(people, name)), name


def test_as_many_people_as_there_are_need_no_other_noise() -> None:
    setup = OnPaper(FACTS).set_up(RunOptions(method="rr", epsilon=9.0))
    assert (
        with_kept_noise(setup.options, setup, 600, 600) is setup.options
        and with_kept_noise(setup.options, setup, 600, 601) is setup.options
    )
    assert with_kept_noise(setup.options, setup, 601, 600) != setup.options
    mechanism = of_a_bit(setup)
    assert mechanism is not None and bit_epsilon(mechanism) == mechanism.loss().bit == 9.0
    one_end = OnPaper(FACTS).set_up(RunOptions(method="hogs", epsilon=9.0, reporting="one-end"))
    given = with_kept_noise(one_end.options, one_end, FACTS.n, 600)
    made = of_a_bit(OnPaper(FACTS).set_up(given))
    whole = of_a_bit(one_end)
    assert made is not None and whole is not None and whole.reporting == "one-end"
    assert bit_epsilon(made) == pytest.approx(kept_noise(bit_epsilon(whole), FACTS.n, 600, agreeing=False), rel=1e-6)

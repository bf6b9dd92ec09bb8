from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from devices import datasets
from strategies.estimate.graph_facts import GraphFacts
from strategies.planning.miniature import bit_epsilon, kept_noise, make, miniature_size, of_a_bit, with_kept_noise
from strategies.planning.on_paper import OnPaper
from strategies.setup.options import RunOptions

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
    given = with_kept_noise(setup, FACTS.n, 600)
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
    assert with_kept_noise(setup, FACTS.n, 600) == setup.options


def test_a_file_has_the_made_up_people(tmp_path: Path) -> None:
    few = replace(FACTS, n=300)
    first, second = make(few, tmp_path, people=miniature_size(few), repeats=2)
    people = datasets.load(str(first))
    assert len(people) == miniature_size(few) == 300 and people.facts.classes == few.classes
    assert people.digest != datasets.load(str(second)).digest
    assert miniature_size(replace(FACTS, classes=40)) == 1600

"""A graded vote: its levels, its law, what one entry loses, and the questions that are refused.

It covers ``ldpsim.devices.mechanisms.scored_vote`` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import GradedVote
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.stacked_reports import stacked
from ldpsim.devices.query import Ask, Query

N = 6


def vote(**changed: Any) -> GradedVote:
    known = np.array([[0, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1]])
    given = {"probabilities": known, "epsilon": 3.0, "homophily": 0.6, "slope": 0.7, "own": False, **changed}
    return GradedVote.from_probabilities(**given)


def person(*neighbours: int) -> Record:
    return Record(np.zeros(0, np.int32), np.zeros(0, np.float32), np.array(neighbours, np.int32), 0)


def lists() -> list[tuple[int, ...]]:
    return [tuple(j + 1 for j, bit in enumerate(bits) if bit) for bits in product((0, 1), repeat=N - 1)]


def test_everybody_chooses_from_two() -> None:
    assert {vote().values_of(device) for device in range(N)} == {2}


def test_the_level_is_the_difference_of_the_scores_on_a_grid() -> None:
    asked = vote()
    nats = math.log((0.6 + 0.2) / 0.2)  # ln of (h + (1 - h) / C) / ((1 - h) / C)
    for near in lists():
        exact = nats * (sum(j <= 3 for j in near) - sum(j > 3 for j in near))
        level = asked.value_of(person(*near), device=0)
        assert abs(level - max(-128, min(128, 0.7 * exact / 3.0 * 128))) < 0.6


def test_the_chance_is_logistic_in_the_level(all_noise: Callable[..., Any]) -> None:
    asked = vote(levels=8)
    thresholds = asked.response(2).thresholds
    assert len(thresholds) == 17 and list(thresholds) == sorted(thresholds, reverse=True)
    for level in range(-8, 9):
        chance = 0.0
        for noise in all_noise(1):
            report = asked.perturb(level, noise)
            chance += float(noise.probability) * report
            assert math.exp(asked.log_probability(report, level)) == pytest.approx(float(noise.probability))
        assert chance == pytest.approx(1 / (1 + math.exp(3.0 * level / 8)), rel=1e-12)
        mean = chance * asked.estimate(1) + (1 - chance) * asked.estimate(0)
        assert mean == pytest.approx((2 * chance - 1) / (1 - 2 * asked.lie / ONE))


@pytest.mark.parametrize("slope", [0.1, 0.7, 5.0])
@pytest.mark.parametrize("levels", [8, 128])
def test_losses_by_enumerating_every_list(slope: float, levels: int) -> None:
    """No pair of lists loses more than is said; the worst list, and for an entry the last level but one, attain it."""
    asked = vote(slope=slope, levels=levels)
    claimed, values = asked.loss(), {near: asked.value_of(person(*near), device=0) for near in lists()}
    law = {near: [asked.log_probability(report, value) for report in (0, 1)] for near, value in values.items()}
    entry = whole = 0.0
    for one, other in product(values, repeat=2):
        ratio = max(abs(a - b) for a, b in zip(law[one], law[other], strict=True))
        whole = max(whole, ratio)
        if len(set(one) ^ set(other)) == 1:
            entry = max(entry, ratio)
    assert entry <= claimed.bit + 1e-9 and whole <= claimed.vector + 1e-9
    assert claimed.bit <= claimed.vector == pytest.approx(3.0, abs=1e-9)
    assert claimed.bit <= slope * math.log(4) + 2 * 3.0 / levels
    if slope > 1:
        assert whole == pytest.approx(claimed.vector) and entry == pytest.approx(math.log(ONE / 2 / asked.lie))
        known = np.array([[2, 1], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1]])  # one's own row lies half an entry off
        asked = vote(slope=slope, levels=levels, own=True, probabilities=known)
        ends = [asked.value_of(person(*near), device=0) for near in ((), (4,))]
        assert ends == [levels, -levels] and asked.loss().bit == asked.loss().vector
    else:
        # at level 0 the two candidates are equally likely; the steepest pair of the law begins at the end
        assert entry > 0.8 * (claimed.bit - 2 * 3.0 / levels)


def test_an_entry_loses_less_than_the_list() -> None:
    """Slope times ln(1 + h C / (1 - h)), as the page says, but for the grid."""
    gentle = vote(slope=0.1, epsilon=8.0)
    assert gentle.loss().vector == 8.0
    assert gentle.loss().bit == pytest.approx(0.1 * math.log(1 + 0.6 * 2 / 0.4), abs=2 * 8 / 128)
    assert vote(slope=50.0).loss().bit == vote().loss().vector


def test_reports_are_bytes() -> None:
    asked = vote()
    assert stacked(asked.stacker(5), {0: b"\1", 3: b"\0"}).tolist() == [1, -1, -1, 0, -1]
    with pytest.raises(ValueError, match="device 2"):
        stacked(asked.stacker(5), {2: b"\2"})
    query = Query("c", ((Ask("adjacency", (asked,)),),))
    assert Query.from_bytes(query.to_bytes()) == query and query.judging_steps == 12_900


@pytest.mark.parametrize("changed", [
    {"lie": 0}, {"lie": ONE // 2}, {"levels": 0}, {"levels": 129}, {"step": 0}, {"step": (1 << 32) + 1},
    {"table": "AAAA"}, {"affinity": (0, 1, 1, 0)}, {"reporting": "some"}, {"people": 7},
])  # fmt: skip
def test_invalid_questions_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(vote(), **changed)


@pytest.mark.parametrize("changed", [
    {"slope": 0.0}, {"slope": math.nan}, {"slope": math.inf}, {"homophily": 1.0}, {"epsilon": -1.0}, {"slope": 1e-9},
])  # fmt: skip
def test_no_question_is_made_of_impossible_values(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        vote(**changed)

"""The vote of a neighbourhood: the answer, its law, its loss, and the questions that are refused.

It covers ``ldpsim.devices.mechanisms.scored_vote`` too.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, NeighbourhoodVote
from ldpsim.devices.mechanisms.class_table import as_text
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.neighbourhood_vote import BestCandidate
from ldpsim.devices.mechanisms.scored_vote import PADDED
from ldpsim.devices.mechanisms.stacked_reports import stacked
from ldpsim.devices.noise import NoiseStream

RNG = np.random.default_rng(11)
Q = RNG.dirichlet(np.ones(4) / 2, 12)
H = 0.7


def person(*neighbours: int) -> Record:
    return Record(np.zeros(0, np.int32), np.zeros(0, np.float32), np.array(neighbours, np.int32), 0)


def vote(**changed: Any) -> NeighbourhoodVote:
    return NeighbourhoodVote.from_probabilities(**{
        "probabilities": Q, "epsilon": 2.0, "homophily": H, "candidates": 4, **changed
    })  # fmt: skip


def test_the_answer_is_the_best_class_of_the_formula() -> None:
    """In floating point, by the formula; lists whose best two classes the table cannot tell apart are left out."""
    asked, compared = vote(), 0
    floor = np.maximum(Q, Q.max(axis=1, keepdims=True) * math.exp(-254 / 16))
    for device, trial in product(range(12), range(40)):
        near = np.sort(np.random.default_rng([device, trial]).choice(12, trial % 6, replace=False))
        scores = np.log(floor[device]) + sum((np.log((1 - H) / 4 + H * Q[j]) for j in near if j != device), np.zeros(4))
        answer = asked.value_of(person(*near), device=device)
        first, second = np.sort(scores)[::-1][:2]
        if first - second > (len(near) + 1) / 16:
            compared += 1
            assert asked.ranked[device, answer.answer] == scores.argmax() and answer.values == 4
    assert compared > 300


def test_fewer_candidates_are_the_likeliest_classes() -> None:
    asked = vote(candidates=np.arange(12) % 3 + 2)
    for device in range(12):
        assert asked.candidates_of(device).tolist() == np.argsort(-Q[device])[: device % 3 + 2].tolist()
        near = person(*[j for j in range(12) if j != device])
        best = asked.value_of(near, device=device)
        full = vote()._evidence[[j for j in range(12) if j != device], :4].sum(axis=0) + vote()._read.own[device]
        assert best.answer == full[asked.candidates_of(device)].argmax() and best.values == device % 3 + 2


def test_ties_go_to_the_likelier_candidate_and_then_to_the_lower_class() -> None:
    asked = vote(probabilities=np.ones((3, 4)), candidates=3)
    assert asked.ranked.tolist() == [[0, 1, 2, 3]] * 3
    assert asked.value_of(person(0, 2), device=1) == BestCandidate(0, 3)


def test_unseen_is_the_last_value() -> None:
    q = Q.copy()
    q[[2, 5, 7]] = 0
    asked = vote(probabilities=q, unseen=True, own=False, candidates=2)
    assert [asked.value_of(person(*near), device=0).answer == 2 for near in ((), (2, 5), (2, 5, 7), (0,), (2, 3))] == [
        True, True, True, True, False,
    ]  # fmt: skip
    assert asked.values_of(0) == 3 and asked.loss() == GRR(asked.lie, 3).loss()


def test_without_own_row_and_with_an_affinity_only_the_list_counts() -> None:
    om = np.full((4, 4), 0.1)
    om[0, 3] = om[3, 0] = om[1, 2] = om[2, 1] = 1.0  # people link across: 0 with 3, 1 with 2
    asked = vote(probabilities=np.eye(4), own=False, homophily=None, affinity=om)
    for seen, meant in ((0, 3), (3, 0), (1, 2), (2, 1)):
        device = (seen + 1) % 4
        answer = asked.value_of(person(seen), device=device)
        assert asked.ranked[device, answer.answer] == meant


def test_one_end_reads_the_neighbours_before_the_device_alone() -> None:
    asked = vote(reporting="one-end")
    for device in range(12):
        before, after = list(range(device)), list(range(device + 1, 12))
        assert asked.value_of(person(*before, *after), device=device) == asked.value_of(person(*before), device=device)
        assert vote().value_of(person(*before), device=device) == asked.value_of(person(*before), device=device)


def test_whatever_the_list_nothing_is_raised() -> None:
    asked = vote()
    odd = asked.value_of(person(-7, 3, 3, 99, 2**31 - 1), device=3)
    assert odd == asked.value_of(person(0, 11, 11), device=3)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("unseen", [False, True])
def test_law_and_loss_of_every_width(epsilon: float, unseen: bool, all_noise: Callable[..., Any]) -> None:
    """Every draw of every answer: no width loses more than the widest, whose loss is the one that is printed."""
    asked = vote(epsilon=epsilon, unseen=unseen, candidates=np.arange(12) % 3 + 2)
    assert asked.loss().bit == asked.loss().vector == pytest.approx(epsilon, abs=1e-9)
    for device in range(3):
        values = asked.values_of(device)
        chances: dict[tuple[int, int], Fraction] = {}
        for answer in range(values):
            for noise in all_noise(1, values - 1):
                report = asked.perturb(BestCandidate(answer, values), noise)
                chances[answer, report] = chances.get((answer, report), Fraction(0)) + noise.probability
        for (answer, report), chance in chances.items():
            assert math.log(chance) == pytest.approx(
                asked.log_probability(report, BestCandidate(answer, values)), abs=1e-12
            )
        odds = chances[0, 0] / chances[1, 0]
        assert max(chances.values()) / min(chances.values()) == odds
        widest = Fraction((ONE - asked.lie) * (4 + unseen - 1), asked.lie)
        response = asked._responses[values]
        assert odds <= widest and odds == Fraction((ONE - response.lie) * (values - 1), response.lie)
        smaller = response.lie - 1  # one threshold less would lose more
        assert Fraction((ONE - smaller) * (values - 1), smaller) > widest or values == 4 + unseen
        assert asked.loss(device=device).bit <= asked.loss().bit


def test_estimates_are_unbiased(all_noise: Callable[..., Any]) -> None:
    asked = vote(candidates=3)
    mean = np.zeros(3)
    for noise in all_noise(1, 2):
        estimate = asked.estimate(asked.perturb(BestCandidate(1, 3), noise))
        mean += float(noise.probability) * estimate
    assert mean == pytest.approx([0, 1, 0])


def test_a_report_is_one_byte_and_silent_people_are_minus_one() -> None:
    asked = vote(candidates=np.array([2, 4] * 6))
    assert asked.encode(3) == b"\x03" and stacked(asked.stacker(6), {1: b"\x03", 4: b"\x01"}).tolist() == [
        -1,
        3,
        -1,
        -1,
        1,
        -1,
    ]
    with pytest.raises(ValueError, match="device 0"):
        stacked(asked.stacker(6), {0: b"\x02"})  # device 0 has two candidates


def test_any_list_up_to_the_padding_takes_the_same_path() -> None:
    """Equal arrays in every step: the time does not hang on the number of neighbours."""
    asked = vote(probabilities=np.tile(Q, (400, 1)))
    shapes = {asked.padded(1, np.arange(size, dtype=np.int32)).shape for size in (0, 1, 2, 2000, PADDED)}
    assert shapes == {(PADDED,)}
    assert asked.padded(1, np.arange(PADDED + 1)).shape == (2 * PADDED,)
    assert (asked._evidence[-1] == 0).all() and asked.padded(1, np.zeros(0, np.int32)).tolist() == [4800] * PADDED


def test_the_same_answers_in_any_order_of_the_sums() -> None:
    asked, lists = vote(probabilities=np.tile(Q, (400, 1))), np.random.default_rng(0)
    for device in range(30):
        near = lists.choice(4800, 1500, replace=False).astype(np.int32)
        answers = {asked.value_of(person(*lists.permutation(near)), device=device) for _ in range(4)}
        assert len(answers) == 1


def test_facts_must_agree() -> None:
    asked = vote()
    assert asked.agrees_with(PublicFacts(12, 3, 4))
    assert not asked.agrees_with(PublicFacts(13, 3, 4)) and not asked.agrees_with(PublicFacts(12, 3, 5))


@pytest.mark.parametrize("changed", [
    {"table": ""}, {"table": "AAAA"}, {"table": "!" * 64}, {"table": vote().table + "AAAA"},
    {"table": as_text(np.array([255, 0, 0, 0] * 12, np.uint8))}, {"people": 11}, {"people": 13}, {"people": 0},
    {"people": 1 << 62}, {"classes": 3}, {"classes": 1}, {"classes": 256}, {"candidates": 1}, {"candidates": 0},
    {"candidates": 5}, {"affinity": (0,) * 16}, {"affinity": (1,) * 15}, {"affinity": (1.0,) * 16},
    {"affinity": (1,) * 15 + ((1 << 16) + 1,)}, {"affinity": (True,) * 16}, {"lie": 0}, {"lie": ONE},
    {"lie": ONE // 4 * 3}, {"form": "half"}, {"reporting": "none"}, {"widths": "AAAA"},
    {"widths": as_text(np.full(12, 3, np.uint8))}, {"widths": as_text(np.array([1] + [4] * 11, np.uint8))},
    {"widths": as_text(np.array([5] + [4] * 11, np.uint8))},
])  # fmt: skip
def test_invalid_questions_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(vote(), **changed)


@pytest.mark.parametrize("changed", [
    {"homophily": 1.0}, {"homophily": -0.1}, {"homophily": math.nan}, {"homophily": None},
    {"affinity": np.ones((4, 4))}, {"homophily": None, "affinity": np.eye(4)},
    {"homophily": None, "affinity": np.full((4, 4), np.nan)}, {"homophily": None, "affinity": np.ones((3, 3))},
    {"probabilities": np.full((12, 4), np.nan)}, {"candidates": 1}, {"candidates": 5}, {"epsilon": 0.0},
    {"candidates": np.array([0] + [4] * 11)}, {"candidates": np.array([2, 3])}, {"epsilon": math.nan},
    {"candidates": np.array([300] + [4] * 11)},
])  # fmt: skip
def test_no_question_is_made_of_impossible_values(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        vote(**changed)


def test_a_table_that_tells_one_person_from_the_rest_is_right_as_often_as_grr() -> None:
    """ "Is she in your list?": 98 % at epsilon 4, 88 % at 2; the loss stays epsilon."""
    hostile = np.eye(2)[np.r_[0, np.ones(5, int)]]
    for epsilon, right in ((4.0, 0.982), (2.0, 0.881)):
        asked = vote(probabilities=hostile, epsilon=epsilon, candidates=2, homophily=0.99, own=False)
        inside, outside = (asked.value_of(person(*near), device=5) for near in ((0,), (1,)))
        assert inside != outside
        chance = math.exp(asked.log_probability(inside.answer, inside))
        assert chance == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon))) == pytest.approx(right, abs=5e-4)
        assert asked.loss().vector == epsilon


def test_isolated_people_answer_their_own_best_guess() -> None:
    asked = vote()
    for device in range(12):
        assert asked.value_of(person(), device=device) == BestCandidate(0, 4)
        assert len(asked.respond([person()], [NoiseStream(bytes(32))], devices=[device])[0]) == 1


def test_the_answers_are_the_same_for_ever() -> None:
    """Whole numbers alone: this digest holds on any processor, with any library for sums and with any threads."""
    draw = np.random.default_rng(7)
    table = as_text(draw.integers(0, 255, (300, 6)).astype(np.uint8))
    affinity = tuple(int(a) for a in draw.integers(1, (1 << 16) + 1, 36))
    asked = NeighbourhoodVote(
        lie=1 << 62, candidates=6, unseen=False, people=300, classes=6, table=table, affinity=affinity
    )
    answers = bytes(
        asked.value_of(person(*draw.choice(300, draw.integers(0, 60), replace=False)), device=device).answer
        for device in range(300)
    )
    assert hashlib.sha256(answers).hexdigest() == "4810a9ed71bc291cf3cf14dbf8d2b7568d2da1e6a8e7c68c636cac4031710def"

"""The vote of a neighbourhood: the answer, its law over lists, features and labels, its one loss, what is refused.

It covers ``ldpsim.devices.mechanisms.feature_model`` too.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.attacks.mechanism_audit import Effort, audit_mechanism
from ldpsim.devices.data.records import Record, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, NeighbourhoodVote
from ldpsim.devices.mechanisms.base64_text import as_text, from_text
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.feature_model import UNIT, FeatureModel
from ldpsim.devices.mechanisms.mechanism import one_value
from ldpsim.devices.mechanisms.neighbourhood_vote import PADDED, SATURATION
from ldpsim.devices.mechanisms.score_table import ScoreTable
from ldpsim.devices.noise import Noise
from tests.devices.mechanisms.one import respond

N, D, C, H = 12, 10, 4, 0.7
RNG = np.random.default_rng(11)
Q = RNG.dirichlet(np.ones(C) / 2, N)
MODEL = FeatureModel(RNG.integers(-UNIT, UNIT, (D, C)), RNG.integers(0, UNIT, C))


def person(*near: int, words: Any = (), label: int = 0) -> Record:
    columns = np.array(words, np.int32)
    return Record(columns, np.ones(len(columns), np.float32), np.array(near, np.int32), label)


def vote(**changed: Any) -> NeighbourhoodVote:
    return NeighbourhoodVote.from_probabilities(**{"probabilities": Q, "epsilon": 2.0, "homophily": H, **changed})


def ranked_class(asked: NeighbourhoodVote, record: Record, device: int) -> int:
    return int(asked.ranked[device, one_value(asked, record, device)])


@pytest.mark.parametrize("levels", [0, 1, 9])  # no features, words, numbers
def test_the_answer_is_the_best_class_of_the_formula(levels: int) -> None:
    """In floating point, by the formula; records whose best two classes the table cannot tell apart are left out."""
    asked, compared = vote(model=MODEL, levels=levels) if levels else vote(), 0
    floor = np.maximum(Q, Q.max(axis=1, keepdims=True) * math.exp(-254 / 16))
    for device, trial in product(range(N), range(40)):
        draw = np.random.default_rng([device, trial])
        near, words = draw.choice(N, trial % 6, replace=False), np.flatnonzero(draw.random(D) < 0.4)
        terms = [np.log(1 - H + H * C * Q[j]) for j in near if j != device]
        weight = SATURATION / (SATURATION + max(1, len(terms)) - 1)
        scores = np.log(floor[device]) + weight * sum(terms, np.zeros(C))
        if levels:
            length = math.sqrt(max(1, len(words))) if levels == 1 else 1 / levels
            scores = scores + (MODEL.means + MODEL.weights[words].sum(axis=0) / length) / UNIT
        first, second = np.sort(scores)[::-1][:2]
        if first - second > (len(near) + 1) / 16:
            compared += 1
            assert ranked_class(asked, person(*near, words=words), device) == scores.argmax()
    assert compared > 250


def test_fewer_candidates_are_the_likeliest_classes() -> None:
    asked = vote(candidates=2)
    for device in range(N):
        assert asked.ranked[device, :2].tolist() == np.argsort(-Q[device])[:2].tolist()
    assert {ranked_class(asked, person(j), 0) for j in range(1, N)} <= set(asked.ranked[0, :2].tolist())
    ties = vote(probabilities=np.ones((3, C)), candidates=3)
    assert ties.ranked.tolist() == [[0, 1, 2, 3]] * 3 and one_value(ties, person(0, 2), 1) == 0


def test_unseen_is_the_last_value() -> None:
    q = Q.copy()
    q[[2, 5, 7]] = 0
    asked = vote(probabilities=q, unseen=True, candidates=2)
    lists = ((), (2, 5), (2, 5, 7), (0,), (2, 3))
    assert [one_value(asked, person(*near), 0) == 2 for near in lists] == [True, True, True, True, False]
    assert asked.loss() == GRR(asked.lie, 3).loss()


def test_one_end_reads_the_neighbours_before_the_device_alone() -> None:
    asked = vote(reporting="one-end", model=MODEL)
    for device in range(N):
        before, after = list(range(device)), list(range(device + 1, N))
        both = one_value(asked, person(*before, *after, words=(1, 2)), device)
        assert both == one_value(asked, person(*before, words=(1, 2)), device)
        assert both == one_value(vote(model=MODEL), person(*before, words=(1, 2)), device)


def test_every_record_of_five_people_and_every_answer() -> None:
    """All lists with all rows of two features, or with all labels: epsilon is tight, and never exceeded."""
    rows = {row.level: row for row in audit_mechanism(NeighbourhoodVote, Effort(2000), stream=Noise)}
    assert set(rows) == {"bit", "vector", "law"} and all(row.passed for row in rows.values())
    assert all("walked through" in row.detail for row in rows.values())
    assert all(rows[level].exact == pytest.approx(rows[level].claimed, abs=1e-8) for level in ("bit", "vector"))


@pytest.mark.filterwarnings("ignore:overflow")  # of an infinite feature
@pytest.mark.parametrize("changed", [
    {}, {"unseen": True, "candidates": 2}, {"reporting": "one-end"}, {"model": MODEL},
    {"calibration": True}, {"model": MODEL, "levels": 255, "low": 0.5, "high": 0.75, "epsilon": 0.1},
])  # fmt: skip
def test_many_answer_at_once_as_one_by_one(changed: dict[str, Any]) -> None:
    """Also for columns that are given twice or are none, features that are no numbers, and nobody's neighbours."""
    asked, rng = vote(**changed), np.random.default_rng(3)
    strange = np.array([np.nan, np.inf, -np.inf, 0, 1, -1, 0.6], np.float32)
    records = []
    for _ in range(60):
        size = int(rng.integers(0, 9))
        records.append(Record(rng.integers(-2, D + 3, size).astype(np.int32), rng.choice(strange, size),
                              rng.integers(-2, N + 3, rng.integers(0, 9)).astype(np.int32),
                              int(rng.integers(-1, C + 1))))  # fmt: skip
    devices = (np.arange(60) % N).tolist()
    wanted = [one_value(asked, record, device) for record, device in zip(records, devices, strict=True)]
    assert len(set(wanted)) > 1
    assert asked.values(records_by_column(records), np.asarray(devices)).tolist() == wanted
    keys = [bytes([i]) * 32 for i in range(60)]
    alone = [respond(asked, r, key, d) for r, key, d in zip(records, keys, devices, strict=True)]
    assert asked.respond(records, Noise(keys), devices=devices) == alone and {len(data) for data in alone} == {1}


def test_a_lone_device_takes_the_same_path_whatever_its_data() -> None:
    """Equal arrays in every step up to the padding: the time does not hang on the number of neighbours or words."""
    asked = vote(probabilities=np.tile(Q, (400, 1)), model=MODEL)
    for size in (0, 1, 2000, PADDED, PADDED + 1):
        alone = records_by_column([person(*range(size), words=range(size % D))])
        people = asked.padded(alone, np.array([1]))
        assert people.neighbour_counts.tolist() == [PADDED if size <= PADDED else 2 * PADDED]
        assert people.feature_indices.tolist() == list(range(D)) and len(people) == 1


@pytest.mark.parametrize(("epsilon", "right"), [(4.0, 0.982), (2.0, 0.881)])
def test_a_hostile_table_or_model_is_right_as_often_as_grr(epsilon: float, right: float) -> None:
    """ "Is she in your list?", "do you have this word?": 98 % at epsilon 4, 88 % at 2; the loss stays epsilon."""
    weights = np.zeros((D, 2), np.int64)
    weights[3, 1] = 400 * UNIT
    of_a_word = FeatureModel(weights, np.zeros(2, np.int64))
    about_her = vote(
        probabilities=np.eye(2)[np.r_[0, np.ones(5, int)]], epsilon=epsilon, homophily=0.99, saturation=1 << 20
    )
    about_it = vote(probabilities=np.zeros((N, 2)), epsilon=epsilon, homophily=0.0, model=of_a_word)
    for asked, yes, no in ((about_her, person(0, 0, 0), person(1)),
                           (about_it, person(1, 2, words=(1, 3, 7)), person(1, 2, words=(1, 7)))):  # fmt: skip
        values = [one_value(asked, record, 5) for record in (yes, no)]
        assert values[0] != values[1] and asked.loss().vector == epsilon
        assert math.exp(asked.log_probability(values[0], values[0])) == pytest.approx(right, abs=5e-4)


def test_the_same_vote_at_another_epsilon() -> None:
    for example, _ in NeighbourhoodVote.audit_examples():
        other = example.with_epsilon(1.5)
        assert other.loss().vector == pytest.approx(1.5, abs=1e-9) and other.loss().vector <= 1.5
        assert other.with_epsilon(example.loss().vector) == example


@pytest.mark.parametrize(("classes", "homophily"), [(2, 0.8), (3, 0.8), (4, -0.5)])
def test_a_calibration_says_whether_the_list_speaks_for_the_own_label(classes: int, homophily: float) -> None:
    """By hand, for every label and every small list: against one other class that the number of the device names."""
    labels = np.arange(6) % classes
    asked = vote(probabilities=np.eye(classes)[labels], homophily=homophily, calibration=True)
    assert asked.reads == ("adjacency", "label") and asked.loss() == GRR(asked.lie, 2).loss()
    compared = 0
    for device, label in product(range(6), range(classes)):
        turn, shift = divmod(device, classes - 1)
        other = (label + 1 + shift) % classes
        for near in ((), (0,), (1, 2), (0, 1, 3), (0, 2, 3, 4, 5), (1, 1, 4)):
            friends = [labels[j] for j in near if j != device]
            ahead = (friends.count(label) - friends.count(other)) * (1 if homophily > 0 else -1)
            wanted = turn % 2 if ahead == 0 else int(ahead > 0)
            assert one_value(asked, person(*near, label=label), device) == wanted
            compared += ahead != 0
    assert compared > 20
    first = [one_value(asked, person(1, 2, label=label), 5) for label in (-1, classes, 0)]
    assert len(set(first)) == 1  # a label outside the domain counts as the first class


def test_facts_must_agree() -> None:
    of_numbers = vote(model=MODEL, levels=9)
    for asked in (vote(), vote(model=MODEL), of_numbers):
        assert asked.agrees_with(PublicFacts(N, D, C))
        assert not asked.agrees_with(PublicFacts(N + 1, D, C)) and not asked.agrees_with(PublicFacts(N, D, C + 1))
        assert asked.agrees_with(PublicFacts(N, D + 1, C)) == (asked.columns == 0)
    assert not of_numbers.agrees_with(PublicFacts(N, D, C, feature_high=2.0))


def test_the_numbers_of_a_model_stay_inside_64_bits_and_its_text_is_read_back() -> None:
    most = (1 << 31) - 1
    loud = FeatureModel(np.full((500, 2), [most, -most]), np.array([most, -most]))
    for words, levels in ((True, 1), (False, 255)):
        said = loud.scores(np.full((1, 500), levels), words=words)
        assert said.tolist() == [[most, -most]]
    again = FeatureModel.read(MODEL.as_text(), D, C)
    assert np.array_equal(again.weights, MODEL.weights) and np.array_equal(again.means, MODEL.means)
    with pytest.raises(ValueError, match="beyond 32 bits"):
        FeatureModel(np.full((1, 2), 1 << 31), np.zeros(2, np.int64)).as_text()


@pytest.mark.parametrize("changed", [
    {"table": ""}, {"table": "AAAA"}, {"table": "!" * 64}, {"table": vote().table + "AAAA"},
    {"table": as_text(from_text(vote().table)[::-1])}, {"people": N - 1}, {"people": N + 1},
    {"people": 0}, {"people": 1 << 62}, {"classes": 3}, {"classes": 1}, {"classes": 256}, {"candidates": 1},
    {"candidates": 0}, {"candidates": 5}, {"saturation": 0}, {"saturation": 1 << 21}, {"lie": 0}, {"lie": ONE},
    {"lie": ONE // 4 * 3}, {"reporting": "none"}, {"unseen": 1}, {"calibration": 1},
    {"calibration": True}, {"columns": D + 1}, {"columns": 0},
    {"columns": -1}, {"columns": 1 << 62}, {"model": ""}, {"model": "AAAA"}, {"levels": 0}, {"levels": 256},
    {"low": 1.0}, {"low": math.nan}, {"high": math.inf},
])  # fmt: skip
def test_invalid_questions_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(vote(model=MODEL), **changed)


@pytest.mark.parametrize("changed", [
    {"homophily": 1.1}, {"homophily": -1.1}, {"homophily": math.nan}, {"probabilities": np.full((N, C), np.nan)},
    {"candidates": 1}, {"candidates": 5}, {"epsilon": 0.0}, {"epsilon": math.nan},
])  # fmt: skip
def test_no_question_is_made_of_impossible_values(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        vote(**changed)


def test_the_answers_are_the_same_for_ever() -> None:
    """Whole numbers alone: this digest holds on any processor, with any library for sums and with any threads."""
    draw = np.random.default_rng(7)
    rows = draw.integers(-4000, 1000, (60, 12))
    table = ScoreTable.of(rows[:, :6], np.arange(300) % 60, rows[:, 6:]).as_text()
    model = FeatureModel(draw.integers(-1 << 20, 1 << 20, (400, 6)), np.zeros(6, np.int64))
    asked = NeighbourhoodVote(lie=1 << 62, people=300, classes=6, candidates=6, table=table, saturation=7,
                              columns=400, model=model.as_text())  # fmt: skip
    answers = bytes(
        one_value(
            asked, person(*draw.choice(300, draw.integers(0, 4), replace=False),
                   words=draw.choice(400, draw.integers(0, 80), replace=False)), device)
        for device in range(300)
    )  # fmt: skip
    assert len(set(answers)) == 6
    assert hashlib.sha256(answers).hexdigest() == "d5d1e2c70269e500cb03bf412323c34cce2105aa68adaa6910490b3535f90c19"

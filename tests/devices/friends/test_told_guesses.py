"""Guesses that friends tell: by hand on five people, with every share of tellers, one-sided friendships and no echo."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpsim.devices.data.records import Record, records_by_column
from ldpsim.devices.friends.told_guesses import Guesses, guess_levels, scores_of_levels, scores_with_told, whole_ln
from ldpsim.devices.mechanisms.feature_model import UNIT, FeatureModel
from ldpsim.devices.mechanisms.score_rows import affinity, score_table
from ldpsim.devices.prediction import DeviceModel

TABLE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.0, 0.0], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]])
SHARES = np.array([0.5, 0.3, 0.2])
LISTS = [(1, 3), (0, 2), (1, 3, 4), (0, 2), (2, 0)]  # person 4 lists person 0, who does not list 4
WORDS = [(0,), (0, 1), (1,), (2,), (2,)]
WEIGHTS, MEANS = np.array([[1.5, 0.0, -0.5], [0.0, 1.6, 0.2], [-0.3, 0.1, 1.9]]), np.array([0.1, 0.0, -0.2])
H, D = 0.6, 10
EVERYBODY = np.ones(5, np.bool_)


def people(lists: list[tuple[int, ...]] = LISTS, labels: tuple[int, ...] = (0, 1, 1, 2, 2)) -> list[Record]:
    return [
        Record(np.array(words, np.int32), np.ones(len(words), np.float32), np.array(sorted(near), np.int32), label)
        for words, near, label in zip(WORDS, lists, labels, strict=True)
    ]


def model_of(table: np.ndarray = TABLE, homophily: float = H) -> DeviceModel:
    friends = affinity(homophily, SHARES)
    features = FeatureModel(*(np.rint(UNIT * part).astype(np.int64) for part in (WEIGHTS, MEANS)))
    scores = score_table(table, friends, SHARES)
    return DeviceModel.of(scores, SHARES, features, saturation=D, friends=friends)


def own_by_hand(person: int) -> np.ndarray:
    return MEANS + WEIGHTS[list(WORDS[person])].sum(axis=0) / math.sqrt(len(WORDS[person]))


def of_friend(distribution: np.ndarray, homophily: float = H) -> np.ndarray:
    mixture = homophily * np.eye(3) + (1 - homophily) * SHARES
    return np.log(mixture @ (distribution / SHARES))


def list_by_hand(friends: list[list[np.ndarray]]) -> np.ndarray:
    """The sum over friends of all that is known of each: the row of the table, what it tells, or both."""
    terms = [of_friend(known) for friend in friends for known in friend]
    return D / (D + max(sum(map(bool, friends)), 1) - 1) * sum(terms, np.zeros(3))


def published(person: int) -> list[np.ndarray]:
    return [TABLE[person]] if TABLE[person].any() else []


def guess_by_hand(teller: int, friend: int, kind: str) -> np.ndarray:
    """The distribution of the levels: whole nats below the likeliest class, 7 at most."""
    scores = own_by_hand(teller)
    if kind != "features":
        scores = scores + list_by_hand([published(j) for j in LISTS[teller] if j != friend])
    weights = np.exp(-np.minimum(np.floor(scores.max() - scores + 0.5), 7))
    return weights / weights.sum()


@pytest.mark.parametrize("kind", ["guess", "features"])
@pytest.mark.parametrize("tellers", [(), (3,), (0, 3), (0, 1, 2, 3, 4)])
def test_five_people_by_hand(kind: str, tellers: tuple[int, ...]) -> None:
    """Whoever tells nothing is the row alone; person 4 reads the row alone of person 0, who does not list 4."""
    tells = np.isin(np.arange(5), tellers)
    found = scores_with_told(model_of(), records_by_column(people()), np.arange(5), tells, kind=kind) / UNIT
    believed = 0
    for person in range(5):
        friends = [published(friend) for friend in LISTS[person]]
        for friend, known in zip(LISTS[person], friends, strict=True):
            if tells[friend] and person in LISTS[friend]:
                known.append(guess_by_hand(friend, person, kind))
        own = own_by_hand(person)
        expected = own + list_by_hand(friends)
        believed += (alike := expected.max() >= own.max() - math.log(7 / 3))
        expected = expected if alike else own + list_by_hand([published(friend) for friend in LISTS[person]])
        assert found[person] - found[person].mean() == pytest.approx(expected - expected.mean(), abs=0.12)
    assert believed >= 3


def test_numbers_of_one_friend_by_hand() -> None:
    """Person 1 tells person 0 the levels 0, 0, 2.

    Its features give (1.161, 1.131, -.412), and of its other friend, person 2, nothing is known.
    Person 0 knows P = (65536, 65536, 8869) / 139941 = (.4683, .4683, .0634), and adds
    ln(.6 P / pi + .4) = ln(.9620, 1.3366, .5901).
    """
    everybody = records_by_column(people())
    guesses = Guesses.of(model_of(), everybody, np.arange(5))
    levels = guesses.levels(np.array([1]), np.array([0]))
    assert levels.tolist() == [[0, 0, 2]]
    steps = scores_of_levels(model_of(), levels)[0]
    assert steps / 256 == pytest.approx([-0.0388, 0.2901, -0.5274], abs=1 / 256)


def test_without_a_teller_the_scores_are_those_of_the_published_table() -> None:
    model, everybody = model_of(), records_by_column(people())
    found = scores_with_told(model, everybody, np.arange(5), ~EVERYBODY)
    assert np.array_equal(found, model.scores(everybody, np.arange(5)))


def test_a_guess_leaves_out_the_row_of_the_friend_who_gets_it() -> None:
    """No echo: whatever the table says of person 0, it hears the same from its friends; other friends do not."""
    everybody, tellers = records_by_column(people()), np.array([1, 3, 1, 3])
    friends = np.array([0, 0, 2, 2])
    told = []
    for row in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]):
        table = TABLE.copy()
        table[0] = row
        told.append(Guesses.of(model_of(table), everybody, np.arange(5)).levels(tellers, friends))
    assert np.array_equal(told[0][:2], told[1][:2]) and not np.array_equal(told[0][2:], told[1][2:])


def test_a_label_is_told_by_kind_label_alone_and_only_by_those_who_know_it() -> None:
    """Other labels of people who do not know theirs change nothing, and none changes another kind."""
    knowing = np.array([False, True, False, True, False])
    model, tellers, friends = model_of(), np.array([1, 3, 0]), np.array([2, 2, 1])

    def told(labels: tuple[int, ...], kind: str) -> list[list[int]]:
        everybody = records_by_column(people(labels=labels))
        guesses = Guesses.of(model, everybody, np.arange(5), kind=kind, knowing=knowing)
        return guesses.levels(tellers, friends).tolist()

    assert told((0, 1, 1, 2, 2), "label")[:2] == [[7, 0, 7], [7, 7, 0]]
    assert told((0, 1, 1, 2, 2), "label") == told((2, 1, 0, 2, 0), "label") != told((0, 2, 1, 2, 2), "label")
    for kind in ("guess", "features"):
        assert told((0, 1, 1, 2, 2), kind) == told((2, 2, 0, 0, 0), kind)
    assert told((0, 1, 1, 2, 2), "label")[2] == told((0, 1, 1, 2, 2), "guess")[2]  # person 0 does not know its label


def test_friends_who_are_unlike_are_not_believed() -> None:
    """Two friends are of class 1 and two of class 2, so they are not alike: the device predicts from the table.

    Of class 0 are its features. With the friends its best class has .4 in place of 1.6, which is more than .85 below.
    """
    lists = [(1, 2, 3, 4), (0,), (0,), (0,), (0,)]
    records = people(lists)
    against = [Record(np.array([word], np.int32), np.ones(1, np.float32), each.neighbours, 0)
               for word, each in zip((1, 1, 2, 2), records[1:], strict=True)]  # fmt: skip
    everybody = records_by_column([records[0], *against])
    unknown, alike = model_of(np.zeros((5, 3)), homophily=0.99), model_of(np.zeros((5, 3)), homophily=0.1)
    found = scores_with_told(unknown, everybody, np.arange(5), EVERYBODY)
    assert found[0].tolist() == unknown.scores(everybody, np.arange(5))[0].tolist() and found[0].argmax() == 0
    believed = scores_with_told(alike, everybody, np.arange(5), EVERYBODY)
    assert believed[0].tolist() != alike.scores(everybody, np.arange(5))[0].tolist()


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_many_people_are_each_as_alone(share: float) -> None:
    """Any order and any part of the devices: each value is that of the device alone with what its friends tell it."""
    rng = np.random.default_rng(7)
    n = 60
    lists = [np.sort(rng.choice(np.delete(np.arange(n), i), rng.integers(0, 30), replace=False)) for i in range(n)]
    records = [Record(np.array([i % 3], np.int32), np.ones(1, np.float32), near.astype(np.int32), 0)
               for i, near in enumerate(lists)]  # fmt: skip
    model, everybody = model_of(rng.dirichlet(np.ones(3), n)), records_by_column(records)
    tells = rng.random(n) < share
    together = scores_with_told(model, everybody, np.arange(n), tells)
    some = rng.permutation(n)[:9]
    assert np.array_equal(scores_with_told(model, everybody, some, tells), together[some])
    assert (together != model.scores(everybody, np.arange(n))).any()


def test_ids_that_nobody_has_raise_nothing() -> None:
    wild = Record(np.array([9], np.int32), np.ones(1, np.float32), np.array([-4, 2, 99], np.int32), 0)
    everybody = records_by_column([*people()[:4], wild])
    assert scores_with_told(model_of(), everybody, np.arange(5), EVERYBODY).shape == (5, 3)


def test_levels_and_logarithms() -> None:
    half = UNIT // 2
    assert guess_levels(np.array([[0, -half + 1, -half, -7 * UNIT, -99 * UNIT]])).tolist() == [[0, 0, 1, 7, 7]]
    numbers = np.array([1, 2, 3, 65535, 2**31 + 1, 2**45 + 12345, 2**53 - 1])
    assert whole_ln(numbers) / UNIT == pytest.approx(np.log(numbers), abs=1e-3)
    assert (np.diff(whole_ln(np.arange(1, 5000))) >= 0).all()

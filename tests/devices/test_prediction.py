"""A device's prediction of its own class: by hand on five people, alone or together, and from any text."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ldpsim.devices.data.records import Record, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.feature_model import UNIT, FeatureModel
from ldpsim.devices.mechanisms.score_rows import affinity, score_table
from ldpsim.devices.prediction import DeviceModel, largest_device_model

TABLE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.0, 0.0], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]])
SHARES = np.array([0.5, 0.3, 0.2])
LISTS = [(1, 3), (0,), (0, 1, 3, 4), (0, 2), ()]
WORDS = [(0,), (0, 1), (), (1,), (2,)]
WEIGHTS, MEANS = np.array([[1.5, 0.0, -0.5], [0.0, 1.0, 0.2], [-0.3, 0.1, 0.9]]), np.array([0.1, 0.0, -0.2])
H, D = 0.6, 10


def _records() -> list[Record]:
    return [
        Record(np.array(words, np.int32), np.ones(len(words), np.float32), np.array(near, np.int32), 0)
        for words, near in zip(WORDS, LISTS, strict=True)
    ]


def _model() -> FeatureModel:
    return FeatureModel(*(np.rint(UNIT * part).astype(np.int64) for part in (WEIGHTS, MEANS)))


def _device_model(table: np.ndarray = TABLE, model: FeatureModel | None = None, **more: object) -> DeviceModel:
    scores = score_table(table, affinity(H, SHARES), SHARES)
    return DeviceModel.of(scores, SHARES, model, saturation=D, **more)


def _by_hand(person: int, *, features: bool) -> list[float]:
    scores = [math.log(share) for share in SHARES]
    if features:
        length = math.sqrt(max(1, len(WORDS[person])))
        scores = [MEANS[c] + sum(WEIGHTS[k, c] for k in WORDS[person]) / length for c in range(3)]
    known = [friend for friend in LISTS[person] if TABLE[friend].any()]
    for friend in known:
        for c in range(3):
            ratio = (H * TABLE[friend][c] + (1 - H) * SHARES[c]) / SHARES[c]
            scores[c] += D / (D + len(known) - 1) * math.log(ratio)
    return scores


@pytest.mark.parametrize("features", [False, True])
def test_the_scores_of_five_people_are_those_by_hand(features: bool) -> None:
    model = _device_model(model=_model() if features else None)
    scores = model.scores(records_by_column(_records()), np.arange(5)) / UNIT
    for person in range(5):
        expected = np.array(_by_hand(person, features=features))
        found = scores[person]
        # the table's bytes are off by 1/32 nat a row; a constant of all classes says nothing
        assert np.allclose(found - found.mean(), expected - expected.mean(), atol=0.05 * (1 + len(LISTS[person])))
        assert model.classes_of(_records(), range(5))[person] == expected.argmax()


LEVELS, LOW, HIGH = 4, -1.0, 3.0
NUMBERS = [(-1.0, 0.0, 3.0), (0.4, 2.0, 1.0), (9.0, -9.0, 1.6), (3.0, 3.0, 3.0), (-1.0, -1.0, -1.0)]
WHOLE_NUMBERS = [(0, 1, 4), (1, 3, 2), (4, 0, 3), (4, 4, 4), (0, 0, 0)]  # the nearest of 0 to 4, steps of 1 from -1


def test_features_that_are_numbers_count_as_levels_of_their_range() -> None:
    """e_c = m_c + sum of A_kc x_k: no row is divided by its length, and 0 is no missing word."""
    people = [
        Record(np.arange(3, dtype=np.int32), np.array(row, np.float32), np.zeros(0, np.int32), 0) for row in NUMBERS
    ]
    model = _device_model(model=_model(), levels=LEVELS, low=LOW, high=HIGH)
    assert DeviceModel.read(model.as_text()).as_text() == model.as_text()
    expected = MEANS + np.array(WHOLE_NUMBERS) @ WEIGHTS
    found = model.scores(records_by_column(people), np.arange(5)) / UNIT
    assert found == pytest.approx(expected, abs=1e-3)
    assert model.classes_of(people, range(5)).tolist() == expected.argmax(axis=1).tolist() == [2, 1, 0, 0, 0]


def test_the_own_row_says_nothing_and_one_device_alone_names_the_same_class() -> None:
    model = _device_model(model=_model())
    together = model.classes_of(_records(), range(5))
    assert [model.classes_of([record], [i])[0] for i, record in enumerate(_records())] == together.tolist()
    for person in range(5):
        other = TABLE.copy()
        other[person] = [0.0, 0.0, 1.0]
        assert _device_model(other, _model()).classes_of(_records(), range(5))[person] == together[person]


def test_five_people_of_two_classes_that_meet_crosswise() -> None:
    """By hand: friends of class 1 speak for class 0 and the other way round, as the affinity says."""
    classes = np.eye(2)[[0, 0, 1, 1, 1]]
    crosswise, shares = np.array([[0.1, 0.9], [0.9, 0.1]]), np.array([0.4, 0.6])
    model = DeviceModel.of(score_table(classes, crosswise, shares), shares, saturation=D)
    nothing = np.zeros(0)
    given = [(2, 3), (3, 4), (0,), (0, 1, 2), ()]
    people = [Record(nothing.astype(np.int32), nothing.astype(np.float32), np.array(near), 0) for near in given]
    of_friend = np.log([[0.1 / 0.4, 0.9 / 0.4], [0.9 / 0.6, 0.1 / 0.6]])
    for person, near in enumerate(given):
        terms = [of_friend[int(friend > 1)] for friend in near]
        wanted = np.log(shares) + D / (D + max(1, len(near)) - 1) * sum(terms, np.zeros(2))
        found = model.scores([people[person]], [person])[0] / UNIT
        assert found == pytest.approx(wanted, abs=0.01)
    assert model.classes_of(people, range(5)).tolist() == [0, 0, 1, 1, 1]
    alike = DeviceModel.of(score_table(classes, affinity(0.8, shares), shares), shares, saturation=D)
    assert alike.classes_of(people, range(5)).tolist() == [1, 1, 0, 0, 1]


def test_ids_that_nobody_has_raise_nothing() -> None:
    wild = Record(np.array([9], np.int32), np.ones(1, np.float32), np.array([-4, 2, 99], np.int32), 0)
    assert _device_model(model=_model()).classes_of([wild], [2])[0] in range(3)


def test_a_device_model_is_read_back_and_other_texts_are_refused() -> None:
    model = _device_model(model=_model(), levels=7, low=-1.0, high=3.0)
    text = model.as_text()
    assert DeviceModel.read(text).as_text() == text
    said = json.loads(text)
    for name, value in (("saturation", 0), ("saturation", 1.0),
                        ("prior", [1, 0]), ("prior", [1, 0, 1 << 31]),
                        ("levels", 0), ("table", "AA=="), ("model", ""),
                        ("columns", 9), ("people", 7), ("people", 5.0), ("more", 1)):  # fmt: skip
        with pytest.raises(ValueError):
            DeviceModel.read(json.dumps({**said, name: value}))
    for name, value in (("prior", ["2048", "1229", "819"]), ("prior", [2048.5, 1228.5, 819]), ("low", "0"),
                        ("prior", [2048, True, 9]), ("prior", [2048, 1229, 10**400]), ("saturation", 10**400),
                        ("people", True)):  # fmt: skip
        with pytest.raises(ValueError) as caught:
            DeviceModel.read(json.dumps({**said, name: value}))
        assert "\n" not in str(caught.value)
    twice = text.replace('"levels": 7', '"levels": 1, "levels": 7')
    for other in ("", "[]", "{}", "3", twice, "[" * 10**6, '{"people":' * 10**6, text.replace("3.0", "1e400"), b"\xff"):
        with pytest.raises(ValueError) as caught:
            DeviceModel.read(other)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("n", "d", "classes"), [(1, 0, 2), (300, 40, 255), (4000, 7, 3), (70, 500, 2)])
def test_the_longest_device_model_about_these_people_fits_and_little_more(n: int, d: int, classes: int) -> None:
    """255 different rows, large scores and features: the bound leaves a fixed number of bytes beside."""
    rng = np.random.default_rng(n)
    model = FeatureModel(*(rng.integers(-(2**31) + 1, 2**31, shape) for shape in ((d, classes), (classes,))))
    table = score_table(rng.random((n, classes)), np.eye(classes))
    shares = np.append(np.full(classes - 1, 1e-13), 1.0)  # scores of seven digits and a sign
    model = DeviceModel.of(table, shares, model if d else None, saturation=D, friends=np.eye(classes))
    longest = largest_device_model(PublicFacts(n, d, classes))
    rows = 2 * 255 * classes  # fewer people have fewer rows
    assert len(model.as_text()) <= longest <= len(model.as_text()) + 2 * rows + 14 * classes + 2**16

"""A device's prediction of its own person's class, from what a curator has published. Nothing leaves the device.

The curator publishes a *device model*: a table of scores S of all people
(:mod:`ldpsim.devices.mechanisms.score_table`), and a linear model of features or, without one, scores of the classes.
Device i predicts the class of the largest

    e_c(features of i) + D / (D + m - 1) times the sum over friends j of S_j(c)

over its own true list, with m friends of whom something is known. Without a model e_c is the published score of the
class. A vote (:mod:`ldpsim.devices.mechanisms.neighbourhood_vote`) reports such a value under noise. The own row of the
table is not read: what is known of the person's report stands for the features and the list that the device has in
clear. All terms are whole numbers, so the class is the same on every machine.

The whole table travels, because asking for the friends' rows alone would reveal the list.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.data.records import Record, Records, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.foreign.strict_json import are_whole, read_json
from ldpsim.devices.mechanisms.base64_text import as_text, from_text
from ldpsim.devices.mechanisms.feature_model import LARGEST, MOST_LEVELS, UNIT, FeatureModel, whole_features
from ldpsim.devices.mechanisms.mechanism import dense_features
from ldpsim.devices.mechanisms.score_table import MOST_ROWS, MOST_SATURATION, ScoreTable

_DEVICES_AT_ONCE = 1024  # their features are dense
_FRAME_BYTES = 1 << 16  # of a device model's text: all but what grows with people, classes or features


def largest_device_model(facts: PublicFacts) -> int:
    """Return the bytes that the text of a device model about these people has at most; a longer one is not read."""
    table = 1 + 2 * MOST_ROWS * facts.classes + facts.n
    model = 4 * (facts.d + 1) * facts.classes
    prior = 3 + len(str(LARGEST))  # digits, sign, comma and space
    affinity = 4 * facts.classes**2
    return _FRAME_BYTES + 4 * (table + model + affinity) // 3 + prior * facts.classes


@dataclass(frozen=True, eq=False)
class DeviceModel:
    """Table of scores and model of features that a curator publishes.

    Args:
        people, classes, columns: Numbers of people, of classes, and of features that the model reads.
        table: The scores (``ScoreTable.as_text``).
        saturation: D.
        prior: int64 (classes,), in units of 2**-16 nats: scores of the classes where no model reads features.
        model: The model of features (``FeatureModel.as_text``); empty without columns.
        levels: 1 for words, up to 255 for features that are numbers.
        low, high: Public range of such features.
        affinity: H(c, k) / pi_k in 2**-16, as text, by which a device reads what friends tell
            (:mod:`ldpsim.devices.friends.told_guesses`); empty where friends tell nothing.

    Raises:
        ValueError: for anything else.

    >>> from ldpsim.devices.mechanisms.score_rows import affinity, score_table
    >>> shares, nobody = np.array([0.5, 0.5]), np.zeros(0)
    >>> table = score_table(np.eye(2)[[0, 0, 1]], affinity(0.8, shares), shares)
    >>> model = DeviceModel.of(table, shares, saturation=10)
    >>> alone = Record(nobody.astype(np.int32), nobody.astype(np.float32), np.array([0, 1]), 0)
    >>> model.classes_of([alone], [2]).tolist()  # person 2 lists persons 0 and 1
    [0]
    """

    people: int
    classes: int
    table: str = field(repr=False)
    saturation: int
    prior: IntArray
    columns: int = 0
    model: str = field(default="", repr=False)
    levels: int = 1
    low: float = 0.0
    high: float = 1.0
    affinity: str = field(default="", repr=False)
    score_table: ScoreTable = field(init=False, repr=False)
    feature_model: FeatureModel = field(init=False, repr=False)
    affinity_scores: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole = (self.people, self.classes, self.saturation, self.columns, self.levels)
        if not all(type(number) is int for number in whole):
            raise ValueError("the numbers of a device model are whole")
        if not 1 <= self.saturation <= MOST_SATURATION or self.prior.shape != (self.classes,):
            raise ValueError(f"a device model has a saturation of 1..{MOST_SATURATION}, and a score for each class")
        if np.abs(self.prior).max() > LARGEST:
            raise ValueError("a device model holds a number beyond 32 bits")
        if not (1 <= self.levels <= MOST_LEVELS and -np.inf < self.low < self.high < np.inf):
            raise ValueError(f"features have 1..{MOST_LEVELS} levels in a range, not {self.levels}")
        object.__setattr__(self, "score_table", ScoreTable.read(self.table, self.people, self.classes))
        object.__setattr__(self, "feature_model", FeatureModel.read(self.model, self.columns, self.classes))
        object.__setattr__(self, "affinity_scores", _read_affinity(self.affinity, self.classes))

    @staticmethod
    def of(
        table: ScoreTable, shares: DoubleArray, model: FeatureModel | None = None, *, saturation: int,
        friends: DoubleArray | None = None, **features: Any,
    ) -> DeviceModel:  # fmt: skip
        """Return the device model of this table.

        Args:
            table: The scores.
            shares: float64 (classes,): probabilities of the classes above 0, of any scale.
            model: The model of features; None: the shares stand in for features.
            saturation: D.
            friends: float64 (classes, classes): H, for what friends tell; None: the model says nothing of that.
            features: ``levels``, ``low`` and ``high`` of the features.
        """
        prior = np.rint(UNIT * np.log(shares / shares.sum())).astype(np.int64)
        columns, text = (0, "") if model is None else (len(model.weights), model.as_text())
        n, classes = len(table.codes), table.rows.shape[1]
        affinity = "" if friends is None else _affinity_text(friends, shares)
        return DeviceModel(n, classes, table.as_text(), saturation, prior, columns, text, affinity=affinity, **features)

    def is_about(self, facts: PublicFacts) -> bool:
        """Return whether the model is about people of these facts."""
        return (self.people, self.classes) == (facts.n, facts.classes) and self.columns in (0, facts.d)

    def classes_of(self, records: Sequence[Record] | Records, devices: Sequence[int] | IntArray) -> IntArray:
        """int64 (devices,): the class that each device names for its own person; of equal ones the first."""
        return np.asarray(self.scores(records, devices).argmax(axis=1), np.int64)

    def scores(
        self, records: Sequence[Record] | Records, devices: Sequence[int] | IntArray, *, lists: bool = True
    ) -> IntArray:
        """int64 (devices, classes): the value of each class, in units; without ``lists`` that of the features alone."""
        everybody, numbers = records_by_column(records), np.asarray(devices, np.int64)
        scores = np.empty((len(numbers), self.classes), np.int64)
        for start in range(0, len(numbers), _DEVICES_AT_ONCE):
            some = slice(start, start + _DEVICES_AT_ONCE)
            people = everybody[some]
            scores[some] = self._own_scores(people)
            if lists:
                scores[some] += self.score_table.list_scores(people, numbers[some], saturation=self.saturation)[0]
        return scores

    def _own_scores(self, people: Records) -> IntArray:
        """int64 (devices, classes): e of each device."""
        if not self.columns:
            return np.tile(self.prior, (len(people), 1))
        low, high = float(self.low), float(self.high)
        levels = whole_features(dense_features(people, self.columns), self.levels, low, high)
        return self.feature_model.scores(levels, words=self.levels == 1)

    def as_text(self) -> str:
        """Return the device model as JSON; :meth:`read` reads it back."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return json.dumps({**values, "prior": self.prior.tolist()})

    @staticmethod
    def read(text: str | bytes) -> DeviceModel:
        """Read :meth:`as_text` back; ValueError for any other text. :func:`largest_device_model` bounds it before."""
        try:
            values = read_json(text)
            if not are_whole(values["prior"]):
                raise ValueError("scores of classes are a list of whole numbers")
            return DeviceModel(**{**values, "prior": np.array(values["prior"], np.int64)})
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError("this is no device model of a curator") from error


def _affinity_text(friends: DoubleArray, shares: DoubleArray) -> str:
    ratios = np.rint(UNIT * friends * (shares.sum() / shares))
    return as_text(np.minimum(ratios, LARGEST).astype("<i4").view(np.uint8).ravel())


def _read_affinity(text: str, classes: int) -> IntArray:
    """int64 (classes, classes): H(c, k) / pi_k in 2**-16; without a text no rows. ValueError for any other text."""
    data = from_text(text).view(np.uint8)
    if text != "" and len(data) != 4 * classes * classes:
        raise ValueError(f"a text is no affinity of {classes} classes")
    ratios = data.view("<i4").reshape(-1, classes).astype(np.int64)
    if (ratios < 0).any():
        raise ValueError("an affinity is below 0")
    return ratios

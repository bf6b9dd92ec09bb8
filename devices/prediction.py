"""A device's prediction of its own person's class, from what a curator has published. Nothing leaves the device.

The curator publishes a *bundle*: a table of class distributions T_j of all people, a homophily h, class shares pi and
a linear model of features. Device i names the class of the largest

    e_c(features of i) + sum over j in N_i of ln((h T_j(c) + (1 - h) pi_c) / pi_c)

over its own true list N_i. A vote (:mod:`ldpsim.devices.mechanisms.neighbourhood_vote`) reports such a value under
noise. The own row of the table is not read: what is known of the person's report stands for the features and the list
that the device has in clear. All terms are whole numbers, so the class is the same on every machine.

The whole table travels, because asking for the neighbours' rows alone would reveal the list.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.data.population import Record, Records, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.foreign.strict_json import are_whole, read_json
from ldpsim.devices.mechanisms.base import dense_features
from ldpsim.devices.mechanisms.class_table import (
    MOST_LEVELS,
    MOST_ROWS,
    SHARES,
    WHOLE,
    ClassTable,
    FeatureModel,
    logarithm,
    spoken_for,
    table_text,
    whole_features,
)

_DEVICES_AT_ONCE = 1024  # their features are dense
_FRAME_BYTES = 1 << 16  # of a bundle's text: all but what grows with people, classes or features


def largest_bundle(facts: PublicFacts) -> int:
    """Return the bytes that the text of a bundle about these people has at most; a longer one is not read."""
    table = 1 + MOST_ROWS * facts.classes + facts.n
    model = 4 * (facts.d + 1) * facts.classes
    shares = 2 + len(str(SHARES))  # digits, comma and space
    return _FRAME_BYTES + 4 * (table + model) // 3 + shares * facts.classes


@dataclass(frozen=True, eq=False)
class Bundle:
    """Table, homophily and model of features that a curator publishes.

    Args:
        people, classes, columns: Numbers of people, of classes, and of features that the model reads.
        table: The class distributions (:func:`ldpsim.devices.mechanisms.class_table.table_text`).
        homophily: h in 2^-16.
        shares: int64 (classes,): pi in 2^-12.
        model: The model of features (``FeatureModel.as_text``); empty without columns.
        levels: 1 for words, up to 255 for features that are numbers.
        low, high: Public range of such features.

    Raises:
        ValueError: for anything else.

    >>> bundle = Bundle.of(np.eye(2)[[0, 0, 1]], np.array([0.5, 0.5]), 0.8)
    >>> nobody = np.zeros(0)
    >>> alone = Record(nobody.astype(np.int32), nobody.astype(np.float32), np.array([0, 1]), 0)
    >>> bundle.classes_of([alone], [2]).tolist()  # person 2 lists persons 0 and 1
    [0]
    """

    people: int
    classes: int
    table: str = field(repr=False)
    homophily: int
    shares: IntArray
    columns: int = 0
    model: str = field(default="", repr=False)
    levels: int = 1
    low: float = 0.0
    high: float = 1.0
    class_table: ClassTable = field(init=False, repr=False)
    feature_model: FeatureModel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole = (self.people, self.classes, self.homophily, self.columns, self.levels)
        if not all(type(number) is int for number in whole):
            raise ValueError("the numbers of a bundle are whole")
        if not (0 <= self.homophily < WHOLE and self.shares.shape == (self.classes,)):
            raise ValueError("a bundle has a homophily of 0 or more and below 1, and a share for each class")
        if not (self.shares.min() >= 1 and self.shares.max() <= SHARES):
            raise ValueError(f"a class share is a whole number 1..{SHARES}")
        if not (1 <= self.levels <= MOST_LEVELS and -np.inf < self.low < self.high < np.inf):
            raise ValueError(f"features have 1..{MOST_LEVELS} levels in a range, not {self.levels}")
        read = ClassTable.read(self.table, self.people, self.classes, self.homophily)
        object.__setattr__(self, "class_table", ClassTable(read.rows, read.codes, self.homophily, self.shares))
        object.__setattr__(self, "feature_model", FeatureModel.read(self.model, self.columns, self.classes))

    @staticmethod
    def of(
        probabilities: DoubleArray, shares: DoubleArray, homophily: float, model: FeatureModel | None = None,
        **features: Any,
    ) -> Bundle:  # fmt: skip
        """Return the bundle of these distributions.

        Args:
            probabilities: float64 (n, classes): T, rows of any scale; a row of zeros is an unknown person.
            shares: float64 (classes,): pi, of any scale.
            homophily: h; 0 or more, below 1.
            model: The model of features; None: features say nothing.
            features: ``levels``, ``low`` and ``high`` of the features.
        """
        n, classes = probabilities.shape
        whole = np.clip(np.rint(SHARES * shares / shares.sum()), 1, SHARES).astype(np.int64)
        columns, text = (0, "") if model is None else (len(model.weights), model.as_text())
        h = min(round(homophily * WHOLE), WHOLE - 1)
        return Bundle(n, classes, table_text(probabilities), h, whole, columns, text, **features)

    def classes_of(self, records: Sequence[Record] | Records, devices: Sequence[int] | IntArray) -> IntArray:
        """int64 (devices,): the class that each device names for its own person; of equal ones the first."""
        everybody, numbers = records_by_column(records), np.asarray(devices, np.int64)
        classes = np.empty(len(numbers), np.int64)
        for start in range(0, len(numbers), _DEVICES_AT_ONCE):
            some = slice(start, start + _DEVICES_AT_ONCE)
            classes[some] = self.scores(everybody[some], numbers[some]).argmax(axis=1)
        return classes

    def scores(self, people: Records, devices: IntArray) -> IntArray:
        """int64 (devices, classes): the value of each class, in units of 2**-16 nats."""
        scores = spoken_for(self.class_table, people, devices)[:, :-1]
        if not self.columns:
            return np.asarray(scores + logarithm(self.shares))
        low, high = float(self.low), float(self.high)
        levels = whole_features(dense_features(people, self.columns), self.levels, low, high)
        return np.asarray(scores + self.feature_model.evidence(levels, words=self.levels == 1))

    def as_text(self) -> str:
        """Return the bundle as JSON; :meth:`read` reads it back."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return json.dumps({**values, "shares": self.shares.tolist()})

    @staticmethod
    def read(text: str | bytes) -> Bundle:
        """Read :meth:`as_text` back; ValueError for any other text. :func:`largest_bundle` bounds it before."""
        try:
            values = read_json(text)
            if not are_whole(values["shares"]):
                raise ValueError("class shares are a list of whole numbers")
            return Bundle(**{**values, "shares": np.array(values["shares"], np.int64)})
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError("this is no bundle of a curator") from error

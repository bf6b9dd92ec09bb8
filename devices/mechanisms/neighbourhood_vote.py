"""A vote: one small report about the whole list of friends, and about the own features where a model of them is public.

The curator publishes a table of scores (:mod:`ldpsim.devices.mechanisms.score_table`): S_j(c) is what friend j adds to
class c, and where class distributions Q_j of people without a report are public, ln Q_i(c) is what a person has of
itself. Where features are private it publishes a model of them (:mod:`ldpsim.devices.mechanisms.feature_model`). From
these and from its own data alone device i computes

    s_c = ln Q_i(c) + e_c(features of i) + D / (D + m - 1) times the sum over friends j of S_j(c),

where m friends are known. A friend of whom nothing is known adds nothing. The device has w candidates, the w classes
that are likeliest by its own row. It reports the place of the best one through generalised randomised response (GRR)
with w values. Where ``unseen``, "nothing is known about any of my friends" is one more value.

With ``calibration`` the device, which knows its own label y, reports in place of this whether its list speaks more for
y than for one other class: 1 where the list's score of y is larger than that of class (y + 1 + i mod (C - 1)) mod C,
and (i div (C - 1)) mod 2 where both are equal. So without any relation between friends about a half of the reports
is 1, and the curator learns how much friends are alike from a few people, who send neither list nor label.

All that is read does no more than choose one value. So GRR's epsilon is the loss of one entry of the list, of one
feature, and of the whole record alike, for any table and any model. A report about several attributes is entered in
the ledger under each, as one release. Table and model may be hostile, and ask "is she in your list?": the report is
then right with probability e^eps / (e^eps + w - 1), as often as GRR's.

Every term is a whole number, so the report is the same in any order and on every machine. Fewer than eight devices
pad their lists to a multiple of 2,048 entries: up to that length the time depends neither on the number of friends
nor on the number of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import DoubleArray, FloatArray, IntArray
from ldpsim.devices.data.records import Record, Records, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.categories import GRR
from ldpsim.devices.mechanisms.codecs import pack_numbers, unpack_numbers
from ldpsim.devices.mechanisms.exact_loss import probability_threshold
from ldpsim.devices.mechanisms.feature_model import MOST_LEVELS, UNIT, UNIT_BITS, FeatureModel, whole_features
from ldpsim.devices.mechanisms.mechanism import Grouping, Mechanism, Reporting, dense_features
from ldpsim.devices.mechanisms.score_rows import affinity, score_table
from ldpsim.devices.mechanisms.score_table import MOST_CLASSES, MOST_SATURATION, STEP_BITS, ScoreTable
from ldpsim.devices.noise import Noise

FEW = 8  # fewer devices than so many take as long whatever their lists are
PADDED = 2048  # entries to which a list is padded
SATURATION = 10  # measured: of 1/D = 0, .03, .1 and .3 the one that loses least on graphs of like and of unlike friends


@dataclass(frozen=True, kw_only=True)
class NeighbourhoodVote(Mechanism):
    """Report the class that friends and features speak for, as a place among the candidates.

    ``value`` and ``report``: an integer 0 .. number of values - 1, in one byte.

    Args:
        lie: 64-bit threshold of the probability that another value is reported.
        people: Number of people n.
        classes: Number of classes C, 2 .. 255.
        table: The scores of all people (``ScoreTable.as_text``), with scores of people for themselves.
        saturation: D.
        candidates: Number w of candidates of everybody.
        unseen: Whether "nothing is known about any of my friends" is one more value, the last.
        reporting: ``both`` reads the whole list, ``one-end`` the friends before the device.
        columns: Number of features d where there is a model; 0: no feature is read.
        model: The model of features (``FeatureModel.as_text``).
        levels: 1 for words, up to 255 for features that are numbers.
        low, high: Public range of such features.
        calibration: Whether the report says if the list speaks for the own label, in place of the class; it reads
            no feature.

    Raises:
        ValueError: for anything that is not of this form, or a number of values below 2.

    >>> vote = NeighbourhoodVote.from_probabilities(np.eye(3), 1.0, homophily=0.8, candidates=2)
    >>> vote.loss(), vote.reads, vote.ranked[1, :2].tolist()
    (Loss(bit=1.0, vector=1.0, delta=0.0), ('adjacency',), [1, 0])
    """

    lie: int
    people: int
    classes: int
    table: str
    saturation: int
    candidates: int
    unseen: bool = False
    reporting: Reporting = "both"
    columns: int = 0
    model: str = ""
    levels: int = 1
    low: float = 0.0
    high: float = 1.0
    calibration: bool = False

    name: ClassVar[str] = "neighbourhood_vote"
    version: ClassVar[int] = 2  # 1 had probabilities in the table, and a homophily beside it
    reads: ClassVar[tuple[str, ...]] = ("adjacency",)
    field: ClassVar[str] = "votes"
    # Parameters that the answers of others decide. A curator's terms leave them open, and state the loss.
    unpinned_parameters: ClassVar[frozenset[str]] = frozenset({"table", "model", "levels", "low", "high"})

    def __post_init__(self) -> None:
        if self.reporting not in ("both", "one-end") or not {type(self.unseen), type(self.calibration)} == {bool}:
            raise ValueError("a vote is of both or one-end; unseen and calibration are true or false")
        if self.people < 1 or not 2 <= self.classes <= MOST_CLASSES:
            raise ValueError(f"a vote needs people and 2..{MOST_CLASSES} classes, not {self.people}, {self.classes}")
        if not 1 <= self.saturation <= MOST_SATURATION:
            raise ValueError(f"a saturation must be 1..{MOST_SATURATION}, not {self.saturation}")
        if self.calibration and (self.columns or self.unseen or self.model):
            raise ValueError("a calibration is about the list and the label alone")
        if not 2 - self.unseen <= self.candidates <= self.classes:
            raise ValueError(f"{self.candidates} candidates of {self.classes} classes leave nothing to choose from")
        if not (1 <= self.levels <= MOST_LEVELS and -np.inf < self.low < self.high < np.inf):
            raise ValueError(f"features have 1..{MOST_LEVELS} levels in a range, not {self.levels}")
        more = ("features",) * (self.columns > 0) + ("label",) * self.calibration
        object.__setattr__(self, "reads", (*type(self).reads, *more))
        _ = self.score_table, self._model, self._response  # before anybody's data are read

    @classmethod
    def from_probabilities(
        cls, probabilities: FloatArray, epsilon: float, *, homophily: float, saturation: int = SATURATION,
        shares: DoubleArray | None = None, candidates: int | None = None, model: FeatureModel | None = None,
        **more: Any,
    ) -> NeighbourhoodVote:  # fmt: skip
        """Return the vote over these class distributions whose loss is at most ``epsilon``.

        Args:
            probabilities: float (n, classes), rows of any scale; a row of zeros is an unknown person.
            epsilon: Loss of the report.
            homophily: h of the affinity, -1 .. 1 (:func:`ldpsim.devices.mechanisms.score_rows.affinity`).
            saturation: D.
            shares: float64 (classes,): pi; None: all classes are alike.
            candidates: Number of candidates; None for all classes.
            model: The model of features; None: no feature is read.
            more: Further fields.

        Raises:
            ValueError: for impossible values.
        """
        n, classes = np.shape(probabilities)
        pi = np.ones(classes) if shares is None else shares
        table = score_table(probabilities, affinity(homophily, pi), pi, own=True)
        width = classes if candidates is None else candidates
        values = 2 if more.get("calibration") else width + more.get("unseen", False)
        features: dict[str, Any] = {} if model is None else {"columns": len(model.weights), "model": model.as_text()}
        return cls(
            lie=probability_threshold(epsilon, values - 1), people=n, classes=classes, table=table.as_text(),
            saturation=saturation, candidates=width, **features, **more,
        )  # fmt: skip

    @classmethod
    def audit_examples(cls) -> list[tuple[Mechanism, PublicFacts]]:
        """Return small votes: of the list alone, with small and large weights, extreme weights, and a calibration."""
        q = np.array([[3, 1, 0], [0, 0, 0], [1, 6, 1], [0, 1, 4], [2, 2, 3]])
        sparse = q * [[1], [0], [1], [1], [0]]
        weights = np.array([[0, UNIT // 2, 0], [0, 0, UNIT // 2]])
        small, large = (FeatureModel(times * weights, np.full(3, UNIT // 3)) for times in (1, 400))
        word = FeatureModel(20 * weights * [[1], [0]], np.zeros(3, np.int64))
        votes = [
            cls.from_probabilities(q, 1.0, homophily=0.7),
            cls.from_probabilities(q, 1.0, homophily=0.7, candidates=1, unseen=True, reporting="one-end"),
            cls.from_probabilities(np.eye(3)[[0, 1, 1, 1, 1]], 4.0, homophily=0.99, candidates=2),
            cls.from_probabilities(sparse, 1.0, homophily=0.7, model=small),
            cls.from_probabilities(q, 3.0, homophily=0.3, model=large, reporting="one-end"),
            cls.from_probabilities(np.zeros((5, 3)), 4.0, homophily=0.0, model=word),
            cls.from_probabilities(sparse, 1.0, homophily=0.7, model=small, levels=2),
            cls.from_probabilities(sparse, 1.0, homophily=0.7, calibration=True),
            cls.from_probabilities(q, 2.0, homophily=-0.5, saturation=1, reporting="one-end", calibration=True),
        ]
        return [(vote, PublicFacts(5, 2, 3)) for vote in votes]

    def with_epsilon(self, epsilon: float) -> NeighbourhoodVote:
        """Return the same vote with a loss of at most ``epsilon``."""
        return replace(self, lie=probability_threshold(epsilon, self.choices - 1))

    def agrees_with(self, facts: PublicFacts) -> bool:
        ranged = self.levels == 1 or (self.low, self.high) == (facts.feature_low, facts.feature_high)
        same = (self.people, self.classes) == (facts.n, facts.classes)
        return same and ranged and self.columns in (0, facts.d)

    @property
    def choices(self) -> int:
        """Number of values that a device chooses from: two, or the candidates and "unseen" where that is one."""
        return 2 if self.calibration else self.candidates + self.unseen

    @cached_property
    def ranked(self) -> NDArray[np.uint8]:
        """uint8 (n, classes): the classes of each person, the likeliest by the own row first, ties by number."""
        own = self.score_table.own
        assert own is not None
        return np.argsort(-own, axis=1, kind="stable").astype(np.uint8)[self.score_table.codes]

    @cached_property
    def score_table(self) -> ScoreTable:
        """The table."""
        return ScoreTable.read(self.table, self.people, self.classes, own=True)

    @cached_property
    def _model(self) -> FeatureModel:
        return FeatureModel.read(self.model, self.columns, self.classes)

    @cached_property
    def _response(self) -> GRR:
        return GRR(self.lie, self.choices)

    @property
    def width(self) -> int:
        return 1 + self.columns

    def padded(self, people: Records, devices: IntArray) -> Records:
        """Return the records with lists of a multiple of 2,048 entries each, and all features spelled out."""
        columns, padded = np.arange(self.columns, dtype=np.int32), []
        dense = dense_features(people, self.columns) if self.columns else np.zeros((len(people), 0), np.float32)
        for record, device, values in zip(people, devices.tolist(), dense, strict=True):
            near = np.full(PADDED * max(1, -(-len(record.neighbours) // PADDED)), device)  # its own number is left out
            near[: len(record.neighbours)] = record.neighbours
            padded.append(Record(columns, values, near, record.label))
        return records_by_column(padded)

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> IntArray:
        """int64 (devices,): the value of each. The time depends on their lists, unless they are few devices."""
        if len(devices) < FEW:
            people = self.padded(people, devices)
        if self.calibration:
            return self._speaks_for_label(people, devices)
        scores, known = self.scores(people, devices)
        candidates = self.ranked[devices, : self.candidates].astype(np.int64)
        best = np.take_along_axis(scores, candidates, axis=1).argmax(axis=1)  # ties: the likelier candidate
        return np.asarray(np.where(self.unseen & (known == 0), self.choices - 1, best))

    def scores(self, people: Records, devices: IntArray) -> tuple[IntArray, IntArray]:
        """Return int64 (devices, classes), in units, and the number of friends who are known, int64 (devices,).

        Nothing is raised, whatever the data.
        """
        scores, known = self._list_scores(people, devices)
        own = self.score_table.own
        assert own is not None
        scores = scores + (own[self.score_table.codes[devices]] << UNIT_BITS - STEP_BITS)
        if self.columns:
            levels = whole_features(dense_features(people, self.columns), self.levels, self.low, self.high)
            scores += self._model.scores(levels, words=self.levels == 1)
        return scores, known

    def _list_scores(self, people: Records, devices: IntArray) -> tuple[IntArray, IntArray]:
        one_end = self.reporting == "one-end"
        return self.score_table.list_scores(people, devices, saturation=self.saturation, one_end=one_end)

    def _speaks_for_label(self, people: Records, devices: IntArray) -> IntArray:
        """int64 (devices,): 1 where the list's score of the own label is above that of one other class, else 0."""
        scores, _ = self._list_scores(people, devices)
        turn, shift = np.divmod(devices, self.classes - 1)
        labels = np.asarray(people.labels, np.int64)
        labels = np.where((labels >= 0) & (labels < self.classes), labels, 0)  # as in every mechanism about labels
        each = np.arange(len(devices))
        ahead = scores[each, labels] - scores[each, (labels + 1 + shift) % self.classes]
        return np.asarray(np.where(ahead == 0, turn % 2, ahead > 0).astype(np.int64))

    def draw(self, values: IntArray, noise: Noise) -> IntArray:
        return self._response.draw(values, noise)

    def encode(self, reports: IntArray, devices: IntArray) -> list[bytes]:
        return pack_numbers(reports, "u1")

    def decode(self, data: Sequence[bytes], devices: IntArray) -> IntArray:
        return unpack_numbers(data, "u1", self.choices)

    def log_probability(self, report: int, value: int) -> float:
        return self._response.log_probability(report, value)

    def estimate(self, report: int) -> FloatArray:
        """Return the response's unbiased estimate."""
        return self._response.estimate(report)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return self._response.loss_of(changed)

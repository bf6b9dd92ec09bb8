"""A vote: one small answer about the whole neighbour list, and about the own features where a model of them is public.

The curator publishes a class distribution Q_j of every person (:mod:`class_table`), a homophily h, and where features
are private a model of them (:mod:`feature_model`). From these and from its own data alone device i computes

    s_c = ln Q_i(c) + e_c(features of i) + sum over j in N_i of ln((1 - h) / C + h Q_j(c)).

A person of whom nothing is known adds nothing. The device has w candidates, the w classes that are likeliest by its
own row. It reports the place of the best one through generalised randomised response (GRR) with w values. Where
``unseen``, "nothing is known about any of my neighbours" is one more value. With ``agreement`` it says in place of
this whether the best class is its own label. From some such answers a curator learns how often a vote is right, and
nobody has to give label and vote.

All that is read does no more than choose one value. So GRR's epsilon is the loss of one entry of the list, of one
feature, and of the whole record alike, for any table and any model. An answer about several attributes is entered in
the ledger under each, as one release. Table and model may be hostile, and ask "is she in your list?": the answer is
then right with probability e^eps / (e^eps + w - 1), as often as GRR's.

Every term is a whole number, so the answer is the same in any order and on every machine. Fewer than eight devices
pad their lists to a multiple of 2,048 entries: up to that length the time depends neither on the number of neighbours
nor on the number of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.data.population import Record, Records, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.base import DrawnTogether, Grouping, Mechanism, Reporting, dense_features
from ldpsim.devices.mechanisms.class_table import (
    MOST_CLASSES,
    MOST_LEVELS,
    UNIT,
    WHOLE,
    ClassTable,
    FeatureModel,
    spoken_for,
    table_text,
    whole_features,
)
from ldpsim.devices.mechanisms.exact_loss import probability_threshold
from ldpsim.devices.mechanisms.labels import GRR
from ldpsim.devices.mechanisms.stacked_reports import Filled, ReportStack, one_by_one
from ldpsim.devices.noise import NoiseStream

PADDED = 2048  # entries to which a list is padded


@dataclass(frozen=True, kw_only=True)
class NeighbourhoodVote(DrawnTogether):
    """Report the class that one's neighbours and features speak for, as a place among one's candidates.

    ``value`` and ``report``: an integer 0 .. number of values - 1, in one byte.

    Args:
        lie: 64-bit threshold of the probability that another value is reported.
        people: Number of people n.
        classes: Number of classes C, 2 .. 255.
        table: The class distributions of all people (:func:`class_table.table_text`).
        homophily: h in 2^-16.
        candidates: Number w of candidates of everybody.
        unseen: Whether "nothing is known about any of my neighbours" is one more value, the last.
        reporting: ``both`` reads the whole list, ``one-end`` the neighbours before the device.
        columns: Number of features d where there is a model; 0: no feature is read.
        model: The model of features (``FeatureModel.as_text``).
        levels: 1 for words, up to 255 for features that are numbers.
        low, high: Public range of such features.
        agreement: Whether the report says if the best class is the own label, in place of the class.

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
    homophily: int
    candidates: int
    unseen: bool = False
    reporting: Reporting = "both"
    columns: int = 0
    model: str = ""
    levels: int = 1
    low: float = 0.0
    high: float = 1.0
    agreement: bool = False

    name: ClassVar[str] = "neighbourhood_vote"
    reads: ClassVar[tuple[str, ...]] = ("adjacency",)
    field: ClassVar[str] = "votes"
    # Parameters that the answers of others decide. A curator's terms leave them open, and state the loss.
    by_answers: ClassVar[frozenset[str]] = frozenset({"table", "model", "levels", "low", "high"})

    def __post_init__(self) -> None:
        if self.reporting not in ("both", "one-end") or not {type(self.unseen), type(self.agreement)} == {bool}:
            raise ValueError("a vote is of both or one-end; unseen and agreement are true or false")
        if self.people < 1 or not 2 <= self.classes <= MOST_CLASSES:
            raise ValueError(f"a vote needs people and 2..{MOST_CLASSES} classes, not {self.people}, {self.classes}")
        if not 0 <= self.homophily < WHOLE:
            raise ValueError(f"a homophily must be 0 or more and below {WHOLE}, not {self.homophily}")
        if not 2 - self.unseen <= self.candidates <= self.classes:
            raise ValueError(f"{self.candidates} candidates of {self.classes} classes leave nothing to choose from")
        if not (1 <= self.levels <= MOST_LEVELS and -np.inf < self.low < self.high < np.inf):
            raise ValueError(f"features have 1..{MOST_LEVELS} levels in a range, not {self.levels}")
        more = ("features",) * (self.columns > 0) + ("label",) * self.agreement
        object.__setattr__(self, "reads", (*type(self).reads, *more))
        _ = self.classes_table, self._model, self._response  # before anybody's data are read

    @classmethod
    def from_probabilities(
        cls, probabilities: FloatArray, epsilon: float, *, homophily: float, candidates: int | None = None,
        model: FeatureModel | None = None, **more: Any,
    ) -> NeighbourhoodVote:  # fmt: skip
        """Return the vote over these class distributions whose loss is at most ``epsilon``.

        Args:
            probabilities: float (n, classes), rows of any scale; a row of zeros is an unknown person.
            epsilon: Loss of the report.
            homophily: h; 0 or more, below 1.
            candidates: Number of candidates; None for all classes.
            model: The model of features; None: no feature is read.
            more: Further fields.

        Raises:
            ValueError: for impossible values.
        """
        if not 0 <= homophily < 1:
            raise ValueError(f"a homophily must be 0 or more and below 1, not {homophily}")
        table = table_text(probabilities)
        n, classes = np.shape(probabilities)
        width = classes if candidates is None else candidates
        values = 2 if more.get("agreement") else width + more.get("unseen", False)
        features: dict[str, Any] = {} if model is None else {"columns": len(model.weights), "model": model.as_text()}
        return cls(
            lie=probability_threshold(epsilon, values - 1), people=n, classes=classes, table=table,
            homophily=min(round(homophily * WHOLE), WHOLE - 1), candidates=width, **features, **more,
        )  # fmt: skip

    @classmethod
    def audit_examples(cls) -> list[tuple[Mechanism, PublicFacts]]:
        """Return small votes: of the list alone, with a gentle and a steep model, hostile ones, and a witness's."""
        q = np.array([[3, 1, 0], [0, 0, 0], [1, 6, 1], [0, 1, 4], [2, 2, 3]])
        sparse = q * [[1], [0], [1], [1], [0]]
        lean = np.array([[0, UNIT // 2, 0], [0, 0, UNIT // 2]])
        gentle, steep = (FeatureModel(times * lean, np.full(3, UNIT // 3)) for times in (1, 400))
        word = FeatureModel(20 * lean * [[1], [0]], np.zeros(3, np.int64))
        votes = [
            cls.from_probabilities(q, 1.0, homophily=0.7),
            cls.from_probabilities(q, 1.0, homophily=0.7, candidates=1, unseen=True, reporting="one-end"),
            cls.from_probabilities(np.eye(3)[[0, 1, 1, 1, 1]], 4.0, homophily=0.99, candidates=2),
            cls.from_probabilities(sparse, 1.0, homophily=0.7, model=gentle),
            cls.from_probabilities(q, 3.0, homophily=0.3, model=steep, reporting="one-end"),
            cls.from_probabilities(np.zeros((5, 3)), 4.0, homophily=0.0, model=word),
            cls.from_probabilities(sparse, 1.0, homophily=0.7, model=gentle, levels=2),
            cls.from_probabilities(sparse, 1.0, homophily=0.7, model=steep, agreement=True),
        ]
        return [(vote, PublicFacts(5, 2, 3)) for vote in votes]

    def with_epsilon(self, epsilon: float) -> NeighbourhoodVote:
        """Return the same vote with a loss of at most ``epsilon``."""
        return replace(self, lie=probability_threshold(epsilon, self.values - 1))

    def agrees_with(self, facts: PublicFacts) -> bool:
        ranged = self.levels == 1 or (self.low, self.high) == (facts.feature_low, facts.feature_high)
        same = (self.people, self.classes) == (facts.n, facts.classes)
        return same and ranged and self.columns in (0, facts.d)

    @property
    def values(self) -> int:
        """Number of values that a device chooses from: two, or the candidates and "unseen" where that is one."""
        return 2 if self.agreement else self.candidates + self.unseen

    @property
    def ranked(self) -> NDArray[np.uint8]:
        """uint8 (n, classes): the classes of each person, the likeliest by the person's own row first."""
        return self.classes_table.ranked

    @cached_property
    def classes_table(self) -> ClassTable:
        """The table."""
        return ClassTable.read(self.table, self.people, self.classes, self.homophily)

    @cached_property
    def _model(self) -> FeatureModel:
        return FeatureModel.read(self.model, self.columns, self.classes)

    @cached_property
    def _response(self) -> GRR:
        return GRR(self.lie, self.values)

    @property
    def words(self) -> int:
        return self._response.words

    @property
    def width(self) -> int:
        return self.words + self.columns

    def padded(self, record: Record, device: int) -> Records:
        """Return the record of one device with a list of a multiple of 2,048 entries, and all features spelled out."""
        near = np.full(PADDED * max(1, -(-len(record.neighbours) // PADDED)), device)  # nobody counts oneself
        near[: len(record.neighbours)] = record.neighbours
        columns = np.arange(self.columns, dtype=np.int32)
        values = dense_features([record], self.columns)[0] if self.columns else np.zeros(0, np.float32)
        return records_by_column([Record(columns, values, near, record.label)])

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> int:
        return int(self.values_of_many(self.padded(record, device), devices=[device])[0])

    def values_of_many(self, records: Sequence[Record], *, devices: Sequence[int]) -> IntArray:
        """int64 (devices,): the value of each. The time depends on their lists."""
        people, numbers = records_by_column(records), np.asarray(devices, np.int64)
        scores, seen = self.scores(people, numbers)
        candidates = self.ranked[numbers, : self.candidates].astype(np.int64)
        best = np.take_along_axis(scores, candidates, axis=1).argmax(axis=1)  # ties: the likelier candidate
        if self.agreement:
            return np.asarray((candidates[np.arange(len(best)), best] == people.labels).astype(np.int64))
        return np.asarray(np.where(self.unseen & (seen == 0), self.values - 1, best))

    def scores(self, people: Records, devices: IntArray) -> tuple[IntArray, IntArray]:
        """Return int64 (devices, classes), in units, and how many are known.

        Nothing is raised, whatever the data.
        """
        table = self.classes_table
        sums = spoken_for(table, people, devices, one_end=self.reporting == "one-end")
        scores = sums[:, :-1] + table.own[table.row_of[devices]]
        if self.columns:
            levels = whole_features(dense_features(people, self.columns), self.levels, self.low, self.high)
            scores += self._model.evidence(levels, words=self.levels == 1)
        return scores, sums[:, -1]

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        return self._response.perturb(value, noise)

    def encode_rows(self, reports: IntArray) -> list[bytes]:
        data = reports.astype(np.uint8).tobytes()
        return [data[at : at + 1] for at in range(len(data))]

    def decode(self, data: bytes, *, device: int) -> int:
        if len(data) != 1 or data[0] >= self.values:
            raise ValueError(f"not a report of {self.name}")
        return data[0]

    def stacker(self, n: int) -> ReportStack:
        """int64 (n,), -1 where no report came."""
        return Filled(one_by_one(self.decode), np.full(n, -1, np.int64))

    def log_probability(self, report: int, value: int) -> float:
        return self._response.log_probability(report, value)

    def estimate(self, report: int) -> FloatArray:
        """Return the response's unbiased estimate."""
        return self._response.estimate(report)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return self._response.loss_of()

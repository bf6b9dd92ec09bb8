"""A vote with one's own features: one answer about the whole neighbour list and the whole feature row.

The curator publishes a model (:mod:`word_model`) with the table of class distributions
(:mod:`class_table`). Device i adds what the model says of its own features to the scores of its list,

    s_c = e_c(features of i) + sum over j in N_i of ln(sum over k of Om[c, k] Q_j(k)),

and reports the best class through generalised randomised response (GRR) over all classes. A few
candidates would have to be chosen by something public, and nothing public is known of these people.

List and features together do no more than choose the best class. So GRR's epsilon is the loss of
one entry of the list, of one feature, of all features, and of the whole record alike, for any
table and any model. It is entered in the ledger under both attributes, as one release. A model may
be hostile, and ask for one word: the answer then tells this word as well as GRR tells a category.

With ``agreement`` the answer is 1 where the best class is the own label, and else 0. It goes through GRR over these two
values. It depends on the label too, and is entered under all three attributes, as one release. From some such answers a
curator learns how often a vote is right, and nobody has to give label and vote.

With one level a feature counts as a word that the person has or has not. With more of them a feature x is the
whole number nearest to levels (x - low) / (high - low), where low and high are the public range.

The list is padded (:mod:`scored_vote`), and features are read as a row of whole numbers: up to
2,048 neighbours the time depends neither on their number nor on the number of words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.data.population import Record, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.base import LATER, DrawnTogether, Grouping, Mechanism, dense_features
from ldpsim.devices.mechanisms.exact_loss import probability_threshold
from ldpsim.devices.mechanisms.labels import GRR
from ldpsim.devices.mechanisms.scored_vote import ScoredVote, sums_of_rows
from ldpsim.devices.mechanisms.word_model import UNIT, WordModel, read_model
from ldpsim.devices.noise import NoiseStream

MOST_LEVELS = 255


def whole_features(features: FloatArray, levels: int, low: float, high: float) -> IntArray:
    """Return features as whole numbers 0 .. ``levels``, int64 of the same shape.

    >>> whole_features(np.array([0.0, 0.4, 2.0]), 1, 0.0, 1.0).tolist()
    [0, 1, 1]
    >>> whole_features(np.array([0.0, 0.4, 2.0]), 10, 0.0, 1.0).tolist()
    [0, 4, 10]
    """
    if levels == 1:
        return (features > 0).astype(np.int64)
    share = (np.nan_to_num(np.asarray(features, np.float64), nan=low) - low) / (high - low)
    return np.rint(levels * np.clip(share, 0.0, 1.0)).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class OwnFeaturesVote(ScoredVote, DrawnTogether):
    """Report the class that one's own words and neighbours speak for.

    ``value`` and ``report``: a class, 0 .. classes - 1; 0 or 1 with ``agreement``.

    Args:
        lie: 64-bit threshold of the probability that another class is reported.
        columns: Number of features d, 1 or more.
        model: The model of words, its exponents apart (:meth:`WordModel.as_text`).
        exponents: The model's two exponents.
        levels: 1 for words, up to 255 for features that are numbers.
        low, high: Public range of such features.
        agreement: Whether the report says if the best class is the own label, in place of the class.
        people, classes, table, affinity, own, form, reporting: As in :class:`ScoredVote`.

    Raises:
        ValueError: for anything that is not of this form.

    >>> model = WordModel(np.array([[0, UNIT]]), np.array([UNIT]), np.zeros(2, np.int64), (256, 0))
    >>> vote = OwnFeaturesVote.from_probabilities(np.eye(2), 1.0, model, homophily=0.8)
    >>> vote.loss(), vote.reads
    (Loss(bit=1.0, vector=1.0, delta=0.0), ('adjacency', 'features'))
    """

    columns: int
    model: str
    exponents: tuple[int, ...]
    own: bool = False
    levels: int = field(default=1, metadata=LATER)
    low: float = field(default=0.0, metadata=LATER)
    high: float = field(default=1.0, metadata=LATER)
    agreement: bool = field(default=False, metadata=LATER)

    name: ClassVar[str] = "own_features_vote"
    reads: ClassVar[tuple[str, ...]] = ("adjacency", "features")
    by_answers: ClassVar[frozenset[str]] = ScoredVote.by_answers | {"model", "exponents", "levels", "low", "high"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.agreement) is not bool:
            raise ValueError(f"agreement is true or false, not {self.agreement!r}")
        if self.columns < 1:
            raise ValueError(f"a vote with own features needs columns, not {self.columns}")
        if not (1 <= self.levels <= MOST_LEVELS and -math.inf < self.low < self.high < math.inf):
            raise ValueError(f"features have 1..{MOST_LEVELS} levels in a range, not {self.levels}")
        if self.agreement:
            object.__setattr__(self, "reads", (*self.reads, "label"))
        _ = self._model, self._response  # before anybody's data are read; the text's length bounds the columns

    @classmethod
    def from_probabilities(
        cls, probabilities: FloatArray, epsilon: float, model: WordModel, *, agreement: bool = False, **scores: Any
    ) -> OwnFeaturesVote:
        """Return the vote over these class distributions and this model whose loss is at most ``epsilon``.

        Args:
            probabilities: float (n, classes), rows of any scale; a row of zeros is an unknown person.
            epsilon: Loss of the report.
            model: The model of words.
            agreement: As the field.
            scores: As :meth:`ScoredVote.published`.

        Raises:
            ValueError: for impossible values.
        """
        fields = cls.published(probabilities, **scores)
        lie = probability_threshold(epsilon, 1 if agreement else fields["classes"] - 1)
        return cls(
            lie=lie, columns=len(model.weights), model=model.as_text(), exponents=model.exponents,
            agreement=agreement, **fields,
        )  # fmt: skip

    @classmethod
    def audit_examples(cls) -> list[tuple[Mechanism, PublicFacts]]:
        """Return small votes: of a gentle and a steep model, of one end, and one that asks for a word alone."""
        q = np.array([[3, 1, 0], [0, 0, 0], [1, 6, 1], [0, 1, 4], [0, 0, 0]])
        lean = np.array([[0, UNIT // 2, 0], [0, 0, UNIT // 2]])
        gentle = WordModel(lean, np.full(2, UNIT), np.full(3, UNIT // 3), (256, 256))
        steep = WordModel(40 * lean, np.full(2, UNIT), np.zeros(3, np.int64), (2560, 0))
        word = WordModel(20 * lean * [[1], [0]], np.zeros(2, np.int64), np.zeros(3, np.int64), (1 << 16, 0))
        votes = [
            cls.from_probabilities(q, 1.0, gentle, homophily=0.7),
            cls.from_probabilities(q, 3.0, steep, homophily=0.7, own=True),
            cls.from_probabilities(q, 1.0, gentle, homophily=0.3, reporting="one-end"),
            cls.from_probabilities(np.zeros((5, 3)), 4.0, word, homophily=0.0),
            cls.from_probabilities(q, 1.0, gentle, homophily=0.7, levels=2, form="codes"),
            cls.from_probabilities(q, 1.0, steep, homophily=0.7, agreement=True),
        ]
        return [(vote, PublicFacts(5, 2, 3)) for vote in votes]

    def agrees_with(self, facts: PublicFacts) -> bool:
        ranged = self.levels == 1 or (self.low, self.high) == (facts.feature_low, facts.feature_high)
        return super().agrees_with(facts) and self.columns == facts.d and ranged

    @property
    def words(self) -> int:
        return 2

    @cached_property
    def _model(self) -> WordModel:
        return read_model(self.model, self.columns, self.classes, self.exponents)

    @cached_property
    def _columns(self) -> IntArray:
        """int64 (columns, classes + 1): the weights of each column, and its square."""
        return np.column_stack([self._model.weights, self._model.squares])

    @cached_property
    def _response(self) -> GRR:
        return GRR(self.lie, self.values)

    @property
    def ranked(self) -> NDArray[np.uint8]:
        """uint8 (n, classes): all classes in the order of their numbers, for everybody."""
        return np.tile(np.arange(self.classes, dtype=np.uint8), (self.people, 1))

    @property
    def values(self) -> int:
        """Number of values: the classes, or two."""
        return 2 if self.agreement else self.classes

    def response(self, values: int) -> GRR:
        """Return GRR over the values."""
        return self._response

    def read_features(self, record: Record) -> IntArray:
        """int64 (columns,): the features in whole numbers; a column that there is not counts as the nearest one."""
        return self._levels(dense_features([record], self.columns)[0])

    def _levels(self, features: FloatArray) -> IntArray:
        return whole_features(features, self.levels, self.low, self.high)

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> int:
        scores, _ = self.scores(record.neighbours, device)
        said = self._model.evidence(self._model.shares(self.read_features(record)[None]))[0]
        best = int((scores + said).argmax())  # ties: the lower class
        return int(best == record.label) if self.agreement else best

    def values_of_many(self, records: Sequence[Record], *, devices: Sequence[int]) -> IntArray:
        """int64 (people,): what :meth:`value_of` returns for each. From some on the time depends on their data."""
        people = records_by_column(records)
        columns = people.feature_indices.astype(np.int64).clip(0, self.columns - 1)
        absent, *levels = self._levels(np.append(np.float32(0), people.feature_values)).tolist()
        times = np.array(levels, np.int64) - absent
        places = np.repeat(np.arange(len(people)) * self.columns, people.feature_counts) + columns
        if not np.all(places[1:] > places[:-1]):  # of a column that is given twice the last value counts
            order = np.argsort(places, kind="stable")
            times[order[:-1][np.diff(places[order]) == 0]] = 0
        every = self._columns
        sums = absent * every.sum(axis=0) + sums_of_rows(every, columns, people.feature_starts, times)
        said = self._model.evidence(self._model.shares_of_sums(sums[:, :-1], sums[:, -1]))
        best = (self.scores_of_many(people, devices) + said).argmax(axis=1)
        return np.asarray((best == people.labels).astype(np.int64) if self.agreement else best)

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        return self._response.perturb(value, noise)

    def log_probability(self, report: int, value: int) -> float:
        return self._response.log_probability(report, value)

    def encode_rows(self, reports: IntArray) -> list[bytes]:
        data = reports.astype(np.uint8).tobytes()
        return [data[at : at + 1] for at in range(len(data))]

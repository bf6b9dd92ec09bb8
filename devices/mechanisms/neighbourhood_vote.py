"""One question about the whole neighbour list: the class that one's neighbours speak for.

Device i has w candidates, the w classes that are likeliest by its own row of the public table
(:mod:`class_table`). It computes the score of each from its own list alone, and reports the
place of the best one through generalised randomised response (GRR) with w values. Where
``unseen``, "nothing is known about any of my neighbours" is one more value.

One entry of the list may change the best candidate, and the whole list can do no more than
that. So every loss of the list is GRR's epsilon, exact wherever some list makes another
candidate win. It holds for any table. A table may be hostile, and ask "is she in your list?":
the answer is then right with probability e^eps / (e^eps + w - 1), as often as GRR's.

Candidates may differ in number (``widths``). ``lie`` belongs to the largest number. A
smaller number has the smallest threshold whose loss does not exceed that one's.

The scores are whole numbers (:mod:`scored_vote`), so the answer is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.base import Grouping, Mechanism
from ldpsim.devices.mechanisms.class_table import as_text, from_text
from ldpsim.devices.mechanisms.exact_loss import probability_threshold
from ldpsim.devices.mechanisms.labels import GRR
from ldpsim.devices.mechanisms.scored_vote import ScoredVote
from ldpsim.devices.noise import NoiseStream


class BestCandidate(NamedTuple):
    """The best candidate's place among the values that a device chooses from."""

    answer: int
    values: int


@dataclass(frozen=True, kw_only=True)
class NeighbourhoodVote(ScoredVote):
    """Report the class that the neighbours speak for, as a place among the device's candidates.

    ``value``: a :class:`BestCandidate`; ``report``: an integer 0 .. number of values - 1.

    Args:
        lie: 64-bit threshold of the probability that another value is reported, for the largest number of values.
        candidates: Largest number w of candidates.
        unseen: Whether "nothing is known about any of my neighbours" is one more value, the last.
        widths: Number of candidates of each person, one byte each in base64; empty where all have w.
        people, classes, table, affinity, own, form, reporting: As in :class:`ScoredVote`.

    Raises:
        ValueError: for anything that is not of this form, or a number of values below 2.

    >>> vote = NeighbourhoodVote.from_probabilities(np.eye(3), 1.0, homophily=0.8, candidates=2)
    >>> vote.loss(), vote.candidates_of(1).tolist()
    (Loss(bit=1.0, vector=1.0, delta=0.0), [1, 0])
    """

    candidates: int
    unseen: bool
    widths: str = ""

    name: ClassVar[str] = "neighbourhood_vote"
    by_answers: ClassVar[frozenset[str]] = ScoredVote.by_answers | {"candidates", "widths"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 - self.unseen <= self.candidates <= self.classes:
            raise ValueError(f"{self.candidates} candidates of {self.classes} classes leave nothing to choose from")
        if self.widths:
            given = from_text(self.widths, self.people)
            if given.min() < 2 - self.unseen or given.max() != self.candidates:
                raise ValueError(f"the widths must lie in {2 - self.unseen}..candidates, and reach it")
        _ = self._responses  # made here: an impossible threshold is refused before anybody's data are read

    @classmethod
    def from_probabilities(
        cls, probabilities: FloatArray, epsilon: float, *, candidates: int | IntArray, unseen: bool = False,
        **scores: Any,
    ) -> NeighbourhoodVote:  # fmt: skip
        """Return the vote over these class distributions whose loss is at most ``epsilon``.

        Args:
            probabilities: float (n, classes), rows of any scale; a row of zeros is an unknown person.
            epsilon: Loss of the report.
            candidates: Number of candidates: of everybody, or int (n,) of each person.
            unseen: As the mechanism's.
            scores: As :meth:`ScoredVote.published`.

        Raises:
            ValueError: for impossible values.
        """
        fields, widths = cls.published(probabilities, **scores), np.asarray(candidates, np.int64)
        shape, classes = (fields["people"],), fields["classes"]
        if widths.ndim and (widths.shape != shape or widths.min(initial=1) < 1 or widths.max(initial=0) > classes):
            raise ValueError("the numbers of candidates must be one for each person, in 1..classes")
        most = int(widths.max(initial=0))
        return cls(
            lie=probability_threshold(epsilon, most + unseen - 1), candidates=most, unseen=unseen,
            widths=as_text(widths.astype(np.uint8)) if widths.ndim else "", **fields,
        )  # fmt: skip

    @classmethod
    def audit_examples(cls) -> list[tuple[Mechanism, PublicFacts]]:
        """Return small votes with all values, with "unseen", with widths, of one end, and a hostile one."""
        q = np.array([[3, 1, 0], [0, 0, 0], [1, 6, 1], [0, 1, 4], [2, 2, 3]])
        widths, hostile = np.array([2, 3, 2, 3, 2]), np.eye(3)[[0, 1, 1, 1, 1]]
        votes = [
            cls.from_probabilities(q, 1.0, candidates=3, homophily=0.7),
            cls.from_probabilities(q, 1.0, candidates=1, homophily=0.7, unseen=True, reporting="one-end"),
            cls.from_probabilities(q, 3.0, candidates=widths, homophily=0.7, unseen=True, form="codes"),
            cls.from_probabilities(hostile, 4.0, candidates=2, homophily=0.99, own=False),
        ]
        return [(vote, PublicFacts(5, 1, 3)) for vote in votes]

    @cached_property
    def _widths(self) -> IntArray:
        if not self.widths:
            return np.full(self.people, self.candidates)
        return from_text(self.widths, self.people).astype(np.int64)

    @cached_property
    def _responses(self) -> dict[int, GRR]:
        """GRR by number of values, each with a loss of at most the largest one's."""
        largest = GRR(self.lie, self.values)
        made = {largest.categories: largest}
        for values in np.unique(self._widths + self.unseen).tolist():
            made.setdefault(values, largest.over(values))
        return made

    @property
    def values(self) -> int:
        """Largest number of values: the candidates, and "unseen" where that is one."""
        return self.candidates + self.unseen

    def values_of(self, device: int) -> int:
        """Return how many values a device chooses from: its candidates, and "unseen" where that is one."""
        return int(self._widths[device]) + self.unseen

    def candidates_of(self, device: int) -> NDArray[np.uint8]:
        """uint8 (w,): a device's candidates, the likeliest class first."""
        return self.ranked[device, : self._widths[device]]

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> BestCandidate:
        scores, seen = self.scores(record.neighbours, device)
        best = int(scores[self.candidates_of(device)].argmax())  # ties: the likelier candidate
        values = self.values_of(device)
        return BestCandidate(values - 1 if self.unseen and not seen else best, values)

    def response(self, values: int) -> GRR:
        """Return GRR over this many values."""
        return self._responses[values]

    def perturb(self, value: BestCandidate, noise: NoiseStream) -> int:
        return int(self._responses[value.values].perturb(value.answer, noise))

    def log_probability(self, report: int, value: BestCandidate) -> float:
        return self._responses[value.values].log_probability(report, value.answer)

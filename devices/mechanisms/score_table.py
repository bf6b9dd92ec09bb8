"""A public table of scores: what each friend adds to the score of each class, in whole numbers.

A curator that believes that person j is of class k with probability P_j(k) publishes, for every class c,

    S_j(c) = ln sum over k of H(c, k) P_j(k) / pi_k,

the log-likelihood ratio of what is known of j. H(c, k), the *affinity*, is the probability that a friend of a person of
class c is of class k, and pi are the class shares. A device adds the rows of its friends. With m friends of whom
something is known, the sum is multiplied by

    D / (D + m - 1),

because the friends of one person resemble each other, so each further one says less. This is Kish's design effect
1 + (m - 1) rho with the correlation rho = 1 / D, and D is the *saturation*. The device looks up, adds and compares
whole numbers alone, so its result does not depend on the order of its list or on the machine.

Every device gets the whole table, because asking for its friends' rows alone would reveal the list. The table is a
*code book*: its different rows, and for each person the number of a row. The bytes are

- the number of rows r, 1 .. 255, in one byte;
- the rows in rising order. A row has a score for each class, and where the table says so, a second score for each
  class: the person's own, ln P_j(c). A score has 16 bits, most significant byte first, and counts from -2**15 in
  steps of 2**-8 nats. A row whose first scores are all 0 says that nothing is known of the person;
- the codes of all people. A code has 4 bits where r is 16 or less, else 8. Of two people in one byte the first has the
  lower half. After an odd number of people the last half is 0.

The rows are all different, and somebody has each of them. So a table has one form in bytes, and a device refuses every
other one. The bytes travel in base64. A compressed form would differ between versions of the library that made it, and
so would the question's fingerprint.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.records import Records
from ldpsim.devices.mechanisms.base64_text import Bytes, as_text, from_text
from ldpsim.devices.mechanisms.feature_model import UNIT_BITS

MOST_CLASSES = MOST_ROWS = 255
MOST_PAIRED = 16  # rows whose numbers fit into half a byte
MOST_BYTES = 3_000_000  # in base64 it fits into a question (:data:`ldpsim.devices.query.MAX_BYTES`) beside all else
STEP_BITS = 8  # a step of a score is 2**-8 nats
LARGEST_SCORE = (1 << 15) - 1  # in steps
MOST_SATURATION = 1 << 20


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A table of scores.

    Args:
        rows: int64 (r, classes): the different rows, in steps; zeros where nothing is known.
        codes: uint8 (n,): the row of each person.
        own: int64 (r, classes): scores of people for themselves, in steps; None for a table without them.
    """

    rows: IntArray = field(repr=False)
    codes: Bytes = field(repr=False)
    own: IntArray | None = field(default=None, repr=False)

    @staticmethod
    def of(rows: IntArray, codes: IntArray, own: IntArray | None = None) -> ScoreTable:
        """Return the table of these rows: equal rows become one, in rising order, and rows that nobody has leave.

        Args:
            rows: int64 (r, classes), in steps; larger scores than a table can hold become the largest.
            codes: int64 (n,): the row of each person.
            own: int64 (r, classes), in steps.

        Raises:
            ValueError: for more than 255 rows, no person, or a table longer than a question may be.
        """
        both = rows if own is None else np.hstack([rows, own])
        used, places = np.unique(codes, return_inverse=True)
        if not len(used):
            raise ValueError("a table has a row for each person")
        both = np.clip(both[used], -LARGEST_SCORE, LARGEST_SCORE).astype(np.int64)
        texts = _row_bytes(both).view(f"S{2 * both.shape[1]}").ravel()
        _, first, which = np.unique(texts, return_index=True, return_inverse=True)
        if len(first) > MOST_ROWS:
            raise ValueError(f"a table has at most {MOST_ROWS} different rows, not {len(first)}")
        both, classes = both[first], rows.shape[1]
        second = None if own is None else both[:, classes:]
        table = ScoreTable(both[:, :classes], which[places].astype(np.uint8), second)
        if table.size > MOST_BYTES:
            raise ValueError(f"a table of {table.size:,} bytes is longer than a question may be ({MOST_BYTES:,})")
        return table

    @staticmethod
    def read(text: object, people: int, classes: int, *, own: bool = False) -> ScoreTable:
        """Read :meth:`as_text` back.

        Args:
            text: The text.
            people, classes: Numbers of people and of classes, at least 1.
            own: Whether the table has scores of people for themselves.

        Raises:
            ValueError: for any other text.
        """
        data, width = from_text(text), 2 * classes * (1 + own)
        count = int(data[0]) if len(data) else 0
        start, paired = 1 + count * width, count <= MOST_PAIRED
        if not count or len(data) != start + (-(-people // 2) if paired else people):
            raise ValueError("a table is not a code book and a code for each person")
        book, codes = data[1:start].reshape(count, width), data[start:]
        if paired:
            codes = np.stack([codes & 15, codes >> 4], axis=1).ravel()
            if codes[people:].any():
                raise ValueError("a table's last half of a byte is not 0")
            codes = codes[:people]
        used = np.bincount(codes, minlength=count) > 0
        if len(used) > count or not used.all():
            raise ValueError("a table's codes are not those of its rows")
        texts = [row.tobytes() for row in book]
        if texts != sorted(set(texts)):
            raise ValueError("a code book's rows are not in rising order")
        both = np.ascontiguousarray(book).view(">u2").astype(np.int64) - (1 << 15)
        if both.min() < -LARGEST_SCORE:
            raise ValueError("a table holds a score that it never has")
        return ScoreTable(both[:, :classes], codes, both[:, classes:] if own else None)

    @property
    def size(self) -> int:
        """Number of bytes before base64."""
        width = 2 * self.rows.shape[1] * (1 if self.own is None else 2)
        paired = len(self.rows) <= MOST_PAIRED
        return 1 + len(self.rows) * width + (-(-len(self.codes) // 2) if paired else len(self.codes))

    def as_text(self) -> str:
        """Return the table as text; :meth:`read` reads it back."""
        both = self.rows if self.own is None else np.hstack([self.rows, self.own])
        packed = self.codes
        if len(self.rows) <= MOST_PAIRED:
            pairs = np.resize(np.append(packed, np.uint8(0)), (-(-len(packed) // 2), 2))
            packed = np.bitwise_or(pairs[:, 0], pairs[:, 1] << 4, dtype=np.uint8)
        return as_text(np.concatenate([np.array([len(both)], np.uint8), _row_bytes(both).ravel(), packed]))

    @cached_property
    def row_of(self) -> IntArray:
        """int64 (n + 1,): the row of each person; of number n, who is nobody, the number of rows."""
        return np.append(self.codes, len(self.rows)).astype(np.int64)

    @cached_property
    def terms(self) -> IntArray:
        """int64 (r + 1, classes + 1): the scores, and 1 where something is known. The last row is nobody's."""
        terms = np.zeros((len(self.rows) + 1, self.rows.shape[1] + 1), np.int64)
        terms[:-1, :-1], terms[:-1, -1] = self.rows, self.rows.any(axis=1)
        return terms

    def list_scores(
        self, people: Records, devices: IntArray, *, saturation: int, one_end: bool = False
    ) -> tuple[IntArray, IntArray]:
        """Return the score of each class by each device's list, and the number of friends of whom something is known.

        Args:
            people: The devices' records.
            devices: int64 (m,): their numbers. A device in its own list is left out.
            saturation: D, at least 1.
            one_end: Whether only friends before the device count.

        Returns:
            int64 (m, classes), in units of 2**-16 nats, and int64 (m,).
        """
        sums = self.list_sums(people, devices, one_end=one_end)
        return self.shared(sums, saturation=saturation), sums[:, -1]

    def list_sums(self, people: Records, devices: IntArray, *, one_end: bool = False) -> IntArray:
        """int64 (m, classes + 1): sums of friends' rows, in steps, and how many friends something is known of.

        An id that no node has counts as the nearest one. Nothing is raised, whatever the data. The arguments are those
        of :meth:`list_scores`.
        """
        from scipy.sparse import csr_array  # a device that reads no table does not load it

        nobody = len(self.codes)
        owner = np.repeat(devices, people.neighbour_counts)
        near = people.neighbours.astype(np.int64).clip(0, nobody - 1)
        rows = self.row_of[np.where((near == owner) | (near >= (owner if one_end else nobody)), nobody, near)]
        counted = csr_array(
            (np.ones(len(rows), np.int64), rows, people.neighbour_starts), shape=(len(devices), len(self.terms))
        )
        return np.asarray(counted @ self.terms)

    @staticmethod
    def shared(sums: IntArray, *, saturation: int) -> IntArray:
        """int64 (m, classes), in units: the score of each class by :meth:`list_sums`, times D / (D + friends - 1)."""
        friends = np.maximum(sums[:, -1:], 1)
        return (sums[:, :-1] << UNIT_BITS - STEP_BITS) * saturation // (saturation + friends - 1)


def _row_bytes(rows: IntArray) -> Bytes:
    """Return rows of scores as bytes, uint8 (r, 2 * columns); their order is that of the rows."""
    return np.ascontiguousarray((rows + (1 << 15)).astype(">u2")).view(np.uint8)

"""A public model of a person's own features, in whole numbers: what they say for each class.

It is linear. A person has the features x_k, m are the means and A the weights:

    e_c = m_c + sum over k of A_kc x_k,                            features that are numbers,
    e_c = m_c + (sum over k of A_kc x_k) / sqrt(sum over k of x_k),    words: x_k is 1 or 0.

So rows of words count at length 1. A number is the whole number nearest to levels (x - low) / (high - low), where low
and high are the public range. Every number is whole, so the result is the same on every machine.

The public table of class distributions that travels with a vote's question, and what a neighbour's row says.

Every device gets the whole table, because asking for its neighbours' rows alone would reveal the list.

A row is one byte for each class. Byte b means that the class's probability is e^(-b / 16) of that of the
person's most likely class, so a byte is off by 1/32 nat at most, down to e^-15.8. The scale of a row plays
no part in a vote. A row of 255 says that nothing is known about the person.

The table is a *code book*: its different rows, and for each person the number of a row. The bytes are

- the number of rows k, 1 .. 255, in one byte;
- the rows, ``classes`` bytes each, in rising order;
- the codes of all people. A code has 4 bits where k is 16 or less, else 8. Of two people in one byte the first
  has the lower half. After an odd number of people the last half is 0.

The rows are all different, and somebody has each of them. So a table has one form in bytes, and a device refuses
every other one. The bytes travel in base64. A compressed form would differ between versions of the library that made
it, and so would the question's fingerprint.

A table of more than 255 different rows is rounded: each row becomes the nearest one of 254, by the distance of
ln(p + 0.02), as what a row adds to a score is the logarithm of a mixture. The first of them is the most frequent row,
and each further one is the row that is farthest from those before (Gonzalez 1985). All numbers are whole, so the table
is the same on every machine.

Exponentials and logarithms are whole numbers, equal on every machine. A float sum depends on its order, and so on the
processor and on the number of threads. The constants come from ``decimal``, whose ``exp`` and ``ln`` are correctly
rounded by the standard, and everything else is shifts, additions and products of 64-bit integers. A logarithm is a
whole number of *units*, 2**-16 nats each.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray, DoubleArray, FloatArray, IntArray
from ldpsim.devices.data.population import Records

UNIT_BITS = 16  # a unit of a logarithm is 2**-16 nats
_DIGITS = 40
_FINE = 16  # further bits of a logarithm until it is rounded
_KNOTS = 10  # the logarithm is linear between 2**10 knots; it is off by less than 2**-22
_MANTISSA = 26
UNIT = 1 << UNIT_BITS
MOST_LEVELS = 255
LARGEST = (1 << 31) - 1
_ROOT_BITS = 8  # a root of words in 2^-16 is in 2^-8


@lru_cache(maxsize=8)
def falling_powers(steps_per_nat: int, size: int, *, one: int) -> IntArray:
    """int64 (size,): ``one`` * e^(-k / steps_per_nat) for k = 0 .. size - 1, to the nearest whole number."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_HALF_EVEN
        powers = [one * (Decimal(-k) / steps_per_nat).exp() for k in range(size)]
        made = np.array([int(power.to_integral_value()) for power in powers], np.int64)
    made.flags.writeable = False
    return made


@lru_cache(maxsize=1)
def _knots() -> tuple[IntArray, int]:
    """int64 (2**10 + 1,): ln(1 + k / 2**10), and ln 2, in 2**-32 nats."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_HALF_EVEN
        scale = Decimal(1 << UNIT_BITS + _FINE)
        size = 1 << _KNOTS
        logs = [int(((1 + Decimal(k) / size).ln() * scale).to_integral_value()) for k in range(size + 1)]
        return np.array(logs, np.int64), logs[-1]


def logarithm(numbers: IntArray) -> IntArray:
    """int64, same shape: ln of whole numbers 1 .. 2**62, in units, to the nearest one but for rounding errors.

    >>> (logarithm(np.array([1, 2, 1 << 40])) / 2**16).round(4).tolist()
    [0.0, 0.6931, 27.7259]
    """
    rest = np.asarray(numbers, np.int64)
    power = np.zeros(rest.shape, np.int64)
    left = rest.copy()
    for step in (32, 16, 8, 4, 2, 1):
        larger = (left >> step) > 0
        power += step * larger
        left = np.where(larger, left >> step, left)
    # 2**26 .. 2**27 - 1: ten bits choose a knot and sixteen lie between two
    mantissa = np.where(power >= _MANTISSA, rest >> np.maximum(power - _MANTISSA, 0),
                        rest << np.maximum(_MANTISSA - power, 0))  # fmt: skip
    knots, ln_2 = _knots()
    between = _MANTISSA - _KNOTS
    place = (mantissa >> between) - (1 << _KNOTS)
    part = mantissa & ((1 << between) - 1)
    low = knots[place]
    fine = power * ln_2 + low + ((knots[place + 1] - low) * part >> between)
    result: IntArray = (fine + (1 << _FINE - 1)) >> _FINE
    return result


def whole_features(features: FloatArray, levels: int, low: float, high: float) -> IntArray:
    """Return features as whole numbers 0 .. ``levels``, int64 of the same shape; a word is an entry above 0.

    >>> whole_features(np.array([0.0, 0.4, 2.0]), 1, 0.0, 1.0).tolist()
    [0, 1, 1]
    >>> whole_features(np.array([0.0, 0.4, 2.0]), 10, 0.0, 1.0).tolist()
    [0, 4, 10]
    """
    if levels == 1:
        return (features > 0).astype(np.int64)
    share = (np.nan_to_num(np.asarray(features, np.float64), nan=low) - low) / (high - low)
    return np.rint(levels * np.clip(share, 0.0, 1.0)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FeatureModel:
    """A model.

    Args:
        weights: int64 (columns, classes): A, in units, 32 bits each.
        means: int64 (classes,): m.
    """

    weights: IntArray = field(repr=False)
    means: IntArray = field(repr=False)

    def evidence(self, levels: IntArray, *, words: bool) -> IntArray:
        """int64 (rows, classes): e, in units, of features int64 (rows, columns). The time does not depend on them."""
        sums = levels @ self.weights
        if words:
            roots = np.sqrt((levels.sum(axis=1) << 2 * _ROOT_BITS).astype(np.float64)).astype(np.int64)
            sums = (sums << _ROOT_BITS) // np.maximum(roots, 1)[:, None]
        return np.asarray(np.clip(self.means + sums, -LARGEST, LARGEST))

    def as_text(self) -> str:
        """Return the model as text; :meth:`read` reads it back.

        Raises:
            ValueError: for a number that 32 bits do not hold.
        """
        rows = np.vstack([self.weights, self.means])
        if np.abs(rows).max() > LARGEST:
            raise ValueError("a model holds a number beyond 32 bits")
        return as_text(rows.astype("<i4").view(np.uint8))

    @staticmethod
    def read(text: object, columns: int, classes: int) -> FeatureModel:
        """Read :meth:`as_text` back; ValueError for any other text. Without columns there is no model, and no text."""
        data = from_text(text)
        if len(data) != 4 * (columns + 1) * classes * (columns > 0) or (columns <= 0 and text != ""):
            raise ValueError(f"a text is no model of {columns} features and {classes} classes")
        rows = np.zeros((1, classes), np.int64) if columns <= 0 else data.view("<i4").reshape(-1, classes)
        return FeatureModel(rows[:-1].astype(np.int64), rows[-1].astype(np.int64))


Bytes = NDArray[np.uint8]

UNKNOWN = 255
STEPS_PER_NAT = 16
MOST_CLASSES = MOST_ROWS = 255
MOST_IN_HALVES = 16  # rows whose numbers fit into half a byte
MOST_BYTES = 3_000_000  # in base64 it fits into a question (:data:`ldpsim.devices.query.MAX_BYTES`) beside all else
WHOLE = 1 << 16  # a homophily of 1
SHARES = 1 << 12  # class shares add up to about this
_ONE = 1 << 24
_STEP = (1 << UNIT_BITS) // STEPS_PER_NAT  # units of a logarithm in a step of the table
_CERTAIN, _MIXED = 1 << 16, 1311  # a probability of 1, and of 0.02
_COARSE = 8  # bits of a logarithm that are left out: sums of squares are exact in float64


def table_text(probabilities: FloatArray) -> str:
    """Return the table of these class distributions as text.

    Args:
        probabilities: (n, classes), 0 or more, of any scale; a row of zeros is an unknown person.

    Raises:
        ValueError: for another shape, a number that is negative or not finite, or more people than a question can hold.
    """
    q = np.asarray(probabilities, np.float64)
    if q.ndim != 2 or not q.size:
        raise ValueError(f"a table has a row for each person and a column for each class, not {q.shape}")
    if not (np.isfinite(q).all() and (q >= 0).all()):
        raise ValueError("a class probability is negative or not finite")
    data = coded(quantised(q))
    if data.size > MOST_BYTES:
        raise ValueError(f"a table of {data.size:,} bytes is longer than a question may be ({MOST_BYTES:,})")
    return as_text(data)


def quantised(probabilities: DoubleArray) -> Bytes:
    """Return rows of bytes, uint8 of the same shape; a row of zeros is an unknown person."""
    most = probabilities.max(axis=1, initial=0.0, keepdims=True)
    unknown = most == 0
    with np.errstate(divide="ignore"):
        behind = -np.log(probabilities / np.where(unknown, 1.0, most))
    rows = np.where(unknown, UNKNOWN, np.clip(np.rint(STEPS_PER_NAT * behind), 0, UNKNOWN - 1))
    return rows.astype(np.uint8)


def coded(rows: Bytes) -> Bytes:
    """Return the code book of these rows, uint8 (n, classes), as bytes; n and classes at least 1."""
    book, codes = _different(rows)
    if len(book) > MOST_ROWS:
        book, codes = _different(_rounded(book, np.bincount(codes))[codes])
    packed = codes.astype(np.uint8)
    if len(book) <= MOST_IN_HALVES:
        pairs = np.resize(np.append(packed, np.uint8(0)), (-(-len(packed) // 2), 2))
        packed = np.bitwise_or(pairs[:, 0], pairs[:, 1] << 4, dtype=np.uint8)
    return np.concatenate([np.array([len(book)], np.uint8), book.ravel(), packed])


def read_codes(data: Bytes, people: int, classes: int) -> tuple[Bytes, Bytes]:
    """Return the rows, uint8 (k, classes), and everybody's code, uint8 (people,), of :func:`coded`.

    Raises:
        ValueError: for any other bytes.
    """
    count = int(data[0]) if len(data) else 0
    start, halves = 1 + count * classes, count <= MOST_IN_HALVES
    if not count or len(data) != start + (-(-people // 2) if halves else people):
        raise ValueError("a table is not a code book and a code for each person")
    book, codes = data[1:start].reshape(count, classes), data[start:]
    if halves:
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
    return book, codes


def as_text(data: Bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(np.ascontiguousarray(data, np.uint8).tobytes()).decode("ascii")


def from_text(text: object) -> Bytes:
    """Return the bytes of :func:`as_text`, none of any other text."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        data = b""
    return np.frombuffer(data if base64.b64encode(data).decode("ascii") == text else b"", np.uint8)


def spoken_for(table: ClassTable, people: Records, devices: IntArray, *, one_end: bool = False) -> IntArray:
    """Return the sums of ``table.evidence`` over each device's list, int64 (devices, classes + 1).

    An id that no node has counts as the nearest one. Nothing is raised, whatever the data.

    Args:
        table: A table.
        people: The devices' records.
        devices: int64: their numbers. Nobody counts oneself.
        one_end: Whether only neighbours before the device count.
    """
    from scipy.sparse import csr_array  # a device that never votes does not load it

    nobody = len(table.codes)
    owner = np.repeat(devices, people.neighbour_counts)
    near = people.neighbours.astype(np.int64).clip(0, nobody - 1)
    rows = table.row_of[np.where((near == owner) | (near >= (owner if one_end else nobody)), nobody, near)]
    counted = csr_array(
        (np.ones(len(rows), np.int64), rows, people.neighbour_starts), shape=(len(devices), len(table.evidence))
    )
    return np.asarray(counted @ table.evidence)


@dataclass(frozen=True, eq=False)
class ClassTable:
    """A table that was read.

    Args:
        rows: uint8 (rows, classes).
        codes: uint8 (n,), the row of each person.
        homophily: h in 2^-16: the probability that a neighbour of a person of class c is of class k is
            h [c = k] + (1 - h) pi_k.
        shares: int64 (classes,): pi in 2^-12, each 1 or more; None: all classes are alike.

    Raises:
        ValueError: for a row that is unknown in part.
    """

    rows: Bytes
    codes: Bytes
    homophily: int
    shares: IntArray | None = None

    def __post_init__(self) -> None:
        wrong = (self.rows == UNKNOWN).any(axis=1) & ~self.unknown
        if wrong.any():
            raise ValueError(f"row {int(np.flatnonzero(wrong)[0])} of the table is no class distribution")

    @staticmethod
    def read(text: object, people: int, classes: int, homophily: int) -> ClassTable:
        """Read :func:`table_text` back; ValueError for any other text."""
        return ClassTable(*read_codes(from_text(text), people, classes), homophily)

    @cached_property
    def row_of(self) -> IntArray:
        """int64 (n + 1,): the row of each person; of number n, who is nobody, the number of rows."""
        return np.append(self.codes, len(self.rows)).astype(np.int64)

    @cached_property
    def unknown(self) -> BoolArray:
        """bool (rows,): True where nothing is known."""
        return np.asarray((self.rows == UNKNOWN).all(axis=1))

    @cached_property
    def evidence(self) -> IntArray:
        """int64 (rows + 1, classes + 1): what a neighbour adds to each score, and to the number of known neighbours.

        In units, ln(h Q(c) / pi_c + 1 - h) up to a constant of the neighbour. The last row is nobody's: it adds 0.
        """
        classes = self.rows.shape[1]
        weights = falling_powers(STEPS_PER_NAT, UNKNOWN + 1, one=_ONE)[self.rows]
        rest = (WHOLE - self.homophily) * weights.sum(axis=1, keepdims=True)
        if self.shares is None:
            logs = logarithm(self.homophily * classes * weights + rest)
        else:
            logs = logarithm(self.homophily * SHARES * weights + rest * self.shares) - logarithm(self.shares)
        table = np.zeros((len(self.rows) + 1, classes + 1), np.int64)
        table[:-1, :-1] = np.where(self.unknown[:, None], 0, logs)
        table[:-1, -1] = ~self.unknown
        return table

    @cached_property
    def own(self) -> IntArray:
        """int64 (rows, classes), in units: ln Q(c) up to a constant of the row."""
        return np.where(self.unknown[:, None], 0, -_STEP * self.rows.astype(np.int64))

    @cached_property
    def ranked(self) -> Bytes:
        """uint8 (n, classes): each person's classes, the likeliest by :attr:`own` first, ties by number."""
        return np.argsort(-self.own, axis=1, kind="stable").astype(np.uint8)[self.codes]


def _different(rows: Bytes) -> tuple[Bytes, IntArray]:
    """Return the different rows in rising order, uint8 (k, classes), and which of them each row is, int64 (n,)."""
    texts = np.ascontiguousarray(rows).view(f"S{rows.shape[1]}").ravel()
    different, which = np.unique(texts, return_inverse=True)
    return different.view(np.uint8).reshape(len(different), -1), which


def _rounded(book: Bytes, counts: IntArray) -> Bytes:
    """Return the one of 254 rows that is nearest to each, uint8 of the same shape; unknown stays unknown.

    Args:
        book: uint8 (k, classes), different rows.
        counts: int64 (k,): people with this row.
    """
    usable = book[:, 0] != UNKNOWN
    rows, people = book[usable], counts[usable]
    weights = falling_powers(STEPS_PER_NAT, UNKNOWN + 1, one=_ONE)[rows]
    logs = logarithm(weights * _CERTAIN // weights.sum(axis=1, keepdims=True) + _MIXED) >> _COARSE
    places = (logs - logs.min()).astype(np.float64)
    chosen, nearest = [int(people.argmax())], np.zeros(len(places), np.int64)
    apart = np.full(len(places), np.inf)
    for number in range(MOST_ROWS - 1):  # and one row for people of whom nothing is known
        distance = ((places - places[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.where(distance < apart, number, nearest)
        apart = np.minimum(apart, distance)
        chosen.append(int(apart.argmax()))
    table = book.copy()
    table[usable] = rows[chosen][nearest]
    return table

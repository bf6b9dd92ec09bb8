"""Guesses that devices tell their friends, and how friends use them: exact, in whole numbers.

Device j tells friend i a guess of its own person's class: for each class a *level* 0 .. 7, the number of nats by which
it is less likely than the likeliest one. By default the guess is the device's own prediction
(:mod:`ldpsim.devices.prediction`) from its features, its list and the published device model, without the row of friend
i: device i would count that row twice.

A level l is the weight W_l = exp(-l). So friend i knows P_j(k) = W_l(k) / sum of W, and adds

    S_j(c) = ln sum over k of H(c, k) P_j(k) / pi_k

with the affinity H and the class shares pi of the device model, to the published row of j. The row follows from j's
report, and the guess from j's features and list without j's own row: they are two sources. Both count as one friend in
the sum, which is weighted as a sum of rows is. Measured: the guess in place of the row lost 1.8 points on streamers,
whose friends are unlike (twitch-de), where row and guess lose .2; where friends are like both gain as much.

- **Guesses may mislead**, where friends are unlike. Device i uses them only where the score of its best class is then
  at most :data:`DOUBT` below that of its best class by own features alone. That is the logarithm of the odds .7 : .3
  that friends are alike, which is the calibration group's prior, too. Else it predicts from the published table, as
  without guesses.
- A friend who tells nothing is the published row alone.
- A guess is told and used where both list each other.
- A person whose label the curator publishes tells nothing: the table has the label.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.data.records import Records
from ldpsim.devices.mechanisms.feature_model import UNIT, UNIT_BITS
from ldpsim.devices.mechanisms.score_table import STEP_BITS
from ldpsim.devices.prediction import DeviceModel

GUESS, FEATURES, LABEL = KINDS = ("guess", "features", "label")
LEVELS = 8
DOUBT = 55528  # ln(.7 / .3), in units of a score
_WEIGHTS = np.array([65536, 24109, 8869, 3263, 1200, 442, 162, 60])  # 2**16 exp(-l), rounded
_FRACTION_BITS = 16  # of a logarithm
_MANTISSA_BITS = 30
_LN_2 = 45426  # 2**16 ln 2, rounded
_PAIRS_AT_ONCE = 1 << 17


@dataclass(frozen=True, eq=False)
class Guesses:
    """Guesses of some devices about their own people, before a friend is left out.

    Args:
        model: The published device model.
        devices: int64 (m,): their numbers.
        feature_scores: int64 (m, classes): scores by own features, in units.
        sums: int64 (m, classes + 1): sums over the own list, in steps, and their number; None where features alone are
            told.
        labels: int64 (m,): labels that are told, -1 for a person who tells a guess; None where nobody tells a label.
    """

    model: DeviceModel
    devices: IntArray
    feature_scores: IntArray = field(repr=False)
    sums: IntArray | None = field(repr=False)
    labels: IntArray | None = field(repr=False)

    @staticmethod
    def of(
        model: DeviceModel, records: Records, devices: IntArray, *, kind: str = GUESS, knowing: BoolArray | None = None
    ) -> Guesses:
        """Return the guesses of devices.

        Args:
            model: The published device model.
            records: The devices' records.
            devices: int64 (m,): their numbers.
            kind: One of :data:`KINDS`: a guess from features and list, one from features alone, or the own label of
                people who know it, and the guess of everybody else.
            knowing: bool (m,): people who know their label; no other label is read, and none without ``label``.
        """
        sums = model.score_table.list_sums(records, devices) if kind != FEATURES else None
        labels = np.where(knowing, records.labels, -1) if kind == LABEL and knowing is not None else None
        return Guesses(model, devices, model.scores(records, devices, lists=False), sums, labels)

    def levels(self, places: IntArray, friends: IntArray) -> IntArray:
        """int64 (pairs, classes): what each device tells each friend.

        Args:
            places: int64 (pairs,): places of the devices.
            friends: int64 (pairs,): numbers of the friends, each of whom is in the device's list.
        """
        table, scores = self.model.score_table, self.feature_scores[places]
        if self.sums is not None:
            sums_of_others = self.sums[places] - table.terms[table.row_of[friends]]
            scores = scores + table.shared(sums_of_others, saturation=self.model.saturation)
        levels = guess_levels(scores)
        if self.labels is not None:
            labels = self.labels[places]
            levels[labels >= 0] = LEVELS - 1
            levels[labels >= 0, labels[labels >= 0]] = 0
        return levels


def guess_levels(scores: IntArray) -> IntArray:
    """int64 of the same shape: levels of scores in units, (rows, classes).

    >>> guess_levels(np.array([[0, -UNIT, -9 * UNIT]])).tolist()
    [[0, 1, 7]]
    """
    gaps = scores.max(axis=1, keepdims=True) - scores
    return np.asarray(np.minimum((gaps + UNIT // 2) // UNIT, LEVELS - 1))


def scores_of_levels(model: DeviceModel, levels: IntArray) -> IntArray:
    """int64 (rows, classes): S of told levels, in steps of the table."""
    weights = _WEIGHTS[levels]
    mixtures = weights @ model.affinity_scores.T  # both in 2**-16
    units = whole_ln(np.maximum(mixtures, 1)) - whole_ln(weights.sum(axis=1, keepdims=True) << UNIT_BITS)
    shift = UNIT_BITS - STEP_BITS
    return (units + (1 << shift - 1)) >> shift


def scores_with_told(
    model: DeviceModel, everybody: Records, devices: IntArray, tells: BoolArray, *, kind: str = GUESS,
    knowing: BoolArray | None = None,
) -> IntArray:  # fmt: skip
    """int64 (devices, classes): the score of each class on the devices of people whose friends tell, in units.

    Args:
        model: The published device model, with an affinity.
        everybody: The records of all people, by number.
        devices: int64 (devices,): numbers of the devices.
        tells: bool (n,): people who tell their friends.
        kind, knowing: As of :meth:`Guesses.of`, for everybody.
    """
    table, numbers = model.score_table, np.arange(len(everybody))
    guesses = Guesses.of(model, everybody, numbers, kind=kind, knowing=knowing)
    list_sums = table.list_sums(everybody, numbers)[devices]
    feature_scores, sums_with_guesses = guesses.feature_scores[devices], list_sums.copy()
    reader, friend = mutual_pairs(everybody, devices, tells)
    for start in range(0, len(reader), _PAIRS_AT_ONCE):
        i, j = reader[start : start + _PAIRS_AT_ONCE], friend[start : start + _PAIRS_AT_ONCE]
        guess_scores = scores_of_levels(model, guesses.levels(j, devices[i]))
        without_row = 1 - table.terms[table.row_of[j], -1:]  # a friend without a row in the table counts now
        np.add.at(sums_with_guesses, i, np.hstack([guess_scores, without_row]))
    by_table, by_guesses = (
        feature_scores + table.shared(sums, saturation=model.saturation) for sums in (list_sums, sums_with_guesses)
    )
    alike = by_guesses.max(axis=1) >= feature_scores.max(axis=1) - DOUBT
    return np.where(alike[:, None], by_guesses, by_table)


def mutual_pairs(everybody: Records, devices: IntArray, tells: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the place of a device and the number of a friend who tells it, for each pair who list each other.

    Args:
        everybody: The records of all people, by number.
        devices: int64 (devices,): numbers of the devices.
        tells: bool (n,): people who tell their friends.
    """
    n = len(everybody)
    owner = np.repeat(np.arange(n), everybody.neighbour_counts)
    friend = everybody.neighbours.astype(np.int64)
    valid = (friend >= 0) & (friend < n) & (friend != owner)
    owner, friend = owner[valid], friend[valid]
    place = np.full(n, -1)
    place[devices] = np.arange(len(devices))
    mutual = (place[owner] >= 0) & tells[friend]
    mutual[mutual] = np.isin(friend[mutual] * n + owner[mutual], owner * n + friend)
    return place[owner[mutual]], friend[mutual]


def whole_ln(numbers: IntArray) -> IntArray:
    """Return ln of whole numbers 1 .. 2**53 in 2**-16, rounded down, by squares and shifts: alike on every machine.

    >>> whole_ln(np.array([1, 2, 1000])).tolist()
    [0, 45426, 452705]
    """
    exponent = np.frexp(numbers.astype(np.float64))[1].astype(np.int64) - 1  # exact below 2**53
    shift = np.maximum(_MANTISSA_BITS - exponent, 0)
    mantissa = (numbers << shift) >> np.maximum(exponent - _MANTISSA_BITS, 0)
    binary = exponent
    for _ in range(_FRACTION_BITS):
        mantissa = (mantissa * mantissa) >> _MANTISSA_BITS
        bit = mantissa >> _MANTISSA_BITS + 1
        binary, mantissa = 2 * binary + bit, mantissa >> bit
    return (binary * _LN_2) >> _FRACTION_BITS

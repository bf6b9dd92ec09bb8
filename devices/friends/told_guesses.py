"""Guesses that devices tell their friends, and how friends use them: exact, in whole numbers.

Device j tells friend i which class it takes its own person to be of: for each class a *level* 0 .. 7, which is by how
many nats the class is behind the likeliest one. By default the guess is the device's own prediction
(:mod:`ldpsim.devices.prediction`) from its features, its list and the published device model. The row of friend i is
left out of that list, so that what the table says of i does not come back as if it were j's (no echo).

A level l is the weight W_l = exp(-l). So friend i knows P_j(k) = W_l(k) / sum of W, and adds

    S_j(c) = ln sum over k of H(c, k) P_j(k) / pi_k

with the affinity H and the class shares pi of the device model, to the published row of j. The row is what the curator
knows of j's report, and the guess is what j knows without its own row: they are two sources. Both count as one friend
in the sum, which is shared as that of rows is. Measured: the guess in place of the row lost 1.8 points on streamers,
whose friends are unlike (twitch-de), where row and guess lose .2; where friends are like both gain as much.

- **Telling never has to help.** If friends are unlike, what they tell misleads. Device i uses what friends tell only
  where its best class then has a score that is at most :data:`DOUBT` below that of its best class by own features
  alone. That is the logarithm of the odds .7 : .3 that friends are alike, which the calibration group's prior has, too.
  Else it predicts from the published table, as without friends.
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
        own: int64 (m, classes): scores by own features, in units.
        sums: int64 (m, classes + 1): sums over the own list, in steps, and their number; None where features alone are
            told.
        labels: int64 (m,): labels that are told, -1 for a person who tells a guess; None where nobody tells a label.
    """

    model: DeviceModel
    devices: IntArray
    own: IntArray = field(repr=False)
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
        table, scores = self.model.score_table, self.own[places]
        if self.sums is not None:
            others = self.sums[places] - table.terms[table.row_of[friends]]
            scores = scores + table.shared(others, saturation=self.model.saturation)
        levels = guess_levels(scores)
        if self.labels is not None:
            told = self.labels[places]
            levels[told >= 0] = LEVELS - 1
            levels[told >= 0, told[told >= 0]] = 0
        return levels


def guess_levels(scores: IntArray) -> IntArray:
    """int64 of the same shape: levels of scores in units, (rows, classes).

    >>> guess_levels(np.array([[0, -UNIT, -9 * UNIT]])).tolist()
    [[0, 1, 7]]
    """
    behind = scores.max(axis=1, keepdims=True) - scores
    return np.asarray(np.minimum((behind + UNIT // 2) // UNIT, LEVELS - 1))


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
    lists = table.list_sums(everybody, numbers)[devices]
    own, total = guesses.own[devices], lists.copy()
    reader, friend = mutual_pairs(everybody, devices, tells)
    for start in range(0, len(reader), _PAIRS_AT_ONCE):
        i, j = reader[start : start + _PAIRS_AT_ONCE], friend[start : start + _PAIRS_AT_ONCE]
        told = scores_of_levels(model, guesses.levels(j, devices[i]))
        unknown = 1 - table.terms[table.row_of[j], -1:]  # of whom the table says nothing: one more friend
        np.add.at(total, i, np.hstack([told, unknown]))
    by_table, by_friends = (own + table.shared(sums, saturation=model.saturation) for sums in (lists, total))
    alike = by_friends.max(axis=1) >= own.max(axis=1) - DOUBT
    return np.where(alike[:, None], by_friends, by_table)


def mutual_pairs(everybody: Records, devices: IntArray, tells: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the place of a device and the number of a friend who tells it, for each pair who list each other.

    Args:
        everybody: The records of all people, by number.
        devices: int64 (devices,): numbers of the devices.
        tells: bool (n,): people who tell their friends.
    """
    n = len(everybody)
    owner = np.repeat(np.arange(n), everybody.neighbour_counts)
    near = everybody.neighbours.astype(np.int64)
    usable = (near >= 0) & (near < n) & (near != owner)
    owner, near = owner[usable], near[usable]
    place = np.full(n, -1)
    place[devices] = np.arange(len(devices))
    wanted = (place[owner] >= 0) & tells[near]
    wanted[wanted] = np.isin(near[wanted] * n + owner[wanted], owner * n + near)
    return place[owner[wanted]], near[wanted]


def whole_ln(numbers: IntArray) -> IntArray:
    """Return ln of whole numbers 1 .. 2**53 in 2**-16, rounded down, by squares and shifts: alike on every machine.

    >>> whole_ln(np.array([1, 2, 1000])).tolist()
    [0, 45426, 452705]
    """
    exponent = np.frexp(numbers.astype(np.float64))[1].astype(np.int64) - 1  # exact below 2**53
    up = np.maximum(_MANTISSA_BITS - exponent, 0)
    mantissa = (numbers << up) >> np.maximum(exponent - _MANTISSA_BITS, 0)
    binary = exponent
    for _ in range(_FRACTION_BITS):
        mantissa = (mantissa * mantissa) >> _MANTISSA_BITS
        above = mantissa >> _MANTISSA_BITS + 1
        binary, mantissa = 2 * binary + above, mantissa >> above
    return (binary * _LN_2) >> _FRACTION_BITS

"""Exact figures of the mechanisms' reports: their bits, columns, rows and sizes.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.data.records import records_by_column
from ldpsim.devices.mechanisms import (
    ClearAdjacency,
    ClearFeatures,
    ClearLabel,
    Laplace,
    MultiBit,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    discrete_laplace,
    exact_loss,
    sparse_rows,
)
from ldpsim.devices.mechanisms.base import IN_CLEAR, dense_features, whole_numbers
from ldpsim.devices.mechanisms.bits import (
    pack_bits,
    pack_positions,
    pack_rows,
    unpack_many,
    unpack_positions,
)
from ldpsim.devices.mechanisms.categories import LARGEST, Coding
from ldpsim.devices.mechanisms.exact_loss import ONE, Loss, probability_threshold
from ldpsim.devices.mechanisms.integers import pack_integers, unpack_integers
from ldpsim.devices.mechanisms.stacked_reports import Decoded, stacked
from ldpsim.devices.sampling.binomial import binomial
from tests.devices.mechanisms.examples import person


def test_whole_numbers_are_a_tuple_of_plain_integers() -> None:
    assert whole_numbers((2, 3), least=2) and whole_numbers((), least=2)
    assert not any(whole_numbers(given, least=2) for given in ((1, 3), [2, 3], (2.0,), (True,), 2, None))
    assert not whole_numbers((True,), least=0)


def test_columns_that_are_none_count_as_the_nearest_one() -> None:
    people = [person({-3: 0.5, 1: 0.25, 9: 2.0}), person(), person({0: 7.0})]
    wanted = [[0.5, 0.25, 2.0], [0.0, 0.0, 0.0], [7.0, 0.0, 0.0]]
    for given in (people, records_by_column(people)):
        assert dense_features(given, 3).tolist() == wanted and dense_features(given, 3).dtype == np.float32


def test_few_flips_are_few_of_many_too() -> None:
    """The sampler counts flips up to 1 in 16, and up to 2^17 flips a row."""
    of = lambda flip, n: RandomizedResponse(flip, n).few_flips  # noqa: E731
    assert of(ONE // 16, 99) and not of(ONE // 16 + 1, 99)
    assert of(ONE >> 10, 1 << 27) and not of(ONE >> 10, (1 << 27) + 1)


@pytest.mark.parametrize(("ones", "size", "data"), [
    ([0], 8, "0080"), ([0], 9, "0100"), ([], 1, "01"), ([], 0, "00"), ([0, 1], 16, "00c000"), ([0, 1], 17, "010000"),
    ([127], 2000, "017f"), ([128], 2000, "018001"), ([3, 132], 2000, "01038001"), ([5, 16_390], 99_999, "0105808001"),
    ([16_383], 99_999, "01ff7f"), ([2_097_152], 9_999_999, "0180808001"),
])  # fmt: skip
def test_bits_on_the_wire(ones: list[int], size: int, data: str) -> None:
    bits = np.zeros(size, np.bool_)
    bits[ones] = True
    assert pack_bits(bits).hex() == data and unpack_positions(bytes.fromhex(data), size).tolist() == ones
    places = np.array(ones * 2, np.int64)
    rows = pack_rows(places, np.array([len(ones)] * 2), np.array([size] * 2))
    assert [row.hex() for row in rows] == [data] * 2
    found, counts = unpack_many(rows, np.array([size] * 2))
    assert found.tolist() == ones * 2 and counts.tolist() == [len(ones)] * 2


def test_on_a_tie_the_bits_are_packed() -> None:
    """198 gaps of one byte and one of two take as much as 1,600 packed bits, and one gap less takes fewer."""
    ones = np.append(np.arange(198), 326)
    for places, form in ((ones, 0), (ones[1:] - 1, 1)):
        bits = np.zeros(1600, np.bool_)
        bits[places] = True
        assert pack_bits(bits)[0] == form == pack_positions(places, 1600)[0]
        assert pack_rows(places, np.array([len(places)]), np.array([1600])) == [pack_bits(bits)]
        assert unpack_positions(pack_bits(bits), 1600).tolist() == places.tolist()


def test_categories_of_columns_and_on_the_wire() -> None:
    plain = Coding((2, 3, 5), 9, 1)
    bits = "1" + "01" + "001"  # lowest first
    (data,) = plain.pack(np.array([[1, 2, 4]]))
    assert data == int(bits.ljust(8, "0"), 2).to_bytes(1, "big") and plain.unpack(data).tolist() == [1, 2, 4]
    read = lambda coding, *rows: coding.read(records_by_column([person(dict.fromkeys(r, 1.0)) for r in rows])).tolist()  # noqa: E731
    # The first of two counts; a column that there is not counts as the nearest one.
    assert read(plain, [0, 2, 3, 8], [], [-2, 99]) == [[1, 1, 4], [0, 0, 0], [1, 0, 4]]
    joined = Coding((2, 2, 2), 5, 2)
    assert read(joined, *([c] for c in range(5))) == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert Coding((2,), LARGEST, LARGEST).columns == LARGEST


@pytest.mark.parametrize(("numbers", "data"), [
    ([], "01"), ([0, 127, -128], "01007f80"), ([128], "028000"), ([-129], "027fff"),
    ([1, -(1 << 63)], "08" + "01" + "00" * 14 + "80"),
    ([32767], "02ff7f"), ([32768], "03008000"),
])  # fmt: skip
def test_integers_on_the_wire(numbers: list[int], data: str) -> None:
    assert pack_integers(np.array(numbers, np.int64)).hex() == data
    assert unpack_integers(bytes.fromhex(data), len(numbers)).tolist() == numbers


def test_the_grid_of_a_range() -> None:
    grid = Laplace(1, 1, 3, low=-1.0, high=3.0, grid=8)
    assert grid.step == 0.5 and grid.steps(np.array([-9, -1, -0.76, -0.74, 0.0, 2.9, 3, 7])).tolist() == [
        0, 0, 0, 1, 2, 8, 8, 8
    ]  # fmt: skip
    assert grid.estimate(np.array([0, 3, 9])).tolist() == [-1.0, 0.5, 3.5]
    assert grid.variance(np.zeros(3)) == pytest.approx([0.25 * discrete_laplace.variance(1, 1)] * 3)
    bit = OneBit(ONE // 4, 2, low=-1.0, high=3.0, grid=4)
    assert bit.thresholds(np.array([-1.0, 0, 1, 2, 3])).tolist() == [ONE // 8 * k for k in (2, 3, 4, 5, 6)]
    assert bit.estimate(np.array([False, True])) == pytest.approx([-3.0, 5.0])
    assert bit.variance(np.array([-1.0, 1.0])) == pytest.approx([64 * 3 / 16, 64 / 4])
    assert bit.chance_of_one(np.array([0.0])).tolist() == [0.375]
    assert bit.weight == pytest.approx(math.log(3)) and bit.flip_probability == 0.25
    assert bit.log_chance(np.array([True, False]), np.array([0.0, 0.0])) == pytest.approx(math.log(0.375 * 0.625))
    assert bit.loss_of(2) == exact_loss.log_ratio(3, 1, 2)
    several = MultiBit(ONE // 4, 6, 2, low=-1.0, high=3.0)
    assert several.slope == pytest.approx(6 * 4 / (4 * 0.5))
    assert several.variance(np.array([-1.0, 1.0])) == pytest.approx([3 * 16 - 4, 3 * 16])
    sparse, constant = several.sparse_estimates(csr_array(np.array([[1, 0, -1]], np.int8)))
    assert sparse.toarray().tolist() == [[12.0, 0.0, -12.0]] and constant == 1.0 and sparse.dtype == np.float32


def test_clear_reports_are_certain() -> None:
    features, rows, label = ClearFeatures(3, -1.0, 3.0), ClearAdjacency(3), ClearLabel(3)
    assert features.evidence(np.array([3.0, 1.0, 0.0])).tolist() == [IN_CLEAR, 0.0, -IN_CLEAR]
    assert rows.evidence(np.array([True, False])).tolist() == [IN_CLEAR, -IN_CLEAR] and rows.flip_odds == 0
    assert label.evidence(1).tolist() == [0.0, IN_CLEAR, 0.0] and label.estimate(2).tolist() == [0.0, 0.0, 1.0]
    assert rows.loss(device=0) == Loss(math.inf, math.inf) and ClearAdjacency(1).loss() == Loss(0.0, 0.0)
    report = np.array([0.0, -1.0, 3.0], np.float32)
    data = features.encode(report)
    assert data == struct.pack("<I2sff", 2, b"\0\x60", -1.0, 3.0)
    assert features.decode(data, device=0).tolist() == report.tolist()


def test_places_of_nodes_in_rows() -> None:
    both, one = ClearAdjacency(5), ClearAdjacency(5, "one-end")
    assert [both.targets(2), one.targets(2), both.most_targets(None), one.most_targets(None)] == [4, 2, 4, 4]
    assert both.row(2, np.array([0, 2, 3, 9])).tolist() == [True, False, True, True]
    assert one.row(2, np.array([-4, 2, 3])).tolist() == [True, False]
    data = {1: both.encode(both.row(1, np.array([3]))), 4: both.encode(both.row(4, np.array([0, 3])))}
    whole = stacked(both.stacker(5), data)
    assert whole.dtype == np.bool_ and np.argwhere(whole.toarray()).tolist() == [[1, 3], [4, 0], [4, 3]]
    numbers = stacked(NoisyRow(1, 1, 4, grid=10).stacker(4), {2: pack_integers(np.array([5, -6, 7]))})
    assert numbers.dtype == np.int32 and numbers.tolist() == [[0] * 4, [0] * 4, [5, -6, 0, 7], [0] * 4]
    assert NoisyRow(1, 1, 4, grid=10).estimate(np.array([5, -10])).tolist() == [0.5, -1.0]


@pytest.mark.parametrize(("n", "epsilon"), [(2, 3.0), (1000, 4.0), (100_000, 8.0)])
def test_a_row_takes_words_for_its_count_its_flips_and_some_to_spare(n: int, epsilon: float) -> None:
    law = binomial(n - 1, probability_threshold(epsilon))
    mean = (n - 1) / (math.exp(epsilon) + 1)
    assert sparse_rows._words(law) == 2 + math.ceil(mean + mean**2 / (n - 1) + 6 * math.sqrt(mean) + 8)


STACKED: list[tuple[list[Any], type]] = [
    ([np.array([1, -2]), np.array([3, (1 << 31) - 1])], np.int32), ([np.array([1, 1 << 31])], np.int64),
    ([np.array([-(1 << 31), 0])], np.int64), ([np.array([0.5, 2.0])], np.float64),
    ([np.array([1, 2], np.int8)], np.int8), ([np.array([True, False])], np.bool_),
    ([np.zeros(0, np.int64)], np.int32), ([], np.int32), ([np.array([[1], [2]])], np.int32),
]  # fmt: skip


@pytest.mark.parametrize(("reports", "dtype"), STACKED)
def test_arrays_of_one_shape_are_stacked_in_32_bits_where_these_hold_them(reports: list[Any], dtype: type) -> None:
    rows = {2 * place + 1: bytes([place]) for place in range(len(reports))}
    read: Any = lambda data, device: reports[data[0]]  # noqa: E731
    for labels in (False, True) if reports else (False,):
        found = stacked(Decoded(read, 5, labels=labels), rows)
        assert found.dtype == dtype and found.shape == (5, *np.shape(reports[0] if reports else []))
        for device in range(5):
            wanted = reports[device // 2] if device in rows else np.zeros(found.shape[1:])
            assert np.array_equal(found[device], wanted)
    numbers = stacked(Decoded(lambda data, *, device: data[0], 4, labels=True), {1: b"\7", 3: b"\0"})
    assert numbers.dtype == np.int64 and numbers.tolist() == [-1, 7, -1, 0]
    assert Decoded(read, 2, labels=True).done().tolist() == [-1, -1]


def test_the_likely_size_of_a_noisy_row() -> None:
    """The widest of 10^9 numbers is at the step of a 1 and 9 ln 10 scales."""
    for t, s, grid in ((40, 3, 10), (3, 2, 64), (1000, 1, 64), (5000, 7, 64)):
        most = grid + t / s * 9 * math.log(10)
        width = next(width for width in range(1, 5) if most < 1 << 8 * width - 1)
        assert NoisyRow(t, s, 11, grid).bytes_per_device() == 1 + 10 * width

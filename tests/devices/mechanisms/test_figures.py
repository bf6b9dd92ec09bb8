"""Exact figures and bounds of the mechanisms, on both sides of each limit.

It covers all modules below ``devices.mechanisms``.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.sparse import csr_array

from devices import mechanisms
from devices.data.population import Record
from devices.facts import PublicFacts
from devices.mechanisms import (
    GRR,
    GRRFS,
    AnalyticGaussian,
    ClearAdjacency,
    ClearFeatures,
    ClearLabel,
    Degree,
    GradedVote,
    GroupDegrees,
    Laplace,
    MultiBit,
    NeighbourhoodVote,
    NoisyRow,
    OneBit,
    OwnFeaturesVote,
    RandomizedResponse,
    SubsetSelection,
    Window,
    class_table,
    discrete_laplace,
    exact_loss,
    gaussian,
    sparse_rows,
    subset_mixture,
)
from devices.mechanisms.base import IN_CLEAR, StepNoise, dense_features, dense_rows, whole_numbers
from devices.mechanisms.bits import (
    expected_size,
    pack_bits,
    pack_positions,
    pack_rows,
    unpack_bits,
    unpack_many,
    unpack_positions,
)
from devices.mechanisms.categories import LARGEST, Coding
from devices.mechanisms.exact_loss import ONE, Loss, probability_threshold, round_up
from devices.mechanisms.integers import pack_integers, unpack_integers
from devices.mechanisms.stacked_reports import numbers_or_rows, same_shape
from devices.mechanisms.word_model import LARGEST_EXPONENT, UNIT, WordModel, read_model
from devices.noise import NoiseStream
from devices.sampling.binomial import binomial

HALF, MOST = ONE // 2, 1 << 16
Q = np.array([[3, 1, 0], [0, 0, 0], [1, 6, 1], [0, 1, 4], [2, 2, 3]])
VOTE = NeighbourhoodVote.from_probabilities(Q, 1.0, homophily=0.7, candidates=3)
GRADED = GradedVote.from_probabilities(Q, 2.0, homophily=0.7, slope=0.5, levels=8)
WORDS = WordModel(np.arange(6).reshape(2, 3) * UNIT, np.array([4 * UNIT, UNIT]), np.array([UNIT, 0, 7]), (256, 128))
OWN = OwnFeaturesVote.from_probabilities(Q, 1.0, WORDS, homophily=0.7)
WINDOW = Window.from_epsilon(1.0, d=4)
FS = GRRFS((HALF // 2, HALF // 2), (2, 3, 3), 2, 7)


def person(features: dict[int, float] | None = None, near: tuple[int, ...] = (), label: int = 0) -> Record:
    features = features or {}
    columns, values = np.array(list(features), np.int32), np.array(list(features.values()), np.float32)
    return Record(columns, values, np.array(near, np.int32), label)


# The last value that is taken and the first one that is refused, of each limit.
BOUNDS: list[tuple[Any, str, Any, Any]] = [
    (RandomizedResponse(HALF - 1, 3), "flip", 1, 0), (RandomizedResponse(1, 3), "flip", HALF - 1, HALF),
    (RandomizedResponse(1, 3), "n", 1, 0), (RandomizedResponse(1, 3), "sampler", 2, 3),
    (RandomizedResponse(1, 3, sampler=2), "n", (1 << 32) + 1, (1 << 32) + 2),
    (OneBit(1, 3), "flip", HALF - 1, HALF), (OneBit(2, 3), "flip", 1, 0), (OneBit(1, 3), "d", 1, 0),
    (OneBit(1, 3), "grid", 1, 0), (OneBit(1, 3), "grid", 1 << 20, (1 << 20) + 1), (OneBit(1, 3), "high", 1e-9, 0.0),
    (MultiBit(1, 3, 2), "m", 1, 0), (MultiBit(1, 3, 2), "m", 3, 4), (MultiBit(1, 3, 2), "set_seed", -1, -2),
    (MultiBit(1, 3, 2), "set_seed", (1 << 32) - 1, 1 << 32),
    (WINDOW, "m", 4, 5), (replace(WINDOW, grid=1), "window", 1, 0), (WINDOW, "near", ONE - 1, ONE),
    (WINDOW, "near", ONE * 1546 // 4096 + 1, ONE * 1546 // 4096),
    (Window("pm", ONE - 1, 1, 2, 1, 1), "outputs", 2, 1),
    (Window("pm", ONE - 1, 1, 2, 1, 1), "outputs", MOST, MOST + 1),
    (Window("pm", ONE - 1, 1, 2, 1, 1), "window", 4095, 4096),
    (GRR(1, 3), "categories", 2, 1), (GRR(1, 3), "categories", MOST, MOST + 1), (GRR(1, 3), "lie", ONE * 2 // 3, ONE),
    (GRR(1, 4), "lie", ONE // 4 * 3 - 1, ONE // 4 * 3), (GRR(5, 3), "lie", 1, 0),
    (SubsetSelection(1, 1, 3), "categories", 2, 1), (SubsetSelection(1, 1, 3), "categories", MOST, MOST + 1),
    (SubsetSelection(1, 1, 3), "size", 2, 3), (SubsetSelection(1, 2, 3), "size", 1, 0),
    (SubsetSelection(1, 2, 4), "miss", HALF - 1, HALF), (SubsetSelection(2, 2, 4), "miss", 1, 0),
    (ClearLabel(3), "categories", 1, 0), (ClearLabel(3), "categories", MOST, MOST + 1), (ClearAdjacency(3), "n", 1, 0),
    (Degree(1, 1, 3), "n", 1, 0), (Degree(1, 1, 3), "t", (1 << 32) - 1, 1 << 32),
    (Degree(1, 1, 3), "s", (1 << 32) - 1, 1 << 32),
    (Degree(3, 2, 3), "t", 1, 0), (Degree(3, 2, 3), "s", 1, 0), (Degree(3, 1, 3), "s", 2, 3),
    (GroupDegrees(1, 1, 3, 2), "groups", 1, 0), (GroupDegrees(1, 1, 3, 2), "groups", MOST, MOST + 1),
    (GroupDegrees(1, 1, 3, 2), "seed", -1, -2), (GroupDegrees(1, 1, 3, 2), "seed", (1 << 32) - 1, 1 << 32),
    (NoisyRow(1, 1, 3), "grid", 1, 0), (NoisyRow(1, 1, 3), "grid", 1 << 20, (1 << 20) + 1),
    (GRADED, "lie", 1, 0), (GRADED, "lie", HALF - 1, HALF), (GRADED, "levels", 1, 0), (GRADED, "levels", 128, 129),
    (GRADED, "step", 1, 0), (GRADED, "step", 1 << 32, (1 << 32) + 1),
    (GRADED, "affinity", (MOST,) * 9, (MOST + 1,) * 9),
    (GRADED, "affinity", (1,) * 9, (0,) * 9), (VOTE, "candidates", 2, 1), (VOTE, "candidates", 3, 4),
    (replace(VOTE, unseen=True), "candidates", 1, 0), (OWN, "columns", 2, 1),
    (OWN, "exponents", (LARGEST_EXPONENT, -LARGEST_EXPONENT), (LARGEST_EXPONENT + 1, 0)),
    (OWN, "exponents", (0, 0), (0, -LARGEST_EXPONENT - 1)), (OWN, "exponents", (0, 0), (0, 0, 0)),
    (FS, "m", 1, 0), (FS, "m", 3, 4), (FS, "lies", (HALF - 1, HALF), (HALF, HALF)), (FS, "lies", (1, 1), (1, 0)),
    (FS, "lies", (1, ONE * 2 // 3), (1, ONE * 2 // 3 + 1)),
    (AnalyticGaussian(1 << 36, 1e-5, 3), "delta", 1 - 1e-9, 1.0),
    (AnalyticGaussian(1 << 36, 1e-5, 3), "delta", 2e-300, 1e-300),
    (Laplace(1, 1, 3), "grid", 1 << 20, (1 << 20) + 1), (Laplace(1, 1, 3), "d", 1, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mechanism", "name", "taken", "refused"), BOUNDS, ids=lambda value: getattr(value, "name", None)
)
def test_the_limits_of_the_parameters(mechanism: Any, name: str, taken: object, refused: object) -> None:
    assert getattr(replace(mechanism, **{name: taken}), name) == taken
    with pytest.raises(ValueError):
        replace(mechanism, **{name: refused})


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: RandomizedResponse(0, 3), "the flip threshold must lie in 1..2**63-1, not 0"),
    (lambda: RandomizedResponse(1, 3, sampler=3), "sampler 3 of randomised response does not draw rows of 3 people"),
    (lambda: Degree(1, 1, 0), "degree needs n >= 1 and reporting both or one-end, not 0, both"),
    (lambda: Laplace(2, 4, 1), "a scale is two integers of 1..2**32-1 in lowest terms, not 2/4"),
    (lambda: OneBit(1, 3, grid=0), "one_bit needs a grid of 1..2**20 steps, not 0"),
    (lambda: MultiBit.from_epsilon(1.0, d=3, m=0), "multi-bit samples 1..3 features (there are 3), not 0"),
    (lambda: MultiBit.from_epsilon(1.0, d=3, m=4), "multi-bit samples 1..3 features (there are 3), not 4"),
    (lambda: AnalyticGaussian(1 << 29, 0.1, 3), "the deviation must be 1/4 of a step .. 2**36 steps, not 0.125"),
    (lambda: GRRFS.from_epsilon(1.0, facts=PublicFacts(9, 7, 2), block=0), "a block is 1 or more columns, not 0"),
    (lambda: Coding((2,), LARGEST + 1, LARGEST + 1), f"{LARGEST + 1} columns are more than {LARGEST}"),
    (lambda: Coding((2, 2), 5, 2), "5 columns in blocks of 2 do not make up 2 attributes"),
    (lambda: Coding((2, 3), 4, 2), "4 columns in blocks of 2 do not make up 2 attributes"),
    (lambda: Coding((2, 3), 3, 1), "3 columns in blocks of 1 do not make up 2 attributes"),
    (lambda: Coding((2, 3), 4, 0), "4 columns in blocks of 0 do not make up 2 attributes"),
    (lambda: Coding((2, 3), 4, 1).unpack(b"\x10"), "1 bytes do not hold 2 categories"),
    (lambda: Coding((2, 3), 4, 1).unpack(b"\x60"), "a category lies outside its domain"),
    (lambda: unpack_integers(b"\x09" + bytes(9), 1), "10 bytes do not hold 1 integers"),
    (lambda: unpack_integers(b"\x02\x7f\x00", 1), "integers that are wider than they need be"),
    (lambda: unpack_bits(b"\x00\x00\x00", 8), "2 bytes do not hold 8 bits"),
    (lambda: unpack_bits(b"\x00\x00\x01", 15), "a bit is set beyond 15 bits"),
    (lambda: unpack_positions(b"\x00\x80\x00", 16), "packed bits that are larger than gaps"),
    (lambda: unpack_positions(b"\x01\x00\x00", 16), "gaps that are no smaller than packed bits"),
    (lambda: unpack_positions(b"\x01\x11", 17), "gaps run past 17 bits"),
    (lambda: unpack_positions(b"\x01\x80", 30), "a gap is cut off"),
    (lambda: unpack_positions(b"\x01\x81\x00", 30), "a gap is longer than its number"),
    (lambda: unpack_many([b"\x01\x11"], np.array([17])), "gaps run past their row"),
    (lambda: unpack_many([b"\x01\x81", b"\x01\x01"], np.array([99, 99])), "a gap is cut off"),
    (lambda: NoisyRow(1, 1, 2).decode(pack_integers(np.array([1 << 31])), device=0), "a number beyond 32 bits"),
    (lambda: NoisyRow(1, 1, 2).decode(pack_integers(np.array([-(1 << 31) - 1])), device=0), "a number beyond 32 bits"),
    (lambda: ClearFeatures(1, 1.0, 2.0).decode(struct.pack("<I", 2) + b"\0\x80" + struct.pack("<f", 2.5), device=0),
     "a feature lies outside its range"),
    (lambda: ClearFeatures(1, 1.0, 2.0).decode(struct.pack("<I", 2) + b"\0\x80" + struct.pack("<f", 0.5), device=0),
     "a feature lies outside its range"),
    (lambda: class_table.affinity_weights(2, 1.0, None), "a homophily must be 0 or more and below 1, not 1.0"),
    (lambda: class_table.affinity_weights(2, 0.5, np.eye(2)), "a vote needs a homophily or an affinity, and not both"),
    (lambda: class_table.affinity_weights(2, None, np.eye(2)), "an affinity is 2 x 2 finite numbers above 0"),
    (lambda: class_table.quantised(np.array([[-1e-9, 1]])), "a class probability is negative or not finite"),
    (lambda: class_table.from_text("AAA=", 3), "a text does not hold 3 bytes in base64"),
    (lambda: GradedVote.from_probabilities(Q, 1.0, slope=0.0, homophily=0.5),
     "a slope must be a finite number above 0, not 0.0"),
    (lambda: WordModel(np.zeros((1, 2), int), np.array([-1]), np.zeros(2, int), (0, 0)),
     "a squared weight is negative"),
    (lambda: WordModel(np.full((1, 2), 1 << 31), np.array([0]), np.zeros(2, int), (0, 0)).as_text(),
     "a model holds a number beyond 32 bits"),
    (lambda: read_model(class_table.as_text(np.arange(24, dtype="<u4").view(np.uint8)), 7, 2, (0, 0)),
     "the last number of a model is not 0"),
    (lambda: discrete_laplace.scale_for(1e-10, sensitivity=1),
     "epsilon 1e-10 at a sensitivity of 1 needs a scale beyond 2**32"),
    (lambda: probability_threshold(45.0), "epsilon 45 is beyond what a 64-bit threshold can hold (about 44)"),
    (lambda: probability_threshold(1e-20), "epsilon 1e-20 is too small: the report would say nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_refused_says_why(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as raised:
        make()
    assert str(raised.value) == message


def test_whole_numbers_are_a_tuple_of_plain_integers() -> None:
    assert whole_numbers((2, 3), least=2) and whole_numbers((), least=2)
    assert not any(whole_numbers(given, least=2) for given in ((1, 3), [2, 3], (2.0,), (True,), 2, None))
    assert not whole_numbers((True,), least=0)


def test_columns_that_are_none_count_as_the_nearest_one() -> None:
    people = [person({-3: 0.5, 1: 0.25, 9: 2.0}), person(), person({0: 7.0})]
    wanted = [[0.5, 0.25, 2.0], [0.0, 0.0, 0.0], [7.0, 0.0, 0.0]]
    assert dense_rows(people, 3).tolist() == wanted == [dense_features(each, 3).tolist() for each in people]
    assert dense_rows(people, 3).dtype == dense_features(people[0], 3).dtype == np.float32


@pytest.mark.parametrize(("n", "reporting", "sampler", "degree", "flip", "ones", "draws"), [
    (11, "both", 1, 2, 4, 8 / 4 + 2 * 3 / 4, 10.0), (11, "one-end", 1, 2, 4, (8 / 4 + 2 * 3 / 4) / 2, 5.0),
    (11, "both", 2, 2, 4, 3.5, 2.5), (11, "one-end", 2, 2, 4, 1.75, 1.25),
    (11, "both", 2, 2, 16, 8 / 16 + 2 * 15 / 16, 0.0), (11, "both", 2, 2, 15, 8 / 15 + 2 * 14 / 15, 2.5),
])  # fmt: skip
def test_what_randomised_response_is_expected_to_take(
    n: int, reporting: Any, sampler: int, degree: int, flip: int, ones: float, draws: float
) -> None:
    mechanism = RandomizedResponse(ONE // flip, n, reporting, sampler)
    assert mechanism.expected_ones(degree) == pytest.approx(ones, rel=1e-12)
    assert mechanism.expected_draws() == draws
    share = ones / 10 * (1 if reporting == "both" else 2)
    rows = [10] if reporting == "both" else np.linspace(0, 10, 2001)
    mean = np.mean([expected_size(row, share) for row in rows])
    assert mechanism.expected_bytes(degree) == pytest.approx(float(mean), rel=0.02)
    p = 1 / flip
    assert mechanism.flip_odds == pytest.approx(p / (1 - p), rel=1e-12)
    assert mechanism.weight == pytest.approx(math.log(flip - 1), rel=1e-12)
    assert mechanism.estimate(np.array([False, True])) == pytest.approx([-p / (1 - 2 * p), (1 - p) / (1 - 2 * p)])
    assert mechanism.variance(np.zeros(3)) == pytest.approx([p * (1 - p) / (1 - 2 * p) ** 2] * 3)
    assert mechanism.loss(device=1) == (
        mechanism.loss() if reporting == "both" else Loss(mechanism.loss().bit, mechanism.loss().bit)
    )


def test_few_flips_are_few_of_many_too() -> None:
    """The sampler counts flips up to 1 in 16, and up to 2^17 flips a row."""
    of = lambda flip, n: RandomizedResponse(flip, n, sampler=2).few_flips  # noqa: E731
    assert of(ONE // 16, 99) and not of(ONE // 16 + 1, 99)
    assert of(ONE >> 10, 1 << 27) and not of(ONE >> 10, (1 << 27) + 1)
    assert not replace(RandomizedResponse(1, 9, sampler=2), sampler=1).few_flips


@pytest.mark.parametrize(
    ("size", "share"), [(0, 0.3), (100, 0.0), (100, 0.05), (100, 0.5), (2000, 0.002), (40_000, 1e-5)]
)
def test_the_expected_size_is_that_of_the_gaps_or_of_the_packed_bits(size: int, share: float) -> None:
    """A one at each place, times the bytes of the gap before it, which is at least a power of 128 with this chance."""
    gaps = sum(share * (1 + sum((1 - share) ** (1 << 7 * k) for k in (1, 2, 3) if place >= 1 << 7 * k))
               for place in range(size))  # fmt: skip
    assert expected_size(size, share) == pytest.approx(1 + min(gaps, -(-size // 8)), rel=1e-9)


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


def test_losses_are_summed_and_rounded_up_at_the_ninth_digit() -> None:
    assert [round_up(x) for x in (1.0, 1.0000000001, Decimal("0.1234567890001"), 0.0, math.inf, -math.inf)] == [
        1.0, 1.000000001, 0.123456790, 0.0, math.inf, -math.inf
    ]  # fmt: skip
    assert Loss(0.1, 0.7, 1e-6) + Loss(0.2, 0.1, 2e-6) == Loss(0.3, 0.8, 3e-6)
    assert exact_loss.log_ratio(3, 1, 2) == math.ceil(2e9 * math.log(3)) / 1e9
    assert exact_loss.log_ratio(3, 1) == math.ceil(1e9 * math.log(3)) / 1e9
    for wrong in (0, -1.0, math.nan, math.inf, "1", None):
        with pytest.raises(ValueError, match="epsilon must be a finite number above 0"):
            exact_loss.check_epsilon(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "k", "j"), [(1.0, 1, 1), (0.3, 6, 1), (2.5, 9, 4), (44.0, 1, 1), (1e-9, 1, 1)])
def test_a_threshold_is_the_probability_rounded_up(epsilon: float, k: int, j: int) -> None:
    with mpmath.workdps(60):
        exact = mpmath.mpf(2) ** 64 * k / (j * mpmath.exp(mpmath.mpf(repr(epsilon))) + k)
        assert probability_threshold(epsilon, k, j) == int(mpmath.ceil(exact))


def test_the_scale_of_the_noise_is_the_fraction_of_the_budget() -> None:
    assert discrete_laplace.scale_for(0.5, sensitivity=1) == (2, 1)
    assert discrete_laplace.scale_for(1.2, sensitivity=9) == (15, 2)
    for epsilon, sensitivity in ((math.pi, 7), (1 / 3, 1000), (1e5 / 7, 3)):
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=sensitivity)
        assert max(t, s) < 1 << 32 and math.gcd(t, s) == 1
        assert 0 <= Fraction(repr(epsilon)) - Fraction(sensitivity * s, t) < Fraction(repr(epsilon)) / 10**5
    assert discrete_laplace.scale_for(1.0, sensitivity=(1 << 32) - 1) == ((1 << 32) - 1, 1)
    assert discrete_laplace.loss(3, 2, entries=4, shift=5) == Loss(round_up(Decimal(10) / 3), round_up(Decimal(40) / 3))
    assert discrete_laplace.loss(3, 2, entries=0) == Loss(0.0, 0.0)


@pytest.mark.parametrize(("t", "s"), [(1, 1), (7, 2), (2, 9)])
def test_the_noise_has_the_law_of_its_formulas(t: int, s: int) -> None:
    z = np.arange(-400, 401)
    law = np.exp([discrete_laplace.log_probability(np.array([k]), t, s) for k in z])
    assert law.sum() == pytest.approx(1, rel=1e-12)
    assert discrete_laplace.log_probability(np.array([3, -2]), t, s) == pytest.approx(
        math.log(law[403]) + math.log(law[398])
    )
    assert discrete_laplace.variance(t, s) == pytest.approx(float(law @ z**2), rel=1e-9)
    for k in (1, 2, 5):
        assert float(discrete_laplace.tail(k, t, s)) == pytest.approx(law[z >= k].sum(), rel=1e-12)
        found = discrete_laplace.evidence(np.array([k, -k]), t, s, shift=3)
        assert found == pytest.approx([math.log(law[400 + at - 3] / law[400 + at]) for at in (k, -k)])
    assert discrete_laplace.variance(1, 800) == 0.0 < discrete_laplace.variance(1, 600)


@pytest.mark.parametrize("sigma", [0.25, 0.4, 0.7, 2.0, 30.0])
def test_rounded_gaussian_noise_has_the_law_of_its_formulas(sigma: float) -> None:
    z = np.arange(-300, 301)
    normal = mpmath.ncdf
    law = np.array([float(normal((k + 0.5) / sigma) - normal((k - 0.5) / sigma)) for k in z.tolist()])
    assert gaussian.variance(sigma) == pytest.approx(float(law @ z**2), rel=1e-9, abs=1e-12)
    for k in (-2, 0, 1):
        stated = gaussian.log_probability(np.array([k, 0]), sigma)
        assert stated == pytest.approx(math.log(law[300 + k]) + math.log(law[300]), rel=1e-9, abs=1e-12)


def test_the_tail_of_the_normal_law_is_good_to_75_digits() -> None:
    with mpmath.workdps(120):
        for x in (Fraction(0), Fraction(1, 3), Fraction(5, 2), Fraction(9)):
            exact = mpmath.erfc(mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)) / 2
            assert abs(mpmath.mpf(str(gaussian.upper_tail(x))) - exact) < mpmath.mpf(10) ** -75


@pytest.mark.parametrize(
    ("shift", "sigma", "epsilon"), [(1.0, 1.0, 0.0), (3.0, 2.0, 0.7), (1.0, 9.0, 0.4), (2.0, 0.3, 9.0)]
)
def test_the_curve_its_epsilon_and_its_deviation_are_inverse(shift: float, sigma: float, epsilon: float) -> None:
    with mpmath.workdps(40):
        a, b = shift / (2 * mpmath.mpf(sigma)), mpmath.mpf(epsilon) * sigma / shift
        exact = float(mpmath.ncdf(a - b) - mpmath.exp(epsilon) * mpmath.ncdf(-a - b))
    delta = gaussian.delta_of(epsilon, shift=shift, sigma=sigma)
    assert delta == pytest.approx(exact, rel=1e-9)
    found = gaussian.epsilon_of(delta, shift=shift, sigma=sigma)
    assert found == pytest.approx(epsilon, rel=1e-9) and gaussian.delta_of(found, shift=shift, sigma=sigma) <= delta
    assert gaussian.printed_epsilon(delta, shift=shift, sigma=sigma) == round_up(found)
    if epsilon:
        back = gaussian.calibrate(epsilon, delta, shift=shift)
        assert back == pytest.approx(sigma, rel=1e-9)
        assert gaussian.delta_of(epsilon, shift=shift, sigma=back) <= delta


def test_the_loss_of_a_mixture_over_subsets_by_enumeration() -> None:
    """Two features of 2 and one of 3 categories: every pair of values and every report, in fractions."""
    law: dict[tuple[Any, Any], Fraction] = {}
    every = list(itertools.product(range(2), range(3), range(3)))
    pq = [(Fraction(3, 4), Fraction(1, 4)), *[(Fraction(3, 4), Fraction(1, 8))] * 2]
    for value, report in itertools.product(every, every):
        total = Fraction(0)
        for chosen in itertools.combinations(range(3), FS.m):
            part = Fraction(1, 3)
            for i, g in enumerate(FS.domains):
                part *= pq[i][value[i] != report[i]] if i in chosen else Fraction(1, g)
            total += part
        law[value, report] = total
        assert FS.log_probability(np.array(report), np.array(value)) == pytest.approx(math.log(total), abs=1e-12)
    for moved in ((0,), (1,), (0, 1), (1, 2), (0, 1, 2)):
        worst = max(law[v, r] / law[w, r] for v, w, r in itertools.product(every, every, every)
                    if {i for i in range(3) if v[i] != w[i]} == set(moved))  # fmt: skip
        stated = FS.loss_of_domains([FS.domains[i] for i in moved])
        assert stated == pytest.approx(math.log(worst), abs=1.1e-9) and stated >= math.log(worst) - 1e-15
    assert FS.loss() == Loss(FS.loss_of_domains([3]), pytest.approx(2 * math.log(6), abs=1.1e-9))
    assert [FS.loss_of(k) for k in (1, 2)] == [FS.loss_of_domains(c) for c in ([3], [3, 3])]
    assert FS.most_likely == pytest.approx(float(max(law.values())))
    assert FS.correction(3)[0] * FS.marginals(3)[0] + FS.correction(3)[1] == pytest.approx(1)
    assert FS.correction(2)[0] * FS.marginals(2)[1] + FS.correction(2)[1] == pytest.approx(0, abs=1e-12)
    whole = FS.loss().vector
    assert FS.claimed_loss() == pytest.approx(math.log(1 + 2 / 3 * (math.exp(whole) - 1)), abs=1e-9)


def test_the_steps_of_judging_a_mixture() -> None:
    assert subset_mixture.steps((2, 2, 2), 2) == 2 * (3 + 2 + 2 * 2) + 8
    assert subset_mixture.steps((2,), 1) == 2 * (2 + 2 + 2 * 2) + 8
    assert subset_mixture.steps((2, 3, 3), 2) == 2 * ((2 + 3) + 2 + 3 * 3) + 16 == FS.judging_steps
    factors = [(Decimal(2), 3), (Decimal(5), 1), (Decimal("0.5"), 2)]
    numbers = [2, 2, 2, 5, 0.5, 0.5]
    for m in range(1, 7):
        wanted = sum(math.prod(some) for some in itertools.combinations(numbers, m))
        assert float(subset_mixture.elementary(factors, m)) == pytest.approx(wanted)
    assert (GRADED.judging_steps, VOTE.judging_steps) == (900, 100)


def test_categories_of_columns_and_on_the_wire() -> None:
    plain = Coding((2, 3, 5), 9, 1)
    bits = "1" + "01" + "001"  # lowest first
    assert plain.pack(np.array([1, 2, 4])) == int(bits.ljust(8, "0"), 2).to_bytes(1, "big")
    assert plain.unpack(plain.pack(np.array([1, 2, 4]))).tolist() == [1, 2, 4]
    assert plain.read(np.array([0, 2, 3, 8])).tolist() == [1, 1, 4]  # the first of two counts
    assert plain.read(np.array([], np.int64)).tolist() == [0, 0, 0]
    assert plain.read(np.array([-2, 99])).tolist() == [1, 0, 4]
    joined = Coding((2, 2, 2), 5, 2)
    assert [joined.read(np.array([c])).tolist() for c in range(5)] == [
        [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]
    ]  # fmt: skip
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
    assert grid.step_noise == StepNoise(1, 1, 8) and Degree(3, 2, 5).step_noise == StepNoise(3, 2)
    assert grid.variance(np.zeros(3)) == pytest.approx([0.25 * discrete_laplace.variance(1, 1)] * 3)
    assert grid.most_likely == pytest.approx(math.tanh(0.5) ** 3)
    bit = OneBit(ONE // 4, 2, low=-1.0, high=3.0, grid=4)
    assert bit.thresholds(np.array([-1.0, 0, 1, 2, 3])).tolist() == [ONE // 8 * k for k in (2, 3, 4, 5, 6)]
    assert bit.estimate(np.array([False, True])) == pytest.approx([-3.0, 5.0])
    assert bit.variance(np.array([-1.0, 1.0])) == pytest.approx([64 * 3 / 16, 64 / 4])
    assert bit.chance_of_one(np.array([0.0])).tolist() == [0.375] and bit.most_likely == pytest.approx(9 / 16)
    assert bit.weight == bit.bit_weight == pytest.approx(math.log(3)) and bit.flip_probability == 0.25
    assert bit.log_chance(np.array([True, False]), np.array([0.0, 0.0])) == pytest.approx(math.log(0.375 * 0.625))
    assert bit.loss_of(2) == exact_loss.log_ratio(3, 1, 2)
    several = MultiBit(ONE // 4, 6, 2, low=-1.0, high=3.0)
    assert several.line == (several.slope, 1.0) and several.slope == pytest.approx(6 * 4 / (4 * 0.5))
    assert several.most_likely == pytest.approx(9 / 16 / 15) and several.set_size == 2
    assert several.variance(np.array([-1.0, 1.0])) == pytest.approx([3 * 16 - 4, 3 * 16])
    assert several.with_public_sets(7).set_seed == 7 and replace(several, m=6).with_public_sets(7).set_seed == -1
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


def test_scores_of_a_vote_are_sums_of_logarithms() -> None:
    """In units of 2^-16 nats: the evidence of each known neighbour, and one's own row."""
    assert class_table.affinity_weights(2, 0.5, None) == (65536, 21845, 21845, 65536)
    assert class_table.affinity_weights(2, None, np.array([[4, 1], [1e-9, 2]])) == (65536, 16384, 1, 32768)
    om = np.array(VOTE.affinity, float).reshape(3, 3)
    levels = np.rint(16 * -np.log(np.maximum(Q, 1e-30) / np.maximum(Q.max(axis=1), 1)[:, None])).clip(0, 254)
    said = np.log(om @ np.exp(-levels / 16).T * 2**24) * UNIT
    for own in (True, False):
        scores, seen = replace(VOTE, own=own).scores(np.array([0, 1, 3, 4]), 4)
        assert seen == 2  # nothing is known about 1, and 4 is the device
        wanted = said[:, 0] + said[:, 3] + own * -levels[4] * UNIT / 16
        assert scores == pytest.approx(wanted, abs=4)
    assert replace(VOTE, reporting="one-end").scores(np.array([0, 3]), 3)[1] == 1
    assert [VOTE.padded(2, np.zeros(size, np.int32)).size for size in (0, 1, 2048, 2049)] == [2048, 2048, 2048, 4096]
    assert VOTE.padded(0, np.array([-1, 0, 4, 9]))[:5].tolist() == [5, 5, 4, 4, 5]
    one = NeighbourhoodVote.from_probabilities(Q, 1.0, homophily=0.7, candidates=np.array([1, 2, 1, 2, 1]), unseen=True)
    assert [one.values_of(device) for device in range(5)] == [2, 3, 2, 3, 2]
    assert one.loss(device=0).vector <= one.loss().vector == 1.0
    assert one.decode(b"\1", device=0) == 1 and one.decode(b"\2", device=1) == 2
    for data, device in ((b"\2", 0), (b"\3", 1), (b"", 0), (b"\0\0", 0)):
        with pytest.raises(ValueError, match="not a report of neighbourhood_vote"):
            one.decode(data, device=device)


def test_levels_of_a_graded_vote_have_equal_steps_of_log_odds() -> None:
    chances, whole = GRADED.response(2).thresholds, math.log((ONE - GRADED.lie) / GRADED.lie)
    assert len(chances) == 17 and chances[-1] == GRADED.lie and chances[8] == HALF
    for k in range(-8, 9):
        assert math.log((ONE - chances[k + 8]) / chances[k + 8]) == pytest.approx(whole * k / 8, abs=1e-12)
        assert chances[8 + k] + chances[8 - k] == ONE
        p = chances[8 + k] / ONE
        assert GRADED.log_probability(1, k) == pytest.approx(math.log(p))
        assert GRADED.log_probability(0, k) == pytest.approx(math.log(1 - p))
        lie = GRADED.lie / ONE
        assert GRADED.variance(k) == pytest.approx(4 * p * (1 - p) / (1 - 2 * lie) ** 2)
    assert GRADED.estimate(1) == -GRADED.estimate(0) == pytest.approx(1 / (1 - 2 * GRADED.lie / ONE))
    assert GRADED.step == round(2.0 / (8 * 0.5) * UNIT) and whole == pytest.approx(2.0)
    apart = math.ceil((math.log(0.8 / 0.1) * UNIT + 2) / GRADED.step)
    assert GRADED.response(2).entry_levels == apart and replace(GRADED, step=1).response(2).entry_levels == 16
    worst = max(math.log((1 + math.exp((k + apart) / 4)) / (1 + math.exp(k / 4))) for k in range(-8, 9 - apart))
    assert GRADED.loss().bit == pytest.approx(worst, abs=2e-9) and GRADED.loss().vector == 2.0
    for near in itertools.chain.from_iterable(itertools.combinations((0, 2, 3), k) for k in range(4)):
        scores, _ = GRADED.scores(np.array(near, np.int32), 4)
        first, second = GRADED.ranked[4, :2]
        exact = int(scores[first] - scores[second]) / GRADED.step
        assert GRADED.value_of(person(near=near), device=4) == max(-8, min(8, math.floor(exact + 0.5)))


def test_a_model_of_words_in_whole_numbers() -> None:
    words = np.array([[1, 0], [1, 1], [0, 0]])
    wanted = []
    for row in words.tolist():
        root = max(1, math.isqrt(sum(w * b for w, b in zip(row, WORDS.squares.tolist(), strict=True))))
        wanted.append([
            m + (256 * sum(w * int(WORDS.weights[k, c]) for k, w in enumerate(row))) // root
            for c, m in enumerate(WORDS.means.tolist())
        ])  # fmt: skip
    shares = WORDS.shares(words)
    assert shares.tolist() == wanted and WORDS.shares(csr_array(words)).tolist() == wanted
    logs = np.log(np.maximum(shares, round(0.01 * UNIT)) / UNIT) * UNIT
    assert WORDS.evidence(shares) == pytest.approx(shares + logs / 2, abs=4)
    large = WordModel(np.array([[1 << 30, -(1 << 30)]]), np.array([1]), np.zeros(2, np.int64), (0, 0))
    assert large.shares(np.array([[1]])).tolist() == [[1 << 31, -(1 << 31)]]
    free = WordModel(np.array([[3, 5]]), np.array([0]), np.zeros(2, np.int64), (0, 0))  # a root of 0 counts as 1
    assert free.shares(np.array([[1]])).tolist() == [[3 << 8, 5 << 8]]
    again = read_model(WORDS.as_text(), 2, 3, (256, 128))
    assert all((getattr(again, name) == getattr(WORDS, name)).all() for name in ("weights", "squares", "means"))
    assert OWN.read_features(person({0: 0.5, 1: -1.0, 7: 0.0})).tolist() == [1, 0]
    assert OWN.ranked.tolist() == [[0, 1, 2]] * 5 and OWN.values_of(0) == 3


def test_places_of_nodes_in_rows() -> None:
    both, one = ClearAdjacency(5), ClearAdjacency(5, "one-end")
    assert [both.targets(2), one.targets(2), both.most_targets(None), one.most_targets(None)] == [4, 2, 4, 4]
    assert both.row(2, np.array([0, 2, 3, 9])).tolist() == [True, False, True, True]
    assert one.row(2, np.array([-4, 2, 3])).tolist() == [True, False]
    people, devices = [person(near=(0, 2, 4)), person(near=(1, 3, 9))], [2, 1]
    for mechanism in (both, one):
        ends = np.cumsum([mechanism.targets(device) for device in devices])
        rows = [mechanism.row(d, p.neighbours) for d, p in zip(devices, people, strict=True)]
        found = mechanism.places_in_rows(people, devices, ends)
        assert sorted(set(found.tolist())) == np.flatnonzero(np.concatenate(rows)).tolist()
    data = {1: both.encode(both.row(1, np.array([3]))), 4: both.encode(both.row(4, np.array([0, 3])))}
    whole = both.stack(data, 5)
    assert whole.dtype == np.bool_ and np.argwhere(whole.toarray()).tolist() == [[1, 3], [4, 0], [4, 3]]
    numbers = NoisyRow(1, 1, 4, grid=10).stack({2: pack_integers(np.array([5, -6, 7]))}, 4)
    assert numbers.dtype == np.int32 and numbers.tolist() == [[0] * 4, [0] * 4, [5, -6, 0, 7], [0] * 4]
    assert NoisyRow(1, 1, 4, grid=10).estimate(np.array([5, -10])).tolist() == [0.5, -1.0]
    assert NoisyRow(1, 1, 4, grid=10).variance(np.zeros(2)) == pytest.approx(
        [discrete_laplace.variance(1, 1) / 100] * 2
    )


@pytest.mark.parametrize(("n", "epsilon"), [(2, 3.0), (1000, 4.0), (100_000, 8.0)])
def test_a_row_takes_words_for_its_count_its_flips_and_some_to_spare(n: int, epsilon: float) -> None:
    law = binomial(n - 1, probability_threshold(epsilon))
    mean = (n - 1) / (math.exp(epsilon) + 1)
    assert sparse_rows._words(law) == 2 + math.ceil(mean + mean**2 / (n - 1) + 6 * math.sqrt(mean) + 8)


EXAMPLES = {
    kind.name: kind.audit_examples() for kind in mechanisms.BUILT_IN.values() if hasattr(kind, "audit_examples")
}


def test_an_audit_tries_several_budgets_of_every_kind() -> None:
    """At least two losses of the whole, one of them small; all examples fit the people that they are about."""
    for name, examples in EXAMPLES.items():
        losses = {round(made.loss().vector, 3) for made, _ in examples}
        assert len(losses) > 1 and min(losses) <= 2, name
        assert all(made.agrees_with(facts) and facts.n <= 5 and facts.classes <= 7 for made, facts in examples)


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
    for found in (same_shape(rows, read, 5), numbers_or_rows(rows, read, 5) if reports else same_shape({}, read, 5)):
        assert found.dtype == dtype and found.shape == (5, *np.shape(reports[0] if reports else []))
        for device in range(5):
            wanted = reports[device // 2] if device in rows else np.zeros(found.shape[1:])
            assert np.array_equal(found[device], wanted)
    numbers = numbers_or_rows({1: b"\7", 3: b"\0"}, lambda data, device: data[0], 4)
    assert numbers.dtype == np.int64 and numbers.tolist() == [-1, 7, -1, 0]
    assert numbers_or_rows({}, read, 2).tolist() == [-1, -1]


def test_the_likely_size_of_a_noisy_row() -> None:
    """The widest of 10^9 numbers is at the step of a 1 and 9 ln 10 scales."""
    for t, s, grid in ((40, 3, 10), (3, 2, 64), (1000, 1, 64), (5000, 7, 64)):
        most = grid + t / s * 9 * math.log(10)
        width = next(width for width in range(1, 5) if most < 1 << 8 * width - 1)
        assert NoisyRow(t, s, 11, grid).bytes_per_device() == 1 + 10 * width


@pytest.mark.parametrize("seed", [-1, 0, 1, 77])
def test_public_sets_of_any_seed_give_many_reports_as_one_by_one(seed: int) -> None:
    mechanism = MultiBit(ONE // 4, 9, 3, set_seed=seed)
    people = [person({k: 1.0}) for k in range(6)]
    made = [[NoiseStream(bytes([k]) * 32, 1) for k in range(6)] for _ in range(2)]
    together = mechanism.respond_many(people, made[0], devices=range(6))
    assert together == [mechanism.respond(p, n, device=k) for k, (p, n) in enumerate(zip(people, made[1], strict=True))]
    assert {len(data) > 1 for data in together} == {seed < 0}
    for device, data in enumerate(together):
        report = mechanism.decode(data, device=device)
        assert np.count_nonzero(report) == 3 and mechanism.encode(report) == data
        if seed >= 0:
            assert np.flatnonzero(report).tolist() == mechanism.public_set(device).tolist()
            with pytest.raises(ValueError, match="not the signs of 3 features"):
                mechanism.decode(data + b"\0", device=device)


EVERY: list[tuple[Any, Any, Any]] = [
    (RandomizedResponse(1 << 60, 4), np.zeros(3, np.bool_), np.ones(3, np.bool_)),
    (ClearAdjacency(4), np.zeros(3, np.bool_), np.ones(3, np.bool_)),
    (NoisyRow(2, 1, 4), np.zeros(3, np.bool_), np.arange(3)),
    (Degree(2, 1, 4), 2, 5), (GroupDegrees(2, 1, 4, 2), np.array([1, 0]), np.array([3, 2])),
    (ClearLabel(3), 1, 2), (GRR(1 << 60, 3), 1, 2), (SubsetSelection(1 << 60, 1, 3), 1, np.array([True, False, False])),
    (ClearFeatures(3), np.zeros(3), np.ones(3)), (OneBit(1 << 60, 3), np.zeros(3), np.ones(3, np.bool_)),
    (MultiBit(1 << 60, 3, 1), np.zeros(3), np.array([0, 1, 0])),
    (Window.from_epsilon(1.0, d=3), np.zeros(3), np.array([0, 9, 0])),
    (Laplace(2, 1, 3), np.zeros(3), np.arange(3)), (AnalyticGaussian(1 << 36, 1e-5, 3), np.zeros(3), np.arange(3)),
    (FS, np.array([0, 1, 2]), np.array([1, 1, 0])), (VOTE, VOTE.value_of(person(), device=0), 1),
    (OWN, 1, 2), (GRADED, 3, 1),
]  # fmt: skip


@pytest.mark.parametrize(("mechanism", "value", "report"), EVERY, ids=lambda value: getattr(value, "name", ""))
def test_an_estimate_has_a_variance_of_its_shape(mechanism: Any, value: Any, report: Any) -> None:
    estimate, variance = mechanism.estimate(report), mechanism.variance(value)
    assert np.shape(variance) == np.shape(estimate) and np.all(np.asarray(variance) >= 0)
    assert np.all(np.asarray(variance) == 0) == mechanism.in_clear
    assert mechanism.loss(device=1).vector <= mechanism.loss().vector

"""Mechanisms about features: grids, published figures, sampled features, categories, Laplace and Gaussian noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm

from ldpsim.devices.data.records import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import BUILT_IN, GRRFS, AnalyticGaussian, FeatureGrid, Laplace, MultiBit, OneBit, Window
from ldpsim.devices.mechanisms.exact_loss import ONE, probability_threshold
from ldpsim.devices.mechanisms.feature_bits import sampled_features
from ldpsim.devices.mechanisms.mechanism import one_report, one_value
from ldpsim.devices.mechanisms.window import half_width, window_share
from ldpsim.devices.noise import Noise
from tests.devices.mechanisms.one import drawn, encoded

GRIDS = [
    OneBit.from_epsilon(1.0, d=5, low=-1.0, high=3.0),
    MultiBit.from_epsilon(1.0, d=5, low=-1.0, high=3.0),
    Window.from_epsilon(1.0, d=5, low=-1.0, high=3.0, grid=8),
    Laplace.from_epsilon(1.0, d=5, low=-1.0, high=3.0),
    AnalyticGaussian.from_epsilon(1.0, delta=1e-3, d=5, low=-1.0, high=3.0),
]
each = pytest.mark.parametrize("mechanism", GRIDS, ids=lambda m: m.name)


def test_the_list_is_whole() -> None:
    assert {m.name for m in GRIDS} == {name for name, kind in BUILT_IN.items() if issubclass(kind, FeatureGrid)}


@each
def test_steps_cover_the_range_and_nothing_else(mechanism: FeatureGrid) -> None:
    g = mechanism.grid
    value = np.array([-1.0, 3.0, 1.0, -9.0, np.nan, np.inf, -np.inf, 3.1])
    assert mechanism.steps(value).tolist() == [0, g, g // 2, 0, 0, g, 0, g]
    assert mechanism.steps(np.float32([0.0])).tolist() == [g // 4]
    assert mechanism.low + mechanism.step * mechanism.steps(np.array([3.0]))[0] == 3.0


@each
def test_public_facts_must_agree(mechanism: FeatureGrid) -> None:
    assert mechanism.agrees_with(PublicFacts(9, 5, 2, -1.0, 3.0))
    for d, low, high in ((4, -1.0, 3.0), (5, -2.0, 3.0), (5, -1.0, 2.0)):
        assert not mechanism.agrees_with(PublicFacts(9, d, 2, low, high))


def test_the_numbers_of_the_reference() -> None:
    a = MultiBit.from_epsilon(1.0, d=4, m=2)
    assert 1 - a.flip / ONE == pytest.approx(0.622459331, abs=5e-10)
    assert a.slope == pytest.approx(4.082988165, abs=5e-10)
    assert a.variance(np.array([0.5, 1, 0, 0.5]))[:2] == pytest.approx([8.335396178, 8.085396178], abs=5e-10)
    b = MultiBit.from_epsilon(1.0, d=10, m=1)
    assert b.slope == pytest.approx(10.819767069, abs=5e-10)
    assert b.variance(np.linspace(0, 1, 10))[[0, 9]] == pytest.approx([11.456735942] * 2, abs=5e-10)
    assert b.variance(np.full(10, 0.5))[0] == pytest.approx(11.706735942, abs=5e-10)


def spread_of(m: int, epsilon: float) -> float:
    return 1 / (m * math.tanh(epsilon / (2 * m)) ** 2)


def test_the_number_of_sampled_features_is_the_integer_optimum() -> None:
    switches = [3.057141839, 5.319868393, 7.532805550, 9.729749513, 11.919511835, 14.105428873]
    for m, switch in enumerate(switches, start=1):
        assert sampled_features(switch - 2e-9, 100) == m and sampled_features(switch + 2e-9, 100) == m + 1
        assert spread_of(m, switch) == pytest.approx(spread_of(m + 1, switch), abs=1e-8)
    for epsilon in np.linspace(0.01, 60, 700):
        for d in (1, 3, 40):
            best = min(range(1, d + 1), key=lambda m: spread_of(m, epsilon))
            assert sampled_features(float(epsilon), d) == best
    z = 2.177318985
    assert math.sinh(z) == pytest.approx(2 * z, abs=1e-8)


def test_ends_of_the_grid_are_exact_and_thresholds_rise() -> None:
    for grid in (1, 3, 1 << 16, 1 << 20):
        mechanism = OneBit(OneBit.from_epsilon(2.0, d=1).flip, 1, 0.0, 1.0, grid)
        steps = mechanism.thresholds(np.linspace(0, 1, 201))
        assert int(steps[0]) == mechanism.flip and int(steps[-1]) == ONE - mechanism.flip
        assert np.all(np.diff(steps.astype(object)) >= 0)


@pytest.mark.parametrize("together", [1, 9])
def test_a_report_of_sparse_features_is_that_of_dense_ones(together: int) -> None:
    """Columns that do not exist count as the nearest one and never raise."""
    rng = np.random.default_rng(1)
    for low, high in [(-1.0, 1.0), (0.0, 1.0), (0.5, 2.0), (-2.0, -1.0)]:  # zero inside, at an end, outside
        mechanism = OneBit.from_epsilon(0.5, d=300, low=low, high=high)
        columns = np.sort(rng.choice(300, 40, replace=False)).astype(np.int32)
        for place, dense_place in ((columns, columns), ([-1, 5, 300, 10**6], [0, 5, 299, 299])):
            values = rng.uniform(low, high, len(place)).astype(np.float32)
            dense = np.zeros(300, np.float32)
            dense[dense_place] = values
            record = Record(np.array(place, np.int32), values, np.zeros(0, np.int32), 0)
            keys = [bytes([k]) * 32 for k in range(together)]
            wanted = [encoded(mechanism, drawn(mechanism, dense, Noise([key]))) for key in keys]
            assert mechanism.respond([record] * together, Noise(keys), devices=range(together)) == wanted


def test_the_published_widths() -> None:
    for e, large_c in ((0.1, 40), (1.0, 4.08), (3.0, 1.57)):
        share = window_share("pm", e)  # (C - 1) / 2C
        assert 1 / (1 - 2 * share) == pytest.approx(large_c, rel=4e-3)
    for e, b, kappa in ((0.05, 0.967, 0.0246), (0.5, 0.716, 0.213), (1.0, 0.512, 0.368), (3.0, 0.127, 0.683)):
        assert half_width(e) == pytest.approx(b, abs=6e-4)
        mechanism = Window.from_epsilon(e, d=1, kind="sw", low=-1.0, outputs=1024)
        outputs = csr_array(np.arange(1, 1025)[:, None])
        chances = [np.exp([mechanism.log_probability(np.array([j + 1]), np.array([t])) for j in range(1024)])
                   for t in (0.0, 1.0)]  # fmt: skip
        means = [float(chance @ mechanism.centred(outputs).toarray().ravel()) for chance in chances]
        assert means == pytest.approx([0, kappa], abs=1e-3)
    assert half_width(0.9999e-3) == pytest.approx(half_width(1.0001e-3), abs=1e-6)
    assert half_width(1e-6) == pytest.approx(1, abs=1e-5)


def test_only_what_encode_writes_is_read() -> None:
    mechanism = Window.from_epsilon(3.0, d=5, m=2, outputs=10)  # 3 bits and 4 bits
    assert encoded(mechanism, np.array([0, 1, 0, 0, 10])) == bytes([0b001_0000_1, 0b00_1001_00])
    for bits in ("00100000010000", "00100000000000", "00100001011001", "00110101001001"):  # 1 1, 1 0, a sixth, ten
        with pytest.raises(ValueError, match="not a report of 2 of 5 features"):
            one_report(mechanism, int(bits + "00", 2).to_bytes(2, "big"), 0)
    with pytest.raises(ValueError, match="beyond 14 bits"):
        one_report(mechanism, bytes([0b001_0000_1, 0b00_1001_01]), 0)


def mechanism_of(domains: tuple[int, ...], m: int, epsilon: float = 1.0) -> GRRFS:
    columns = sum(1 if g == 2 else g for g in domains)
    lies = tuple(probability_threshold(epsilon, g - 1) for g in sorted(set(domains)))
    return GRRFS(lies, domains, m, columns)


def equal(d: int, m: int, epsilon: float, g: int = 2) -> GRRFS:
    return mechanism_of((g,) * d, m, epsilon)


@pytest.mark.parametrize(("d", "m", "epsilon", "vector", "claim", "one"), [
    (3, 2, 1.0, 2.0, 1.660011387, 0.763382515),
    (4, 2, 1.0, 2.0, 1.433780830, 0.620114507),
    (4, 3, 1.0, 3.0, 2.728777413, 0.827988939),
    (53, 10, 1.0, 10.0, 8.332488380, 0.280811614),
    (53, 10, 0.1, 1.0, 0.280811614, 0.019649252),
    (53, 10, 0.01, 0.1, 0.019649252, 0.001894462),
])  # fmt: skip
def test_the_numbers_of_the_reference_of_grr_fs(
    d: int, m: int, epsilon: float, vector: float, claim: float, one: float
) -> None:
    for g in (2, 5):  # none of them depends on the domain
        mechanism = equal(d, m, epsilon, g)
        assert mechanism.loss().vector == pytest.approx(vector, abs=2e-9)
        assert mechanism.claimed_loss() == pytest.approx(claim, abs=2e-9)
        assert mechanism.loss().bit == pytest.approx(one, abs=2e-9)
        assert mechanism.loss().bit == pytest.approx(math.log(1 + m / d * (math.exp(epsilon) - 1)), abs=2e-9)


def record(columns: list[int], values: list[float] | None = None) -> Record:
    given = np.ones(len(columns)) if values is None else np.array(values)
    return Record(np.array(columns, np.int32), given.astype(np.float32), np.zeros(0, np.int32), 0)


def test_columns_in_blocks_are_joined_by_or() -> None:
    facts = PublicFacts(9, 11, 2)
    mechanism = GRRFS.from_epsilon(1.0, facts=facts, m=2, block=4)
    assert mechanism.domains == (2, 2, 2) and mechanism.agrees_with(facts)
    for columns, expected in (([], [0, 0, 0]), ([0, 3], [1, 0, 0]), ([4], [0, 1, 0]), ([7, 8, 10], [0, 1, 1])):
        assert one_value(mechanism, record(columns), 0).tolist() == expected
    assert one_value(mechanism, record([1, 5], [0.0, 0.3]), 0).tolist() == [0, 1, 0]
    # a column changes one block at most, so the loss of a column is that of a block
    for column in range(11):
        with_, without = (one_value(mechanism, record(c), 0) for c in ([column], []))
        assert np.count_nonzero(with_ != without) == 1
    for data, grouped in (((2708, 1433), (25, 58)), ((3327, 3703), (70, 53))):
        facts = PublicFacts(data[0], data[1], 7)
        assert GRRFS.from_epsilon(1.0, facts=facts, m=10, block=grouped[0]).d == grouped[1]


def test_categories_are_read_from_their_columns() -> None:
    facts = PublicFacts(9, 1 + 3 + 1 + 4, 2, domains=(2, 3, 2, 4))
    mechanism = GRRFS.from_epsilon(1.0, facts=facts)
    assert mechanism.agrees_with(facts) and mechanism.m == 4
    assert one_value(mechanism, record([0, 2, 8]), 0).tolist() == [1, 1, 0, 3]
    assert one_value(mechanism, record([1, 4, 5]), 0).tolist() == [0, 0, 1, 0]
    assert one_value(mechanism, record([]), 0).tolist() == [0, 0, 0, 0]
    assert one_value(mechanism, record([2, 3, 6, 7]), 0).tolist() == [0, 1, 0, 1]  # of several the first
    assert not mechanism.agrees_with(PublicFacts(9, 9, 2)) and not mechanism.agrees_with(
        PublicFacts(9, 9, 2, domains=(3, 2, 2, 4))
    )


KINDS = [
    lambda **grid: Laplace.from_epsilon(1.5, **grid),
    lambda **grid: AnalyticGaussian.from_epsilon(1.5, delta=1e-4, **grid),
]


@pytest.mark.parametrize("make", KINDS)
def test_estimates_are_unbiased_on_the_grid(make) -> None:
    mechanism = make(d=1, low=2.0, high=5.0, grid=4)
    reports = np.arange(-400, 405)
    for value in (2.0, 2.75, 5.0):
        weights = np.exp([mechanism.log_probability(np.array([r]), np.array([value])) for r in reports])
        estimates = np.array([mechanism.estimate(np.array([r]))[0] for r in reports])
        assert weights.sum() == pytest.approx(1, abs=1e-12)
        mean = weights @ estimates
        assert mean == pytest.approx(value, abs=1e-10)


def test_the_gaussians_delta_bounds_what_is_released() -> None:
    """The exact delta(eps) of the rounded mechanism, by summation: below the curve, and close to it."""
    mechanism = AnalyticGaussian.from_epsilon(1.0, delta=1e-3, d=1, grid=8)
    z = np.arange(-400, 401)
    far, near = (np.array([mechanism.log_probability(np.array([r]), np.array([v])) for r in z]) for v in (1.0, 0.0))
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        exact = np.maximum(0, np.exp(far) - np.exp(epsilon + near)).sum()
        curve = mechanism.delta_of(epsilon)
        assert 0.98 * curve < exact <= curve
    assert mechanism.delta_of(1.0) == pytest.approx(1e-3, rel=1e-6) and mechanism.delta_of(1.0) <= 1e-3


def test_the_gaussians_loss_is_the_curve_at_its_delta() -> None:
    mechanism = AnalyticGaussian.from_epsilon(1.0, delta=1e-10, d=1433)
    loss = mechanism.loss()
    assert loss.vector == pytest.approx(1.0, abs=2e-9) and loss.vector <= 1.0 and loss.delta == 1e-10
    assert mechanism.delta_of(loss.bit, changed=1) <= 1e-10 < mechanism.delta_of(loss.bit - 1e-6, changed=1)
    assert 0 < loss.bit < loss.vector
    sigma = mechanism.sigma / mechanism.grid
    assert norm.cdf(math.sqrt(1433) / 2 / sigma - sigma / math.sqrt(1433)) - math.e * norm.cdf(
        -math.sqrt(1433) / 2 / sigma - sigma / math.sqrt(1433)
    ) == pytest.approx(1e-10, rel=1e-4)


def test_a_device_agrees_to_no_delta_of_1_over_n() -> None:
    mechanism = AnalyticGaussian.from_epsilon(1.0, delta=1e-3, d=4)
    assert mechanism.agrees_with(PublicFacts(999, 4, 2)) and not mechanism.agrees_with(PublicFacts(1000, 4, 2))
    assert not mechanism.agrees_with(PublicFacts(99, 5, 2)) and not mechanism.agrees_with(PublicFacts(99, 4, 2, -1.0))
    assert Laplace.from_epsilon(1.0, d=4).agrees_with(PublicFacts(999, 4, 2))
    assert not Laplace.from_epsilon(1.0, d=4).agrees_with(PublicFacts(999, 4, 2, 0.0, 2.0))

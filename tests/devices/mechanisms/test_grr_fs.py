"""GRR-FS by exhaustive enumeration: what it really guarantees, and the printed formulas that fail.

This file also covers ``categories.py`` and ``subset_mixture.py`` of ``devices/mechanisms``.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRRFS, subset_mixture
from ldpsim.devices.mechanisms.exact_loss import ONE, probability_threshold
from ldpsim.devices.noise import NoiseStream


def mechanism_of(domains: tuple[int, ...], m: int, epsilon: float = 1.0) -> GRRFS:
    columns = sum(1 if g == 2 else g for g in domains)
    lies = tuple(probability_threshold(epsilon, g - 1) for g in sorted(set(domains)))
    return GRRFS(lies, domains, m, columns)


def vectors(domains: tuple[int, ...]) -> list[np.ndarray]:
    return [np.array(v, np.int64) for v in itertools.product(*map(range, domains))]


def table(mechanism: GRRFS) -> np.ndarray:
    """ln Pr[report | value], one row a value."""
    every = vectors(mechanism.domains)
    return np.array([[mechanism.log_probability(y, x) for y in every] for x in every])


def worst(logs: np.ndarray, domains: tuple[int, ...], changed: set[int] | int) -> float:
    """Largest log ratio over pairs of values that differ in exactly these features (or in so many)."""
    every = vectors(domains)
    pairs = [
        (i, j)
        for (i, x), (j, y) in itertools.permutations(enumerate(every), 2)
        if (where := set(np.flatnonzero(x != y).tolist())) == changed or len(where) == changed
    ]
    return max(float((logs[i] - logs[j]).max()) for i, j in pairs)


CASES = [((2,), 1), ((2, 2), 1), ((2, 2, 2), 2), ((2, 2, 2, 2), 2), ((2, 2, 2, 2), 3), ((3, 3, 3), 2), ((2, 3, 5), 1),
         ((2, 3, 5), 2), ((2, 3, 5), 3), ((4, 2, 2), 2)]  # fmt: skip


@pytest.mark.parametrize(("domains", "m"), CASES)
@pytest.mark.parametrize("epsilon", [0.4, 1.0, 3.0])
def test_losses_by_enumeration(domains: tuple[int, ...], m: int, epsilon: float) -> None:
    mechanism = mechanism_of(domains, m, epsilon)
    logs = table(mechanism)
    assert np.exp(logs).sum(axis=1) == pytest.approx(1, abs=1e-12)
    d = len(domains)
    for k in range(1, d + 1):
        assert mechanism.loss_of(k) == pytest.approx(worst(logs, domains, k), abs=3e-9)
        for changed in itertools.combinations(range(d), k):
            sizes = [domains[i] for i in changed]
            assert mechanism.loss_of_domains(sizes) == pytest.approx(worst(logs, domains, set(changed)), abs=3e-9)
    loss = mechanism.loss()
    assert loss.vector == pytest.approx(m * epsilon, abs=1e-8) and loss.vector >= worst(logs, domains, d) - 1e-12
    assert loss.bit == mechanism.loss_of(1)


@pytest.mark.parametrize(("domains", "m"), [((2, 2), 1), ((2, 3), 1), ((2, 3), 2), ((2, 2, 3), 2)])
def test_the_sampler_has_the_stated_law(law, domains: tuple[int, ...], m: int) -> None:
    mechanism = mechanism_of(domains, m)
    for value in vectors(domains)[::2]:
        found, lost = law(lambda noise, value=value: mechanism.perturb(value, noise))
        assert lost == 0
        for report in vectors(domains):
            stated = math.exp(mechanism.log_probability(report, value))
            assert found[report.tobytes()] == pytest.approx(stated, abs=1e-12)


def test_sampling_with_replacement_is_found_out(law) -> None:
    """Named broken variant: m draws that may hit one feature twice; then fewer than m values carry anything."""
    mechanism = mechanism_of((2, 2), 2)
    value = np.zeros(2, np.int64)

    def broken(noise) -> np.ndarray:
        report = noise.uniform_integers(2, 2)
        for i in {noise.uniform_integer(2), noise.uniform_integer(2)}:
            report[i] = int(noise.bernoulli(mechanism.lies[0], 1)[0])
        return report

    found, _ = law(broken)
    assert abs(found[value.tobytes()] - math.exp(mechanism.log_probability(value, value))) > 0.05


def equal(d: int, m: int, epsilon: float, g: int = 2) -> GRRFS:
    return mechanism_of((g,) * d, m, epsilon)


@pytest.mark.parametrize(
    ("d", "m", "epsilon", "vector", "claim", "one"),
    [
        (3, 2, 1.0, 2.0, 1.660011387, 0.763382515),
        (4, 2, 1.0, 2.0, 1.433780830, 0.620114507),
        (4, 3, 1.0, 3.0, 2.728777413, 0.827988939),
        (53, 10, 1.0, 10.0, 8.332488380, 0.280811614),
        (53, 10, 0.1, 1.0, 0.280811614, 0.019649252),
        (53, 10, 0.01, 0.1, 0.019649252, 0.001894462),
    ],
)
def test_the_numbers_of_the_reference(d: int, m: int, epsilon: float, vector: float, claim: float, one: float) -> None:
    for g in (2, 5):  # none of them depends on the domain
        mechanism = equal(d, m, epsilon, g)
        assert mechanism.loss().vector == pytest.approx(vector, abs=2e-9)
        assert mechanism.claimed_loss() == pytest.approx(claim, abs=2e-9)
        assert mechanism.loss().bit == pytest.approx(one, abs=2e-9)
        assert mechanism.loss().bit == pytest.approx(math.log(1 + m / d * (math.exp(epsilon) - 1)), abs=2e-9)


def test_theorem_1_is_false_and_the_enumeration_finds_it() -> None:
    mechanism = equal(4, 2, 1.0)
    real = worst(table(mechanism), mechanism.domains, 4)
    assert real == pytest.approx(2.0, abs=1e-9) and mechanism.claimed_loss() < real - 0.5
    # it is the loss of one feature where m = 1, and that of the vector where m = d
    assert equal(4, 1, 1.0).claimed_loss() == pytest.approx(equal(4, 1, 1.0).loss().bit, abs=2e-9)
    assert equal(4, 4, 1.0).claimed_loss() == pytest.approx(4.0, abs=2e-9)


def test_the_profile_and_unequal_domains() -> None:
    profile = [equal(4, 2, 1.0).loss_of(k) for k in (1, 2, 3, 4)]
    assert profile == pytest.approx([0.620114507, 1.166384296, 1.620114507, 2.0], abs=2e-9)
    hypergeometric = [
        math.log(sum(math.comb(k, j) * math.comb(4 - k, 2 - j) * math.exp(j) for j in range(3) if j <= k) / 6)
        for k in (1, 2, 3, 4)
    ]
    assert profile == pytest.approx(hypergeometric, abs=2e-9)
    mixed = mechanism_of((2, 3, 5), 2)
    alone = [mixed.loss_of_domains([g]) for g in (2, 3, 5)]
    assert alone == pytest.approx([0.717522120, 0.766579165, 0.804162527], abs=2e-9)
    assert mixed.loss().bit == alone[2] and mixed.loss().vector == pytest.approx(2.0, abs=2e-9)


def test_a_loss_has_its_own_digits() -> None:
    """The caller's decimal context may have few digits; the printed loss is exact all the same."""
    lies = tuple(probability_threshold(1.0, g - 1) for g in (2, 3))
    asked = (lies, (2, 2, 3, 3), (2, 3), 2)
    with localcontext() as context:
        context.prec = 4
        coarse = subset_mixture.exact_loss.__wrapped__(*asked)
    assert coarse == subset_mixture.exact_loss(*asked)


def test_large_dimensions_are_quick_and_finite() -> None:
    mechanism = equal(1433, 1000, 0.5)
    assert mechanism.loss().vector == pytest.approx(500, abs=1e-6)
    assert mechanism.loss().bit == pytest.approx(math.log(1 + 1000 / 1433 * (math.exp(0.5) - 1)), abs=2e-9)
    value = np.zeros(1433, np.int64)
    assert -1433 < mechanism.log_probability(value, value) < 0


def test_the_probabilities_that_rgnn_prints_are_none() -> None:
    for g, epsilon in ((2, 1.0), (4, 1.0)):
        printed_p, printed_q = math.exp(epsilon) / (math.exp(epsilon + g) - 1), 1 / (math.exp(epsilon + g) - 1)
        assert printed_p + (g - 1) * printed_q < 0.3
        p, q = mechanism_of((g,), 1, epsilon).truth_and_other(g)
        assert p + (g - 1) * q == pytest.approx(1, abs=1e-15)
    assert (math.e / (math.exp(3) - 1), 1 / (math.exp(3) - 1)) == pytest.approx((0.142426, 0.052396), abs=5e-7)
    assert mechanism_of((4,), 1).truth_and_other(4) == pytest.approx((0.475366886, 0.174877705), abs=5e-10)


@pytest.mark.parametrize(("domains", "m"), [((2, 3), 1), ((2, 3, 4), 2), ((3, 3), 2)])
def test_estimates_are_unbiased(domains: tuple[int, ...], m: int) -> None:
    mechanism = mechanism_of(domains, m, 0.8)
    every = vectors(domains)
    for value in every[::3]:
        weights = np.exp([mechanism.log_probability(r, value) for r in every])
        estimates = np.array([mechanism.estimate(r) for r in every])
        mean = np.tensordot(weights, estimates, 1)
        assert mean == pytest.approx(np.eye(max(domains))[value], abs=1e-9)


SHARES = np.array([0.5, 0.25, 0.15, 0.10])


def test_ties_of_many_reports_are_decided_as_alone() -> None:
    """Words of one device after another become thresholds: the lower words decide."""
    keys = [bytes([9, i]) * 16 for i in range(8)]
    people = [Record(np.array([i % 4], np.int32), np.ones(1, np.float32), np.zeros(0, np.int32), 0) for i in range(8)]
    drawn = [np.frombuffer(NoiseStream(key, 1).first_words(10)[24:32], "<u4").tolist() for key in keys]  # of the lies
    ties = 0
    for word in [word for words in drawn for word in words if word < 1 << 31]:
        for lower in (0, (1 << 32) - 1):
            mechanism = GRRFS((max(1, (word << 32) + lower),), (2, 2, 2, 2), 2, 4)
            streams = [NoiseStream(key, 1) for key in keys]
            alone = [
                mechanism.respond([r], [NoiseStream(k, 1)], devices=[0])[0] for r, k in zip(people, keys, strict=True)
            ]
            assert mechanism.respond(people, streams, devices=range(8)) == alone
            ties += 1
    assert ties > 4


def six() -> GRRFS:
    return equal(6, 2, 1.0, 4)


def frequency_variance(mechanism: GRRFS, *, fixed: bool = True) -> np.ndarray:
    """Variance of the estimated shares among 400 users (eq. 11, corrected); ``fixed``: the users are given."""
    mu1, mu0 = mechanism.marginals(4)
    reported = SHARES * mu1 + (1 - SHARES) * mu0
    drawn = mechanism.correction(4)[0] ** 2 * reported * (1 - reported)
    return (drawn - SHARES * (1 - SHARES) if fixed else drawn) / 400


def test_the_estimator_of_the_reference() -> None:
    mechanism = six()
    slope, intercept = mechanism.correction(4)
    assert (slope, intercept) == pytest.approx((9.983720482, -2.245930121), abs=5e-9)
    mu1, mu0 = mechanism.marginals(4)
    reported = SHARES * mu1 + (1 - SHARES) * mu0
    assert reported == pytest.approx([0.275040765, 0.25, 0.239983694, 0.234975541], abs=5e-10)
    assert slope * reported + intercept == pytest.approx(SHARES, abs=1e-9)
    drawn = frequency_variance(mechanism, fixed=False)
    assert drawn == pytest.approx([0.049686166, 0.046722504, 0.045449539, 0.044794306], abs=5e-10)
    fixed = frequency_variance(mechanism)
    assert fixed == pytest.approx([0.049061166, 0.046253754, 0.045130789, 0.044569306], abs=5e-10)


def test_equation_9_is_biased() -> None:
    """Named broken variant: (p - q)^2 in the second denominator."""
    mechanism = six()
    p, q = mechanism.truth_and_other(4)
    slope, intercept = mechanism.correction(4)
    mu1, mu0 = mechanism.marginals(4)
    reported = SHARES * mu1 + (1 - SHARES) * mu0
    as_printed = slope * reported + intercept / (p - q)
    assert as_printed - SHARES == pytest.approx([-5.23] * 4, abs=5e-3)


def test_without_g_the_plug_in_variance_is_negative() -> None:
    """Named broken variant: lambda recovered from pi without the factor g (eq. 3)."""
    mechanism = six()
    p, q = mechanism.truth_and_other(4)
    slope, _ = mechanism.correction(4)
    recovered = (SHARES * 2 * 4 * (p - q) + 2 * 4 * q - 2 + 6) / 6  # should be divided by d g
    assert recovered[0] > 1 and recovered[0] * (1 - recovered[0]) < 0
    mu1, mu0 = mechanism.marginals(4)
    assert recovered / 4 == pytest.approx(SHARES * mu1 + (1 - SHARES) * mu0, abs=1e-12)
    # its mean over reports of 400 fixed users: -0.0296
    share = recovered[0] / 4
    noise = frequency_variance(mechanism)[0] / slope**2
    mean = slope**2 * (4 * share - 16 * (share**2 + noise)) / 399
    assert mean == pytest.approx(-0.0296, abs=2e-4)
    # (n - 1) and the right lambda: unbiased for the variance of users drawn anew
    drawn = frequency_variance(mechanism, fixed=False)[0] / slope**2
    assert slope**2 * (share - share**2 - drawn) / 399 == pytest.approx(drawn * slope**2, rel=1e-9)


def record(columns: list[int], values: list[float] | None = None) -> Record:
    given = np.ones(len(columns)) if values is None else np.array(values)
    return Record(np.array(columns, np.int32), given.astype(np.float32), np.zeros(0, np.int32), 0)


def test_columns_in_blocks_are_joined_by_or() -> None:
    facts = PublicFacts(9, 11, 2)
    mechanism = GRRFS.from_epsilon(1.0, facts=facts, m=2, block=4)
    assert mechanism.domains == (2, 2, 2) and mechanism.agrees_with(facts)
    for columns, expected in (([], [0, 0, 0]), ([0, 3], [1, 0, 0]), ([4], [0, 1, 0]), ([7, 8, 10], [0, 1, 1])):
        assert mechanism.value_of(record(columns), device=0).tolist() == expected
    assert mechanism.value_of(record([1, 5], [0.0, 0.3]), device=0).tolist() == [0, 1, 0]
    # a column changes one block at most, so the loss of a column is that of a block
    for column in range(11):
        with_, without = (mechanism.value_of(record(c), device=0) for c in ([column], []))
        assert np.count_nonzero(with_ != without) == 1
    for data, grouped in (((2708, 1433), (25, 58)), ((3327, 3703), (70, 53))):
        facts = PublicFacts(data[0], data[1], 7)
        assert GRRFS.from_epsilon(1.0, facts=facts, m=10, block=grouped[0]).d == grouped[1]


def test_categories_are_read_from_their_columns() -> None:
    facts = PublicFacts(9, 1 + 3 + 1 + 4, 2, domains=(2, 3, 2, 4))
    mechanism = GRRFS.from_epsilon(1.0, facts=facts)
    assert mechanism.agrees_with(facts) and mechanism.m == 4
    assert mechanism.value_of(record([0, 2, 8]), device=0).tolist() == [1, 1, 0, 3]
    assert mechanism.value_of(record([1, 4, 5]), device=0).tolist() == [0, 0, 1, 0]
    assert mechanism.value_of(record([]), device=0).tolist() == [0, 0, 0, 0]
    assert mechanism.value_of(record([2, 3, 6, 7]), device=0).tolist() == [0, 1, 0, 1]  # of several the first
    assert not mechanism.agrees_with(PublicFacts(9, 9, 2)) and not mechanism.agrees_with(
        PublicFacts(9, 9, 2, domains=(3, 2, 2, 4))
    )


@pytest.mark.parametrize("domains", [(2,) * 13, (2, 3, 5), (300, 2, 256, 257), (65536, 65535)])
def test_reports_survive_the_wire(domains: tuple[int, ...]) -> None:
    mechanism = mechanism_of(domains, len(domains))
    ends = [np.zeros(len(domains), np.int64), np.array(domains) - 1]
    for report in [*ends, mechanism.perturb(ends[1] // 2, NoiseStream(bytes(32)))]:
        data = mechanism.encode(report)
        assert mechanism.decode(data, device=4).tolist() == report.tolist()
        for wrong in (b"", data[:-1], data + b"\0"):
            with pytest.raises(ValueError):
                mechanism.decode(wrong, device=4)
    if domains[0] == 2 and len(domains) == 13:
        assert len(data) == 2
        with pytest.raises(ValueError):
            mechanism.decode(b"\xff\xff", device=4)  # bits after the last feature
    if domains == (2, 3, 5):
        with pytest.raises(ValueError, match="outside its domain"):
            mechanism.decode(b"\x60", device=4)  # 3 of 3 categories


def test_a_category_outside_the_domain_counts_as_the_first() -> None:
    mechanism = mechanism_of((2, 3), 2)
    draws = [mechanism.perturb(np.array(v), NoiseStream(bytes([3]) * 32)).tolist() for v in ([0, 0], [9, -4])]
    assert draws[0] == draws[1]


def test_parameters_out_of_range() -> None:
    facts = PublicFacts(9, 5, 2)
    for m in (0, 6, -1):
        with pytest.raises(ValueError, match=r"samples 1\.\.5 features"):
            GRRFS.from_epsilon(1.0, facts=facts, m=m)
    with pytest.raises(ValueError, match="a single one says nothing"):
        GRRFS.from_epsilon(1.0, facts=PublicFacts(9, 4, 2, domains=(1, 3)))
    with pytest.raises(ValueError, match="a single one says nothing"):
        GRRFS.from_epsilon(1.0, facts=PublicFacts(9, 0, 2))
    with pytest.raises(ValueError, match="a block is 1 or more"):
        GRRFS.from_epsilon(1.0, facts=facts, block=0)
    with pytest.raises(ValueError, match="only binary columns"):
        GRRFS.from_epsilon(1.0, facts=PublicFacts(9, 4, 2, domains=(2, 3)), block=2)
    with pytest.raises(ValueError, match=r"2\.\.65536 categories"):
        GRRFS((1, 1), (2, (1 << 16) + 1), 1, (1 << 16) + 2)
    assert not GRRFS.from_epsilon(1.0, facts=facts).agrees_with(PublicFacts(9, 6, 2))
    lie = probability_threshold(1.0)
    for lies in ((), (lie, lie), (0,), (float(lie),), [lie]):
        with pytest.raises(ValueError, match="a threshold for each of its 1 sizes of domain"):
            GRRFS(lies, (2, 2), 1, 2)  # type: ignore[arg-type]
    threes = ONE * 2 // 3  # from here on, another of three values is as likely as the true one
    assert GRRFS((lie, threes - 1), (2, 3), 1, 4).lies == (lie, threes - 1)
    for lies in ((lie, threes + 1), (ONE // 2, 1), (ONE // 2, threes + 1)):
        with pytest.raises(ValueError, match="does not favour the truth"):
            GRRFS(lies, (2, 3), 1, 4)
    for wrong in (
        {"domains": (2, True)}, {"domains": (2, 2.0)}, {"domains": [2, 2]},
        {"lies": (1 << 63,)}, {"columns": 3}, {"block": 2}, {"block": 0}, {"block": 1 << 40, "columns": 1 << 41},
        {"domains": ()},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            GRRFS(**{"lies": (lie,), "domains": (2, 2), "m": 1, "columns": 2} | wrong)  # type: ignore[arg-type]


class Counted:
    """A number that counts the operations on it."""

    done = 0

    def __init__(self, value: Decimal) -> None:
        self.value = value

    def __mul__(self, other: object) -> Counted:
        Counted.done += 1
        return Counted(self.value * (other.value if isinstance(other, Counted) else other))  # type: ignore[operator]

    def __add__(self, other: object) -> Counted:
        Counted.done += 1
        return Counted(self.value + (other.value if isinstance(other, Counted) else other))  # type: ignore[operator]

    def __truediv__(self, other: int) -> Counted:
        Counted.done += 1
        return Counted(self.value / other)

    __rmul__, __radd__ = __mul__, __add__


@pytest.mark.parametrize("m", [1, 2, 7, 40, 80])
@pytest.mark.parametrize("counts", [(80,), (40, 40), (1, 79), (20,) * 4, (1,) * 80, (3, 7, 70)])
def test_the_steps_of_a_loss_are_bounded_by_the_sizes(counts: tuple[int, ...], m: int) -> None:
    domains = tuple(2 + size for size, count in enumerate(counts) for _ in range(count))
    changed = max(domains)
    Counted.done = 0
    value = Counted(Decimal(1) / 3)
    kept = [(value, count - (size + 2 == changed)) for size, count in enumerate(counts)]
    subset_mixture.elementary([(value, 1), *kept], m)  # type: ignore[list-item]
    subset_mixture.elementary([(value, count) for count in counts], m)  # type: ignore[list-item]
    assert 0 < Counted.done <= 3 * subset_mixture.steps(domains, m)

"""The law of a mechanism's code, walked through and bisected."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.curator.attacks.laws import Law, NotWalkable, delta_at, epsilon_at, law_of, worst_ratio
from ldpsim.devices.mechanisms import GRR, Degree, discrete_laplace
from ldpsim.devices.mechanisms.exact_loss import ONE


def test_a_walk_gives_exact_fractions() -> None:
    grr = GRR.from_epsilon(1.0, categories=3)
    law = law_of(lambda noise: int(grr.perturb(1, noise)))
    assert law.chances == {
        1: Fraction(ONE - grr.lie, ONE),
        0: Fraction(grr.lie, 2 * ONE),
        2: Fraction(grr.lie, 2 * ONE),
    }
    assert worst_ratio(law, law_of(lambda noise: int(grr.perturb(0, noise)))) == pytest.approx(1.0, abs=1e-12)


def test_a_bisection_is_the_discrete_laplace_law() -> None:
    degree = Degree.from_epsilon(1.0, n=4)
    law = law_of(lambda noise: int(degree.perturb(np.array([2]), noise)[0]))
    assert law.lost < 2**-19 * math.e
    for outcome, chance in law.chances.items():
        stated = discrete_laplace.log_probability(np.array([outcome - 2]), degree.t, degree.s)
        assert math.log(chance) == pytest.approx(stated, abs=1e-9)
    assert len(law.chances) > 24


def test_what_cannot_be_walked_through_says_so() -> None:
    with pytest.raises(NotWalkable, match="several words"):
        law_of(lambda noise: noise.words(2).tobytes())
    with pytest.raises(NotWalkable, match="more than"):
        law_of(lambda noise: noise.bernoulli(ONE // 2, 12).tobytes(), most=100)
    with pytest.raises(NotWalkable, match="more than"):
        law_of(lambda noise: int(noise.words(1)[0]))


def test_ratios_and_deltas() -> None:
    first = Law({"a": Fraction(3, 4), "b": Fraction(1, 4)})
    second = Law({"a": Fraction(1, 4), "b": Fraction(3, 4)})
    assert worst_ratio(first, second) == pytest.approx(math.log(3))
    assert delta_at(first, second, 0.0) == pytest.approx(0.5)
    assert epsilon_at(first, second, 0.25) == pytest.approx(math.log(2))
    assert epsilon_at(first, second, 0.5) == 0.0
    assert worst_ratio(first, Law({"a": Fraction(1)})) == math.inf
    assert epsilon_at(first, Law({"a": Fraction(1)}), 0.1) == math.inf
    # outside a window there is no more than what was lost there
    assert worst_ratio(first, Law({"a": Fraction(15, 16)}, lost=1 / 16)) == pytest.approx(math.log(4))

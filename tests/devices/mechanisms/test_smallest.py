"""The root finder of all accountants rounds up, and gives the figures of the six loops that were before it."""

from __future__ import annotations

import pytest

from ldpsim.devices.mechanisms import gaussian
from ldpsim.devices.mechanisms.smallest import smallest


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("root", [1e-9, 3e-3, 0.5, 1.0, 7.7, 2e9])
def test_the_result_is_above_the_root_and_near(root: float, costly: bool) -> None:
    tried: list[float] = []

    def falling(x: float) -> float:
        tried.append(x)
        return root / x

    found = smallest(falling, 1.0, within=1e-9, costly=costly)
    assert found in tried and root / found <= 1 and found <= root * (1 + 2e-9)


def test_a_step_is_found_from_above() -> None:
    """A function that jumps: an interpolated root would lie below it."""
    found = smallest(lambda x: 1.0 if x < 3 else 0.0, 0.5)
    assert 3 <= found <= 3 * (1 + 1e-12)


def test_the_ends_of_the_search() -> None:
    with pytest.raises(ValueError, match="no argument up to 100 reaches 0"):
        smallest(lambda x: 1.0, 0.0, most=100.0)
    assert smallest(lambda x: 0.0, 0.5, least=1e-3) <= 1e-3
    assert smallest(lambda x: 0.0, 0.5, least=1e-3, costly=True) <= 1e-3
    assert smallest(lambda x: 2 - x, 1.0, within=1e-300) == pytest.approx(1.0, rel=1e-15)  # neighbours among the floats


# (delta, shift, sigma) -> epsilon, and (epsilon, delta, shift) -> sigma, as the loops before had them.
EPSILONS = {(1e-10, 1.0, 0.3): 26.20199707582651, (1e-5, 1.0, 1.0): 4.377178095681302,
            (1e-5, 24.4949, 7.0): 20.395405064351507, (1e-2, 200.0, 90.0): 6.962791084002674}  # fmt: skip
SIGMAS = {(0.01, 1e-10, 1.0): 501.29213292603936, (1.0, 1e-5, 1.0): 3.73063163481595,
          (8.0, 1e-5, 24.4949): 14.702551100606918, (100.0, 1e-2, 200.0): 16.57081175170373,
          (0.5, 1e-10, 24.4949): 280.1295550557936}  # fmt: skip


@pytest.mark.parametrize(("given", "before"), EPSILONS.items())
def test_epsilons_are_as_before_and_never_below_the_exact_curve(
    given: tuple[float, float, float], before: float
) -> None:
    delta, shift, sigma = given
    found = gaussian.epsilon_of(delta, shift=shift, sigma=sigma)
    assert found == pytest.approx(before, rel=1e-12)
    assert gaussian.delta_of(found, shift=shift, sigma=sigma) <= delta
    assert gaussian.delta_of(found * (1 - 2e-12), shift=shift, sigma=sigma) > delta


@pytest.mark.parametrize(("given", "before"), SIGMAS.items())
def test_deviations_are_as_before_and_never_below_the_exact_curve(
    given: tuple[float, float, float], before: float
) -> None:
    epsilon, delta, shift = given
    found = gaussian.calibrate(epsilon, delta, shift=shift)
    assert found == before  # to the last bit: the noise of a question, and so its fingerprint, follow from it
    assert gaussian.delta_of(epsilon, shift=shift, sigma=found) <= delta
    assert gaussian.delta_of(epsilon, shift=shift, sigma=found * (1 - 2e-13)) > delta

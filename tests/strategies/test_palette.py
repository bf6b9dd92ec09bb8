"""Colours of series stay apart, as people with and without all cones see them."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.strategies.palette import SERIES, SERIES_ON_DARK

APART = 15.0  # CIEDE2000; from about 10 on two colours are told apart at a glance
# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHT = {
    "all cones": np.eye(3),
    "no red cones": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green cones": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = (0.95047, 1.0, 1.08883)


def linear(colours: tuple[str, ...]) -> np.ndarray:
    values = np.array([[int(code[at : at + 2], 16) for at in (1, 3, 5)] for code in colours]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """Return CIE L*a*b* of linear RGB."""
    x = np.clip(rgb, 0, 1) @ XYZ.T / WHITE
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """Return the difference of two colours in L*a*b* (Sharma, Wu and Dalal 2005)."""
    chroma = (np.hypot(*one[1:]) + np.hypot(*other[1:])) / 2
    more = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    (l1, a1, b1), (l2, a2, b2) = one * (1, more, 1), other * (1, more, 1)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    mean = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 + sum(factor * np.cos(np.radians(times * mean + shift))
                for factor, times, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63)))  # fmt: skip
    l = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))  # noqa: E741
    c = (c2 - c1) / (1 + 0.045 * chroma)
    h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    rotation = (
        -2 * np.sqrt(chroma**7 / (chroma**7 + 25**7)) * np.sin(np.radians(60 * np.exp(-(((mean - 275) / 25) ** 2))))
    )
    return float(np.sqrt(l**2 + c**2 + h**2 + rotation * c * h))


def least_difference(colours: tuple[str, ...], sight: str) -> float:
    seen = lab(linear(colours) @ np.array(SIGHT[sight]).T)
    return min(ciede2000(seen[one], seen[other]) for other in range(len(colours)) for one in range(other))


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, 2.5, 0), (73, 25, -18), 27.1492),
     ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373), ((50, -1, 2), (50, 0, 0), 2.3669)],
)  # fmt: skip
def test_the_difference_is_that_of_the_published_pairs(
    one: tuple[float, ...], other: tuple[float, ...], difference: float
) -> None:
    assert ciede2000(np.array(one), np.array(other)) == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("colours", [SERIES, SERIES_ON_DARK])
def test_eight_colours_stay_apart(colours: tuple[str, ...], sight: str) -> None:
    assert len(set(colours)) == 8 and least_difference(colours, sight) > APART

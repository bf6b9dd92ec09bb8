"""Calibration of GAP and ProGAP, with a library in the place of autodp."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.audits import accountants
from ldpsim.devices.mechanisms import gaussian


class Release:
    """A Gaussian release with the functions that the search asks for."""

    def __init__(self, sigma: float, known: bool) -> None:
        self.sigma, self.known = sigma, known

    def RenyiDP(self, order: float) -> float:  # noqa: N802
        return order / (2 * self.sigma**2) if self.known else math.inf

    def get_approxDP(self, delta: float) -> float:  # noqa: N802
        return gaussian.epsilon_of(delta, shift=math.sqrt(accountants.HOPS), sigma=self.sigma)


def test_the_search_finds_the_exact_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accountants, "described", lambda sigma, program: Release(sigma, True))
    wanted = gaussian.calibrate(4.0, accountants.DELTA, shift=math.sqrt(accountants.HOPS))
    assert accountants.calibrated(4.0, "GAP") == pytest.approx(wanted, abs=1e-3)


def test_a_library_that_stops_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, Any] = {
        "autodp.mechanism_zoo": SimpleNamespace(ExactGaussianMechanism=lambda sigma: None),
        "autodp.autodp_core": SimpleNamespace(Mechanism=SimpleNamespace), "autodp.transformer_zoo": SimpleNamespace(),
    }  # fmt: skip
    monkeypatch.setattr(accountants, "import_module", modules.__getitem__)
    found = list(accountants.rows("0.2"))
    assert len(found) == 6 and all(row["error"].startswith("AttributeError") and not row["sigma"] for row in found)

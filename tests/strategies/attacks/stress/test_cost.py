from __future__ import annotations

import logging

import pytest

from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies.attacks.stress.campaign import StressCampaign
from ldpsim.strategies.attacks.stress.cost import ERROR, expected_cost, tell_cost
from ldpsim.strategies.attacks.stress.options import StressOptions

MEASURED = [  # people, asks, CPU seconds (mean of kinds), MiB
    (40, (1,), 0.073, 142), (40, (1, 25), 0.51, 146), (160, (1,), 0.33, 149), (160, (1, 25), 2.6, 157),
    (640, (1,), 1.03, 177), (2500, (1,), 4.2, 459),
]  # fmt: skip


@pytest.mark.parametrize(("people", "asks", "seconds", "peak"), MEASURED)
def test_the_cost_is_within_its_factor_of_what_was_measured(
    people: int, asks: tuple[int, ...], seconds: float, peak: int
) -> None:
    cost = expected_cost(PublicFacts(n=people, d=600, classes=6), 1, asks, 1)
    assert 1 / ERROR < cost.seconds / seconds < ERROR
    assert 1 / 1.3 < cost.memory_bytes / (peak * 2**20) < 1.3


def test_a_long_or_large_one_is_told_and_a_short_one_is_not(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="ldpsim.expected"):
        tell_cost(PublicFacts(n=60, d=20, classes=3), 83, (1,), 2)
        assert not caplog.messages
        tell_cost(PublicFacts(n=3000, d=600, classes=6), 83, (1, 25), 2)
        tell_cost(PublicFacts(n=10_000, d=10, classes=2), 1, (1,), 8)
    long, large = caplog.messages
    assert long.startswith("expected: 83 comparisons, 2 at a time: about 1.4 GiB of memory, ") and "CPU time" in long
    assert large.startswith("expected: 1 comparison: about 3.9 GiB of memory, ")


def test_it_is_told_before_anything_runs(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*_: object) -> None:
        assert caplog.messages and caplog.messages[-1].startswith("expected: 1 comparison")
        raise KeyboardInterrupt

    monkeypatch.setattr(StressCampaign, "measure", measure)
    options = StressOptions(clients=60, asks=(60_000,), protections=("refuse",), adversaries=("repeat",))
    StressCampaign(options).tell_cost([])  # every comparison is kept from before
    assert not caplog.messages
    with caplog.at_level(logging.INFO, logger="ldpsim.expected"), pytest.raises(KeyboardInterrupt):
        StressCampaign(options).run()

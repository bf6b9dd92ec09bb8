from __future__ import annotations

from dataclasses import replace

import pytest

from ldpsim.curator.methods import feature_share as rule
from ldpsim.curator.methods.feature_share import feature_share
from ldpsim.devices.facts import PublicFacts

FACTS = PublicFacts(n=2700, d=1400, classes=7)


def test_the_share_is_what_the_links_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "MARGIN", 3.0)
    monkeypatch.setattr(rule, "LEAST_SIGNAL", 50.0)
    # (ln 2700 + 3) / 2 = 5.45 for links, so 8 leaves 2.55, and 12 leaves 6.55
    assert feature_share(FACTS, 1350, 8.0) == 0.32
    assert feature_share(FACTS, 1350, 12.0) == 0.55
    assert feature_share(FACTS, 1350, 12.0, "one-end") == 0.09  # a pair has one report: 10.9 for links
    assert [feature_share(FACTS, 1350, epsilon) for epsilon in (1.0, 3.0, 5.45)] == [0.0, 0.0, 0.0]
    assert feature_share(FACTS, 1350, 1000.0) == 0.9
    # features that cannot tell classes apart are not asked: tanh(rest / 2)^2 = .73, and sqrt(1400 * 1350 / 7) = 520
    assert feature_share(FACTS, 10, 8.0) == 0.0  # ten labels
    assert feature_share(replace(FACTS, d=10), 1350, 8.0) == 0.0
    assert feature_share(FACTS, 1350, 5.6) == 0.0  # .15 for a feature is no evidence
    assert feature_share(replace(FACTS, d=0), 1350, 8.0) == 0.0 == feature_share(replace(FACTS, classes=0), 1350, 8.0)


@pytest.mark.parametrize("n", [4, 3000, 10**6])
def test_a_share_never_falls_with_the_budget_and_is_one(n: int) -> None:
    facts = PublicFacts(n=n, d=500, classes=5)
    shares = [feature_share(facts, n // 2, epsilon / 4) for epsilon in range(1, 80)]
    assert shares == sorted(shares) and all(0 <= share <= 0.9 for share in shares)

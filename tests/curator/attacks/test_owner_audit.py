"""Owners: labels by quadrature, and a canary for noisy sums that fails another sensitivity."""

from __future__ import annotations

import math

import pytest

from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.attacks.owner_audit import audit_owner, composed_loss, label_chances, moved_vote
from ldpsim.curator.methods import find
from ldpsim.curator.owner.privacy.graph_account import GraphRelease

EFFORT = Effort(trials=400)


@pytest.mark.parametrize("name", ["gap", "progap"])
def test_what_is_there_passes_and_the_curve_is_attained(name: str) -> None:
    rows = audit_owner(find(name)(), EFFORT)  # type: ignore[arg-type]
    assert [row.level for row in rows] == ["relationship", "relationship", "central_node", "own prediction"]
    assert all(row.passed for row in rows)
    for row in rows[:3]:
        assert row.exact is not None and row.claimed is not None
        assert row.exact == pytest.approx(row.claimed, abs=1e-6)
    assert rows[3].claimed == math.inf


def test_noise_for_one_arc_fails_where_a_relationship_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GraphRelease, "sensitivity", property(lambda self: 1.0))
    monkeypatch.setattr(GraphRelease, "relationship", property(lambda self: self.epsilon))
    rows = audit_owner(find("gap")(), EFFORT)
    assert not rows[0].passed and rows[0].exact is not None and rows[0].exact > 2.5
    assert not rows[2].passed  # and so does a person who sends to two people


def test_the_trials_alone_show_noise_that_is_far_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    from ldpsim.curator.attacks import owner_audit

    inner = owner_audit.noisy_sums
    monkeypatch.setattr(owner_audit, "noisy_sums", lambda arcs, rows, deviation, draws: inner(
        arcs, rows, deviation / 20, draws))  # fmt: skip
    row = audit_owner(find("gap")(), Effort(trials=2000))[0]
    assert row.lower_bound > row.claimed and not row.passed


def test_labels_of_an_owner_by_quadrature() -> None:
    """The figures of the accountant's table, found another way."""
    truth, other = label_chances(10, 0.4)
    assert (truth, math.log(truth / other)) == pytest.approx((0.148570, 0.451366), abs=1e-6)
    truth, other = label_chances(2, 1.0)
    assert other == pytest.approx(math.exp(-1) * 1.5 / 2) and truth + other == pytest.approx(1)
    assert moved_vote(1.0) < 2 and moved_vote(1.0) == pytest.approx(2, abs=1e-3)
    assert composed_loss(truth, other, 1.0, 1, 1e-9) == pytest.approx(math.log(truth / other), abs=1e-6)

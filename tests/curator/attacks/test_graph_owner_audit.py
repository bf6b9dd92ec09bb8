"""The canary: an audit of noisy sums passes what is right, and fails another sensitivity."""

from __future__ import annotations

import math

import pytest

from ldpsim.curator.attacks.graph_owner_audit import audit_graph_owner
from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.attacks.owner_audit import audit_owner
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
    rows = audit_graph_owner(find("gap")(), EFFORT)
    assert not rows[0].passed and rows[0].exact is not None and rows[0].exact > 2.5
    assert not rows[2].passed  # and so does a person who sends to two people


def test_the_trials_alone_show_noise_that_is_far_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    from ldpsim.curator.attacks import graph_owner_audit

    inner = graph_owner_audit.noisy_sums
    monkeypatch.setattr(graph_owner_audit, "noisy_sums", lambda arcs, rows, deviation, draws: inner(
        arcs, rows, deviation / 20, draws))  # fmt: skip
    row = audit_graph_owner(find("gap")(), Effort(trials=2000))[0]
    assert row.lower_bound is not None and row.claimed is not None
    assert row.lower_bound > row.claimed and not row.passed

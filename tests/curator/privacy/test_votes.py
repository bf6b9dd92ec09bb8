"""Losses of votes in closed form, against the enumeration of all transcripts."""

from __future__ import annotations

import pytest

from ldpsim.curator.privacy.votes import Votes, vote_losses
from tests.curator.privacy.test_asked import EPS, N, about_zero, losses


@pytest.mark.parametrize("times", [1, 2])
def test_the_figures_are_those_of_every_transcript(times: int) -> None:
    found = losses(about_zero, times=times)
    for lists in range(N):
        held = vote_losses(Votes(epsilon=EPS, times=times, lists=lists, people=N))
        for level in ("bit", "relationship", "user"):
            assert held[level] == pytest.approx(found[level])
        if lists:
            assert held["node_joins"] == pytest.approx(found[f"delete {lists}"])
            assert held["node"] == pytest.approx(found[f"at most {lists}"])
    assert vote_losses(Votes(epsilon=EPS, times=times, people=N))["node"] == pytest.approx(found["node"])


def test_figures_of_the_page() -> None:
    """Cora's hub of 168 at epsilon 4: 1 + 168 answers, or 1 + 2 x 168."""
    hub = vote_losses(Votes(epsilon=4, lists=168, people=2708))
    assert (hub["user"], hub["relationship"], hub["node_joins"], hub["node"]) == (4, 8, 676, 1348)
    assert vote_losses(Votes(epsilon=4, reporting="one-end"))["relationship"] == 4
    labels = vote_losses(Votes(epsilon=3, eps_labels=2, lists=1))
    assert (labels["label"], labels["user"], labels["node_joins"], labels["node"]) == (2, 5, 8, 11)
    unknown = vote_losses(Votes(epsilon=3))
    assert unknown["label"] is unknown["node"] is unknown["node_joins"] is None

"""What all kinds of votes share: the same vote at another epsilon, and the fields of its published table."""

from __future__ import annotations

import numpy as np
import pytest

from devices.mechanisms import GradedVote, NeighbourhoodVote, OwnFeaturesVote
from devices.mechanisms.class_table import affinity_weights, quantised
from devices.mechanisms.scored_vote import ScoredVote

KINDS = (NeighbourhoodVote, GradedVote, OwnFeaturesVote)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_vote_at_another_epsilon(kind: type[ScoredVote]) -> None:
    examples = [vote for vote, _ in kind.audit_examples()]  # type: ignore[attr-defined]
    for vote in examples:
        other = vote.with_epsilon(1.5)
        assert other.loss().vector == pytest.approx(1.5, abs=1e-9) and other.loss().vector <= 1.5
        assert other.with_epsilon(vote.loss().vector) == vote
    assert len(examples) == 4


def test_the_published_fields_are_those_of_the_table() -> None:
    rows, om = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[0.9, 0.1], [0.4, 0.6]])
    for form in ("full", "likeliest"):
        found = ScoredVote.published(rows, affinity=om, form=form, own=False, reporting="one-end")
        assert found == {"people": 2, "classes": 2, "table": quantised(rows, form), "form": form, "own": False,
                         "affinity": affinity_weights(2, None, om), "reporting": "one-end"}  # fmt: skip
    with pytest.raises(ValueError, match="not both"):
        ScoredVote.published(rows)

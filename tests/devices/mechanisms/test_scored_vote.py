"""What all kinds of votes share: the same vote at another epsilon, and the fields of its published table."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from ldpsim.devices.mechanisms import NeighbourhoodVote, OwnFeaturesVote
from ldpsim.devices.mechanisms.class_table import FORMS, affinity_weights, quantised
from ldpsim.devices.mechanisms.scored_vote import ScoredVote, sums_of_rows

KINDS = (NeighbourhoodVote, OwnFeaturesVote)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_vote_at_another_epsilon(kind: type[ScoredVote]) -> None:
    examples = [vote for vote, _ in kind.audit_examples()]  # type: ignore[attr-defined]
    for vote in examples:
        other = vote.with_epsilon(1.5)
        assert other.loss().vector == pytest.approx(1.5, abs=1e-9) and other.loss().vector <= 1.5
        assert other.with_epsilon(vote.loss().vector) == vote
    assert len(examples) >= 4


def test_the_published_fields_are_those_of_the_table() -> None:
    rows, om = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[0.9, 0.1], [0.4, 0.6]])
    for form in FORMS:
        found = ScoredVote.published(rows, affinity=om, form=form, own=False, reporting="one-end")
        assert found == {"people": 2, "classes": 2, "table": quantised(rows, form), "form": form, "own": False,
                         "affinity": affinity_weights(2, None, om), "reporting": "one-end"}  # fmt: skip
    with pytest.raises(ValueError, match="not both"):
        ScoredVote.published(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_the_full_table_in_fewer_bytes(kind: type[ScoredVote]) -> None:
    """The answer to every list is the same, and so is the loss."""
    for vote, facts in kind.audit_examples():  # type: ignore[attr-defined]
        table = vote._read
        rows = table.rows[table.row_of(np.arange(vote.people))]
        probabilities = np.where(rows == 255, 0.0, np.exp(rows / -16.0))
        both = [replace(vote, form=form, table=quantised(probabilities, form)) for form in ("full", "codes")]
        assert both[0].loss() == both[1].loss()
        assert np.array_equal(both[0].ranked, both[1].ranked)
        for length in range(facts.n):
            for near in combinations(range(facts.n), length):
                for device in range(facts.n):
                    first, second = (each.scores(np.array(near, np.int32), device) for each in both)
                    assert np.array_equal(first[0], second[0]) and first[1] == second[1]


def test_sums_of_rows_are_those_of_each_person(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    table, counts = rng.integers(-1 << 40, 1 << 40, (9, 3)), np.array([0, 4, 0, 0, 90, 1, 7, 0])
    starts, rows = np.append(0, counts.cumsum()), rng.integers(9, size=counts.sum())
    times = rng.integers(-3, 4, len(rows))
    parts = [slice(first, end) for first, end in zip(starts, starts[1:], strict=False)]
    for at_once in (1, 6, 30, 1 << 22):
        monkeypatch.setattr("ldpsim.devices.mechanisms.scored_vote._ENTRIES", at_once)
        assert sums_of_rows(table, rows, starts).tolist() == [table[rows[own]].sum(axis=0).tolist() for own in parts]
        found = sums_of_rows(table, rows, starts, times)
        assert found.tolist() == [(times[own, None] * table[rows[own]]).sum(axis=0).tolist() for own in parts]

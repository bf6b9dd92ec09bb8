"""Sentences of a stress test, from shares by hand."""

from __future__ import annotations

import pytest

from ldpsim.strategies.attacks.stress.summary import Summary, cell_text

SHARES: dict[tuple[str, int], float | None] = {
    ("none", 1): 0.1, ("none", 5): 0.4, ("none", 25): 0.926,
    **{(protection, asks): 0.1 for protection in ("refuse", "replay") for asks in (1, 5, 25)},
}  # fmt: skip


def rows(shares: dict[tuple[str, int], float | None], *attacks: float) -> list[dict[str, object]]:
    """Rows of each attack, which recovers so much less than the strongest one."""
    return [
        {"protection": protection, "asks": asks, "adversary": f"attack {less}", "attribute": attribute,
         "found": None if share is None else share - less, "constant_guess": 0.3}
        for (protection, asks), share in shares.items() for less in (0.0, *attacks)
        for attribute in ("label", "adjacency")
    ]  # fmt: skip


def test_each_cell_is_the_strongest_attack() -> None:
    summary = Summary.of(rows(SHARES, 0.05, 0.1))
    assert summary.shares["none"][25] == {"adjacency": 0.926, "label": 0.926}
    assert cell_text(summary.shares["none"][25]) == "93/93" and summary.shown_asks == (1, 5, 25)
    assert summary.no_reports == {"adjacency": 0.0, "label": 0.3}
    assert summary.answer == (
        "Without protection 25 questions recover 93 % of friendships; with one report kept, 25 recover what 1 does "
        "(10 %)."
    )
    assert "4 of them are worth 5 questions without protection (40/40)" in summary.not_protected


@pytest.mark.parametrize(("shares", "answer"), [
    ({**SHARES, ("replay", 25): 0.2},
     "Without protection 25 questions recover 93 % of friendships; with one report kept, 25 questions recover 20 % of "
     "friendships."),
    ({("refuse", 3): 0.1, ("refuse", 9): 0.1}, "With one report kept, 9 recover what 3 do (10 %)."),
    ({("none", 1): 0.1}, "Without protection 1 question recovers 10 % of friendships."),
    ({("context-state", 2): 0.1}, "2 questions recover 10 % of friendships."),
])  # fmt: skip
def test_the_answer_follows_from_the_figures(shares: dict[tuple[str, int], float | None], answer: str) -> None:
    assert Summary.of(rows(shares)).answer == answer


def test_the_price_of_a_lost_ledger_stands_beside_devices_that_have_one() -> None:
    assert Summary.of(rows({("none", 1): 0.1, ("none", 5): 0.4})).not_protected == ""
    assert "Each time gives one more report. A counter" in Summary.of(rows({("pinned", 5): 0.1})).not_protected


def test_people_without_friends() -> None:
    (label, _), *_ = [rows({("none", 9): 0.5})]
    summary = Summary.of([label, {**label, "attribute": "adjacency", "found": None}])
    assert cell_text(summary.shares["none"][9]) == "–/50" and summary.no_reports["adjacency"] is None
    assert summary.answer == "Without protection 9 questions recover 50 % of labels."


def test_many_numbers_of_questions_have_three_columns() -> None:
    asks = (1, 3, 5, 9, 25)
    assert Summary.of(rows({("none", number): 0.5 for number in asks})).shown_asks == (1, 5, 25)

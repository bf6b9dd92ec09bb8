"""Fake accounts on the page: the tables and sentences follow from the rows."""

from __future__ import annotations

from typing import Any

from benchmarks.poison.accounts import accounts_table, section, verdicts
from benchmarks.poison.sets import ACCOUNTS, REPEATS, account_passes, joining
from tests.benchmarks.poison.test_page import row as lie


def row(attack: str, share: float = 0.1, **given: Any) -> dict[str, Any]:
    more = {"accounts": round(2708 * share), "per_point": None, "one_hop_per_point": None, "one_hop_lost": None,
            "one_hop_goal": None}  # fmt: skip
    return lie(attack, "" if attack in ("none", "silent") else "response", share=share, **{**more, **given})


ROWS = [
    row("none", 0.0, nulls={"chance": 0.3}), row("silent", vs_silent=0.0),
    row("join-flood", goal="inflate", goal_value=0.3, goal_clean=0.1, vs_silent=-0.05, per_point=54.2,
        one_hop_per_point=19.0, one_hop_goal=0.25, fakes_accepted=48.2,
        law="false pairs by both ends", measured=90.0, theory=88.5),
    row("join-class", vs_silent=0.004),
    row("join-flood", vs_silent=0.0, defence="weight", vs_undefended=0.05, found=1.0, false_alarms=0.0),
]  # fmt: skip


def test_the_table() -> None:
    lines = accounts_table(ROWS).splitlines()
    assert len(lines) == 2 + 4
    goal = "as the class 30.0 (10.0; vote 25.0)"
    assert lines[-1] == f"| `join-flood` | 10 % | 271 | 80.0 | -5.0 | {goal} | 48.2 | 54 | 19 | 90.000 | 88.500 | 3 |"


def test_the_worst_attack_is_named() -> None:
    assert list(verdicts("cora", ROWS)) == [
        "**Cora, hogs, eps 8**: the worst is `join-flood` of 10 % (271 accounts, 3 repeats): -5.0 points beside silent "
        "accounts, 54.2 accounts a point."
    ]
    (calm,) = verdicts("cora", [row for row in ROWS if row["attack"] != "join-flood"])
    assert calm == "**Cora, hogs, eps 8**: no attack of up to 10 % measurably costs a point beside silent accounts."
    chosen = row("join-pairs", goal="misclassify", vs_silent=-0.02, vs_silent_std=0.03, goal_value=0.6, goal_clean=0.2)
    (line,) = verdicts("cora", [*ROWS[:2], chosen])
    once = [row("join-class", vs_silent=loss, repeats=1, per_point=20.0) for loss in (-0.017, -0.021)]
    assert [any("the worst" in line for line in verdicts("cora", [*ROWS[:2], each])) for each in once] == [False, True]
    assert line.endswith("silent accounts. `join-pairs` of 10 %: 60 % of the chosen people get the class (20 %).")


def test_the_section() -> None:
    assert list(section({"cora": []})) == []
    text = "\n\n".join(section({"cora": ROWS}))
    assert "### Accounts on Cora" in text and "poison-accounts-cora.png" in text and "chance 30.0 %" in text
    assert "| Cora, hogs, eps 8 | `join-flood` response | 10 % | `weight` | 75.0 | 80.0 | 100.0 | 0.00 |" in text


def test_every_method_is_measured_on_both_graphs() -> None:
    asked = list(account_passes())
    for dataset in ("cora", "citeseer"):
        for entry in joining(dataset):
            assert [repeats for other, repeats, _ in asked if other == entry] == list(range(1, REPEATS + 1))
            assert entry.options(1, ACCOUNTS).inject == ACCOUNTS

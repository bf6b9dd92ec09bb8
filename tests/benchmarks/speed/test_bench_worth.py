"""Trial of the intervals of likely worth: what it counts, and that the page of ``plan`` has its table."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from benchmarks import ROOT
from benchmarks.speed.bench_worth import KEPT, PEOPLE, drawn_facts, groups, holds, report


def _row(run: float, **changes: Any) -> dict[str, Any]:
    return {"graph": "made-up", "facts": {"n": 2000}, "method": "hogs", "epsilon": 4.0, "seed": 1, "test": 0.6,
            "low": 0.5, "high": 0.7, "run": run, **changes}  # fmt: skip


def test_the_table_counts_the_runs_inside_their_intervals() -> None:
    rows = [_row(0.5), _row(0.71), _row(0.9, graph="cora"), _row(0.6, method="chance", epsilon=None)]
    assert [holds(row) for row in rows] == [True, False, False, True]
    assert {key: len(some) for key, some in groups(rows).items()} == {
        (1, "made-up", "methods"): 2, (1, "real", "methods"): 1, (1, "made-up", "nulls"): 1,
    }  # fmt: skip
    lines = report(rows).splitlines()[2:]
    assert lines[0] == "| 1 | made-up | 2,000 | `hogs` | 1 of 2 | +0 (-10 to +11) |"
    assert lines[1].split(" | ")[1:5] == ["cora", "2,000", "`hogs`", "0 of 1"]


def test_a_seed_draws_facts_of_people_who_can_be() -> None:
    facts = [drawn_facts(np.random.default_rng(seed)) for seed in range(20)]
    assert all(PEOPLE[0] <= each.n < PEOPLE[1] and each.words < each.features for each in facts)
    assert len({each.n for each in facts}) > 10


def test_the_page_of_plan_has_the_table_of_the_kept_trial() -> None:
    page = (ROOT / "docs" / "commands" / "plan.md").read_text()
    assert report(json.loads(KEPT.read_text())) in page

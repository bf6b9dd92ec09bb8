from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from strategies.engines.pool import Pool
from strategies.estimate.graph_facts import GraphFacts
from strategies.planning import simulated, worth
from strategies.planning.plan import make_plan
from strategies.planning.wishes import Wishes
from strategies.setup.options import RunOptions

FACTS = GraphFacts(40_000, features=40, classes=3, words=5.0)
Runs = list[RunOptions]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs that are asked for; a method reaches .1 per unit of epsilon, in place of a simulation."""
    seen: Runs = []

    def trial(options: RunOptions) -> float | str:
        seen.append(options)
        if options.method == "rr":
            return "it broke"
        return min(0.95, 0.1 * (options.epsilon or 8.0)) + 0.001 * options.seed

    @contextmanager
    def pool(workers: int | None) -> Iterator[Pool]:
        made = Pool(ThreadPoolExecutor, 1)
        yield made
        made.close()

    def nothing(path: Path) -> dict[str, float]:
        return {"chance": 0.3, "features alone": 0.5, "graph alone": 0.6}

    monkeypatch.setattr(worth, "run_trial", trial)
    monkeypatch.setattr(worth, "nothing_trial", nothing)
    monkeypatch.setattr(simulated, "_pool", pool)
    return seen


def test_each_method_gets_the_smallest_budget_that_reaches_the_target(runs: Runs) -> None:
    made = make_plan(["vote", "lpgnn"], RunOptions(), FACTS, Wishes(accuracy=0.55), people=60)
    rows = {row.method: row for row in made.rows}
    assert rows["vote"].options.epsilon == 6.0 and rows["vote"].meets
    assert rows["vote"].worth is not None and rows["vote"].worth.test == pytest.approx(0.601)
    assert made.choice is not None and made.choice.loss == pytest.approx(6.0)
    # links are public there: what they give alone is as good
    assert rows["lpgnn"].bar == ("graph alone", pytest.approx(0.6)) and rows["lpgnn"].meets
    assert len(runs) == made.notes["runs"] < 2 * 2 * len(simulated.EPSILONS)


def test_a_target_out_of_reach_says_how_far_the_largest_budget_goes(runs: Runs) -> None:
    made = make_plan(["vote"], RunOptions(), FACTS, Wishes(accuracy=0.99), people=60)
    (row,) = made.rows
    assert row.options.epsilon == max(simulated.EPSILONS) and "likely 95 %, below 99 %" in row.why
    assert made.choice is None and made.why.startswith("none, because")


def test_a_miniature_that_fails_is_a_reason(runs: Runs) -> None:
    made = make_plan(["rr", "vote"], RunOptions(), FACTS, Wishes(), people=60)
    rows = {row.method: row for row in made.rows}
    assert rows["rr"].worth is None and "its miniature failed: it broke" in rows["rr"].why
    assert rows["vote"].worth is not None and made.nothing["chance"].test == pytest.approx(0.3)


def test_noisy_rows_have_a_lower_end_that_counts_the_optimism_of_miniatures(runs: Runs) -> None:
    made = make_plan(["hogs", "vote"], RunOptions(), FACTS, Wishes(), people=60)
    hogs, vote = (row.worth for row in made.rows)
    assert hogs is not None and vote is not None
    assert (hogs.test - hogs.low) - (vote.test - vote.low) == pytest.approx(simulated.OPTIMISM)

from __future__ import annotations

from collections.abc import Mapping

import pytest

from strategies.planning import search, worth
from strategies.planning.race import Race, Trialled
from strategies.planning.rows import PlanRow
from strategies.planning.search import cheapest
from strategies.planning.worth import Worth
from strategies.setup.options import RunOptions


class Made(Race):
    """A race without runs: accuracy on small graphs from the budget, on larger ones a little more."""

    def __init__(self, more: float = 0.0) -> None:
        self.graphs, self.more = {600: [], 2400: []}, more
        self.scores: dict[Trialled, dict[int, list[float]]] = {}
        self.failed: dict[Trialled, str] = {}
        self.tried: list[tuple[Trialled, int]] = []

    def run(self, settings, size, hopeful=None, graphs=None, share=1.0):  # type: ignore[no-untyped-def]
        for key in settings:
            if hopeful is None or hopeful(key):
                self.tried.append((key, size))
                score = min(0.9, 0.1 * key[1]) + (self.more if size > 600 else 0.0)
                self.scores.setdefault(key, {})[size] = [score]

    def worths(self) -> Mapping[Trialled, Worth]:
        return worth.intervals(self.scores, 2400)


def row(options: RunOptions) -> PlanRow:
    if options.method == "rr" and options.epsilon is not None and options.epsilon > 4:
        raise ValueError("too large")
    return PlanRow(options, {}, {"value": options.epsilon})


def found(made: Made, target: float, *methods: str) -> tuple[dict[str, PlanRow], dict[str, Trialled]]:
    rows = {method: PlanRow(RunOptions(method=method), {}, {}) for method in methods}
    return cheapest(made, rows, target, row, made.worths)


def test_the_smallest_budget_with_the_target_is_found_in_few_runs() -> None:
    made = Made()
    rows, keys = found(made, 0.55, "vote")
    assert keys == {"vote": ("vote", 6.0)} and rows["vote"].options.epsilon == 6.0
    assert len({key for key, _ in made.tried}) < len(search.EPSILONS) / 2 + 1


def test_a_method_that_is_worse_with_more_has_a_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made()
    plain = Made.run

    def run(self, settings, size, *more, **given):  # type: ignore[no-untyped-def]
        plain(self, settings, size, *more, **given)
        for key in settings:
            if key[1] > 10:
                self.scores[key][size] = [0.2]

    monkeypatch.setattr(Made, "run", run)
    assert found(made, 0.25, "vote")[1]["vote"] == ("vote", 3.0)
    assert found(made, 0.75, "vote")[1]["vote"] == ("vote", 16.0)  # the middle does not reach it either


@pytest.mark.parametrize(("more", "budget"), [(0.12, 4.0), (-0.1, 8.0)])
def test_larger_graphs_move_the_budget(more: float, budget: float) -> None:
    _, keys = found(Made(more), 0.51, "vote")
    assert keys["vote"] == ("vote", budget)


def test_what_does_not_reach_it_has_its_largest_budget() -> None:
    made = Made()
    rows, keys = found(made, 0.99, "vote", "pate-m")
    assert keys["vote"] == ("vote", 16.0) and keys["pate-m"] == ("pate-m", 1.6)
    assert rows["pate-m"].options.settings["lambda_"] == repr(1.6)
    assert not any(key[0] == "pate-m" and size > 600 for key, size in made.tried)  # far below: no larger graph


def test_budgets_that_a_method_cannot_have_are_left_out() -> None:
    _, keys = found(Made(), 0.39, "rr")
    assert keys["rr"] == ("rr", 4.0)


def test_a_search_leaves_time_for_larger_graphs_and_these_for_the_end() -> None:
    assert 0 < search._SEARCH < search._LARGER < 1

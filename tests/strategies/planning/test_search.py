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


@pytest.mark.parametrize(("target", "tried", "kept"), [
    # the largest, then halves; larger graphs for the one that is found, and a second look at the same aim
    (0.55, [16, 4, 8, 6, 6], 6.0), (0.05, [16, 4, 1, 0.5, 0.5], 0.5), (0.9, [16, 4, 8, 10, 10], 10.0),
    (0.91, [16, 4], 16.0),
])  # fmt: skip
def test_the_budgets_that_are_tried_in_this_order(target: float, tried: list[float], kept: float) -> None:
    made = Made()
    keys = found(made, target, "vote")[1]
    assert keys == {"vote": ("vote", kept)}
    first = [key[1] for key, _ in made.tried][: len(tried)]
    assert first == tried, [(key[1], size) for key, size in made.tried]


@pytest.mark.parametrize(("score", "larger"), [(0.5, True), (0.6, True), (0.499, False)])
def test_what_is_near_the_target_is_tried_on_larger_graphs(
    monkeypatch: pytest.MonkeyPatch, score: float, larger: bool
) -> None:
    asked: list[tuple[int, int | None, float]] = []

    def run(self, settings, size, hopeful=None, graphs=None, share=1.0):  # type: ignore[no-untyped-def]
        asked.append((size, graphs, share))
        for key in settings:
            if hopeful is None or hopeful(key):
                self.scores.setdefault(key, {})[size] = [score]

    monkeypatch.setattr(Made, "run", run)
    made = Made()
    found(made, 0.65, "vote")
    assert any(2400 in sizes for sizes in made.scores.values()) is larger
    assert {each for each in asked if each[0] == 2400} == {(2400, None, 0.9)}
    assert {each for each in asked if each[0] == 600} == {(600, 1, 0.6), (600, None, 0.9)}


def test_one_size_of_graphs_is_searched_alone_and_a_setting_that_cannot_be_says_why() -> None:
    made = Made()
    made.graphs = {600: []}
    rows, keys = found(made, 0.35, "vote", "rr")
    assert keys == {"vote": ("vote", 4.0), "rr": ("rr", 4.0)} and {size for _, size in made.tried} == {600}
    assert rows["vote"].why == () and rows["rr"].options.epsilon == 4.0
    bad = {"vote": PlanRow(RunOptions(method="vote"), {}, {})}

    def refuse(options: RunOptions) -> PlanRow:
        raise ValueError("no\n such")

    kept, none = cheapest(Made(), bad, 0.5, refuse, dict)
    assert none == {} and set(kept["vote"].why) == {"no setting: no such"}


def test_a_run_that_fails_is_followed_by_no_other_of_its_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an accuracy the search of that method ends: no key, and its row stays."""
    runs: list[Trialled] = []

    def run(self, settings, size, hopeful=None, graphs=None, share=1.0):  # type: ignore[no-untyped-def]
        runs.extend(key for key in settings if hopeful is None or hopeful(key))

    monkeypatch.setattr(Made, "run", run)
    made = Made()
    rows, keys = found(made, 0.5, "vote")
    assert keys == {} and set(runs) == {("vote", 16.0)} and rows["vote"].options.epsilon is None


def test_an_owner_has_its_own_budgets() -> None:
    options = RunOptions(method="pate-m", settings={"queries": "9"})
    assert (
        search._at(options, 0.5).settings == {"queries": "9", "lambda_": "0.5"}
        and search._at(options, 1).epsilon is None
    )
    assert search._at(RunOptions(method="vote", settings={"own": "1"}), 2.5) == RunOptions(
        method="vote", epsilon=2.5, settings={"own": "1"}
    )

"""Rebuilding a graph: near 1 on clear data, never above the bound under noise, and pairs as they should be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from curator.attacks.rebuild import ALL, INFLUENCE, PUBLIC, RebuildRow
from curator.privacy.level import Level
from devices import datasets
from strategies.attacks.audit import rebuild
from strategies.attacks.audit.rebuild import (
    RebuildOptions,
    attacked_people,
    audit_rebuild,
    draw_pairs,
    level_of_readers,
    without_edges,
)
from strategies.people.private_and_public import divide
from strategies.runs.set_up import run_of, set_up
from strategies.setup.options import RunOptions

PEOPLE = datasets.load("generated", clients=120)
EVERYBODY = np.ones(120, bool)


def edges_of(people: object) -> set[tuple[int, ...]]:
    return {tuple(edge) for edge in people.edges.T.tolist()}  # type: ignore[attr-defined]


def as_set(pairs: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(sorted(pair)) for pair in pairs.tolist()}


def test_a_network_on_the_true_graph_tells_its_edges() -> None:
    (row,) = audit_rebuild(RebuildOptions(methods=("raw",), clients=120, runs=2, settings={"epochs": "60"}))
    assert min(row.aucs[INFLUENCE]) > 0.93 and min(row.aucs[ALL]) > 0.93
    assert np.mean(row.coin_aucs) > 0.75 and row.passed is None and row.largest_auc is None


@pytest.mark.parametrize(("method", "epsilon"), [("rr", 0.25), ("hogs", 1.0), ("vote", 0.5), ("sbp", 0.5)])
def test_under_noise_the_edges_of_coins_stay_below_the_bound(method: str, epsilon: float) -> None:
    (row,) = audit_rebuild(RebuildOptions(methods=(method,), clients=120, runs=4, epsilon=epsilon))
    assert row.passed is True and row.claimed == pytest.approx(1.8 if method == "hogs" else 2 * epsilon)
    assert row.guesses > 30 or method == "vote"


def test_a_claim_below_what_the_run_tells_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference reads every edge: as the row of a method that was never told one it is found out."""
    seen = rebuild.rebuild_row

    def never_told(name: str, runs: Any, level: Level, effort: Any, *, detail: str) -> RebuildRow:
        return seen(name, runs, Level("not asked"), effort, detail=detail)

    monkeypatch.setattr(rebuild, "rebuild_row", never_told)
    (row,) = audit_rebuild(RebuildOptions(methods=("raw",), clients=120, runs=12, settings={"epochs": "60"}))
    assert row.passed is False and row.largest_auc == 0.5


def test_a_method_that_is_never_told_an_edge_shows_nothing_of_a_coin() -> None:
    (row,) = audit_rebuild(RebuildOptions(methods=("mlp",), clients=120, runs=2, settings={"epochs": "20"}))
    assert row.passed is True and row.claimed == 0 and row.largest_auc == 0.5
    assert np.mean(row.aucs[PUBLIC]) > 0.6  # people who are alike have edges


@pytest.mark.parametrize(("method", "settings"), [("gap", {"level": "edge"}), ("pate-m", {"queries": "10"})])
def test_readers_of_an_owner_s_release_have_a_bound(method: str, settings: dict[str, str]) -> None:
    options = RunOptions(method=method, clients=120, settings=settings, reference=False, nulls=False)
    setup = set_up(options, population=PEOPLE)
    guarantee = run_of(setup.method).guarantee_before(setup, setup.repeats[0].split)
    assert guarantee.holds["relationship"].status == "unprotected"  # the owner has them in clear
    level = level_of_readers(guarantee)
    assert level.status == "bounded" and level.value is not None and level.value > 0 and level.delta > 0


def test_public_edges_are_named() -> None:
    (row,) = audit_rebuild(RebuildOptions(methods=("rgnn",), clients=120, runs=1, epsilon=1.0))
    assert "edges are public too" in row.detail and row.passed is None


def test_pairs_are_balanced_and_linear_and_in_one_list_alone() -> None:
    drawn = draw_pairs(PEOPLE, EVERYBODY, 30, (0, 0))
    real, others, coins = (as_set(each) for each in (drawn.edges, drawn.others, drawn.coins))
    edges = edges_of(PEOPLE)
    assert real <= edges and coins <= edges and not others & edges and not real & coins
    assert len(real) == 30 and len(coins) == 30 and 25 <= len(others) <= 30
    assert len({pair[0] for pair in drawn.edges.tolist()}) < 30  # few left ends
    assert as_set(draw_pairs(PEOPLE, EVERYBODY, 30, (0, 1)).edges) != real
    most = draw_pairs(PEOPLE, EVERYBODY, 10**6, (0, 0))
    assert len(most.edges) == len(edges) // 4 and len(most.coins) == len(edges) // 8


def test_an_owner_s_private_people_alone_are_attacked() -> None:
    division = divide(PEOPLE, 0)
    who = attacked_people(division, 120)
    assert np.array_equal(np.flatnonzero(who), division.private)
    drawn = draw_pairs(PEOPLE, who, 400, (0, 0))
    assert who[np.concatenate([drawn.edges, drawn.others, drawn.coins])].all()


def test_a_coin_takes_an_edge_from_both_lists_and_nothing_else() -> None:
    gone = draw_pairs(PEOPLE, EVERYBODY, 10, (0, 0)).coins
    left = without_edges(PEOPLE, gone)
    assert edges_of(PEOPLE) - edges_of(left) == as_set(gone) and edges_of(left) < edges_of(PEOPLE)
    assert without_edges(PEOPLE, gone[:0]).digest == PEOPLE.digest
    left._check_sizes(None)  # type: ignore[arg-type]  # raises for arrays that do not fit
    with pytest.raises(ValueError, match="edges can be attacked"):
        draw_pairs(PEOPLE, np.arange(120) < 3, 10, (0, 0))


@pytest.mark.parametrize(
    ("given", "said"),
    [({"methods": ()}, "names of methods"), ({"runs": 0}, "--runs 0"), ({"pairs": 7}, "--pairs 7"),
     ({"methods": ("hog",)}, "did you mean hogs")],
)  # fmt: skip
def test_options_are_checked(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(RebuildOptions(methods=("raw",)), **given)  # type: ignore[arg-type]


def test_what_publishes_no_model_is_refused() -> None:
    with pytest.raises(ValueError, match="isolate publishes no single model"):
        audit_rebuild(RebuildOptions(methods=("isolate",), clients=120, runs=1))

"""Every method has a grid of its own for ``tune``, and knows which parameters change what people are asked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from ldpsim.curator.methods import Method, OwnerMethod, find, table
from ldpsim.devices.data.population import Population
from ldpsim.strategies import RunOptions
from ldpsim.strategies.experiments import tune as search
from ldpsim.strategies.experiments.tune import SearchResult, ValueGrid, built_in
from ldpsim.strategies.setup.run_setup import Setup, load_population
from ldpsim.strategies.setup.settings import Settings

SEARCHED = sorted(
    name
    for name, kind in table().items()
    if not issubclass(kind, OwnerMethod) and "rounds" not in {entry.name for entry in fields(kind)}  # nor federated
)


@pytest.fixture(scope="module")
def people() -> Population:
    """Enough for the largest number of clusters in a grid."""
    return load_population(_options("hogs"))


def _options(name: str, **settings: str) -> RunOptions:
    short = {"epochs": "3"} if find(name)().effective_spec().trains_network else {}
    volunteers = 0.3 if find(name).needs_volunteers else None
    return RunOptions(method=name, clients=140, volunteers=volunteers, settings={**short, **settings},
                      reference=False, nulls=False, out=None)  # fmt: skip


@pytest.mark.parametrize("name", SEARCHED)
def test_the_grid_is_of_parameters_that_only_the_curator_uses(
    name: str, people: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks of a search before it asks: names, values, and the same questions to everybody."""
    monkeypatch.setattr("ldpsim.strategies.runs.prepare.load_population", lambda options: people)
    stages = built_in(_options(name))
    assert len(stages) == len(find(name).spec.search_grid) and all(
        math.prod(map(len, stage.values())) <= 36 for stage in stages
    )
    search._checked(_options(name), stages)


def test_an_owner_s_method_is_not_searched() -> None:
    with pytest.raises(ValueError, match="tune pate-g: its owner sees raw data"):
        search.search(RunOptions(method="pate-g", clients=300, out=None), ({},))


class Scripted:
    """A collection whose scores are told: a function of the learning rate and the weight decay."""

    def __init__(self, score: Callable[[float, float], float]) -> None:
        self.law = score

    def reconstruct(self, method: Method) -> Method:
        return method

    def score(self, graph: Method, settings: Settings) -> float:
        return self.law(settings.training.lr, settings.training.weight_decay)


def searched(
    score: Callable[[float, float], float], people: Population, monkeypatch: pytest.MonkeyPatch, *,
    stages: tuple[ValueGrid, ...], repeats: int = 1,
) -> tuple[SearchResult, int, list[tuple[str, float | None]]]:  # fmt: skip
    monkeypatch.setattr("ldpsim.strategies.runs.prepare.load_population", lambda options: people)
    asked: list[int] = []
    told: list[tuple[str, float | None]] = []

    def gather(setup: Setup, repeat: int) -> Scripted:
        asked.append(repeat)
        return Scripted(score)

    monkeypatch.setattr(search, "gather", gather)
    options = replace(_options("hogs"), repeats=repeats)
    found = search.search(options, stages, progress=lambda name, done: told.append((name, done)))
    return found, len(asked), told


def test_a_search_tries_all_and_puts_the_best_first(people: Population, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {0.1: 0.4, 0.2: 0.6, 0.3: 0.4, 0.4: 0.5}
    found, asked, told = searched(lambda lr, decay: scores[lr], people, monkeypatch, stages=({"lr": tuple(scores)},))
    assert [(each.values["lr"], each.val_accuracy) for each in found.candidates] == [
        (0.2, 0.6), (0.4, 0.5), (0.1, 0.4), (0.3, 0.4),  # of equal ones the first tried
    ]  # fmt: skip
    assert (found.best.values, found.settings.training.lr, found.collections) == ({"lr": 0.2}, 0.2, 1)
    assert asked == 1
    assert told == [("asking", None), *(("comparing", step / 4) for step in (1, 2, 3, 4))]


def test_a_later_stage_wins_a_tie_and_loses_against_a_better_one(
    people: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages: tuple[ValueGrid, ...] = ({"lr": (0.1, 0.2)}, {"weight_decay": (0.02, 0.01)})
    tied, _, _ = searched(lambda lr, decay: lr, people, monkeypatch, stages=stages)
    assert tied.best.values == {"lr": 0.2, "weight_decay": 0.02}
    worse, _, _ = searched(lambda lr, decay: lr - (decay in (0.01, 0.02)), people, monkeypatch, stages=stages)
    assert worse.best.values == {"lr": 0.2}
    assert worse.settings.training.weight_decay not in (0.01, 0.02)


def test_scores_are_means_over_collections_and_need_a_label(
    people: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = itertools.cycle([0.2, 0.6])
    found, _, _ = searched(lambda lr, decay: next(turns), people, monkeypatch, stages=({"lr": (0.1, 0.2)},), repeats=2)
    assert [each.val_accuracy for each in found.candidates] == [0.4, 0.4]
    with pytest.raises(ValueError, match="knows no label of a validation node"):
        searched(lambda lr, decay: math.nan, people, monkeypatch, stages=({"lr": (0.1,)},))

"""Every method has a grid of its own for ``tune``, and knows which parameters change what people are asked.

Covers tune (with tests/cli/test_tune.py, which covers trial and tuned_file too).
"""

from __future__ import annotations

from dataclasses import fields

import pytest

from curator.methods import OwnerMethod, Reference, find, table
from devices.data.population import Population
from strategies import RunOptions
from strategies.experiments import tune as search
from strategies.experiments.tune import built_in, query_values
from strategies.setup.run_setup import load_population

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
    short = {"epochs": "3"} if find(name)().trains_network() else {}
    return RunOptions(method=name, clients=140, settings={**short, **settings}, reference=False, nulls=False, out=None)


@pytest.mark.parametrize("name", SEARCHED)
def test_the_grid_is_of_parameters_that_only_the_curator_uses(
    name: str, people: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks of a search before it asks: names, values, and the same questions to everybody."""
    monkeypatch.setattr("strategies.runs.set_up.load_population", lambda options: people)
    stages = built_in(_options(name))
    assert len(stages) == len(find(name).search_grid) and all(0 < search._size(stage) <= 24 for stage in stages)
    search._setups(_options(name), stages, [{}], {})


@pytest.mark.parametrize("name", SEARCHED)
def test_query_parameters_change_what_people_are_asked(
    name: str, people: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strategies.runs.set_up.load_population", lambda options: people)
    given = {"topology": "blink"} if name == "hogs" else {}
    for key in find(name).query_grid:
        query = query_values(name, {key: None})
        assert len(query[key]) > 1
        options = _options(name, **given)
        search._setups(options, built_in(options, query), list(search._products(query)), query)


def test_methods_whose_questions_have_shares_say_so() -> None:
    """Without one are those that spend one budget on one mechanism."""
    asked = {name for name in SEARCHED if not issubclass(find(name), Reference)}
    assert {name for name in asked if not find(name).query_grid} == {"rr", "symrr", "lp-and"}


def test_names_alone_need_values_of_the_method() -> None:
    assert query_values("blink", {"degree_share": None}) == {"degree_share": (0.1, 0.3, 0.5, 0.7, 0.9)}
    assert query_values("blink", {"degree_share": ("0.2",)}) == {"degree_share": ("0.2",)}
    with pytest.raises(ValueError, match=r"--tune-query degree_shar: .*mean degree_share.*V1,V2 gives some"):
        query_values("blink", {"degree_shar": None})
    with pytest.raises(ValueError, match="rr has no values of its own .*no parameters of a query"):
        query_values("rr", {"m": None})


def test_an_owner_s_method_is_not_searched() -> None:
    with pytest.raises(ValueError, match="tune pate-g: its owner sees raw data"):
        search.search(RunOptions(method="pate-g", clients=300, out=None), ({},))

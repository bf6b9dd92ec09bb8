"""Every method of the registry, whole runs at a small size on Cora; golden runs have each on the generated graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.methods import OwnerMethod, Reference, find, table
from ldpsim.devices import datasets
from ldpsim.devices.data.splits import make_split
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.runs.set_up import set_up

EVERY = sorted(table())
SETTINGS: dict[str, dict[str, str]] = {"rgnn": {"C": "4"}, "lpgnn": {"k_x": "2", "k_y": "2"}, "privgnn": {"K": "8"}}


def _in_rounds(kind: type) -> bool:
    return "rounds" in _keys(kind)  # a federated training


def _options(name: str, **given: Any) -> RunOptions:
    kind = find(name)
    owner = issubclass(kind, OwnerMethod)
    people = 300 if owner else 200 if "dataset" in given else 60
    quick = {"rounds": "2"} if _in_rounds(kind) else {"epochs": "3"} if kind().in_force().trains_network else {}
    if name == "isolate":
        quick = {"local_steps": "3"}
    if "queries" in _keys(kind):
        quick["queries"] = "3"
    settings = {**quick, **SETTINGS.get(name, {})}
    if kind.spec.auto_share:  # so few people are asked for no features by default
        given["feature_share"] = 0.3
    return RunOptions(method=name, settings=settings, reference=False, nulls=False, out=None, clients=people, **given)


def _keys(kind: type) -> set[str]:
    return {entry.name for entry in fields(kind)}


def _holds(record: dict[str, Any], kind: Any) -> None:
    assert 0 <= record["accuracy"]["test"] <= 1
    privacy = record["privacy"]
    assert privacy["trust"] == kind.spec.trust and privacy["claimed"]["statement"]
    if issubclass(kind, OwnerMethod) or _in_rounds(kind):
        return
    if issubclass(kind, Reference):
        assert record["devices"]["asked"] == 0
        return
    assert record["devices"]["reported"] == record["dataset"]["nodes"]
    asked = {"adjacency": "bit_adjacency", "features": "vector", "label": "label"}
    assert all(privacy["holds"][asked[attribute]]["status"] == "bounded" for attribute in kind.spec.private)


@pytest.fixture(scope="module")
def read_once() -> Iterator[None]:
    """Read Cora once, and not for each method: its reader has tests of its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(datasets, "_read", cache(datasets._read))
        yield


# One of each kind is quick: of devices' reports, an owner, a training in rounds, a reference.
QUICK = ("hogs", "vote", "gap", "fedgcn", "mlp")


@pytest.mark.usefixtures("read_once", "short_perceptron")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in EVERY]
)
def test_it_runs_on_cora(name: str, data_dir: Path) -> None:
    _holds(simulate(_options(name, dataset="cora", data_dir=data_dir)).record, find(name))


@pytest.mark.parametrize("name", EVERY)
def test_it_says_what_it_is(name: str) -> None:
    """The list of ``ldpsim methods`` names the mechanisms by which people are asked."""
    kind = find(name)
    spec = kind.spec
    assert spec.name == name and spec.paper and spec.trust in ("untrusted curator", "trusted curator", "none")
    assert set(kind.spec.private) <= {"adjacency", "features", "label"}
    if issubclass(kind, OwnerMethod | Reference) or _in_rounds(kind):
        return
    assert kind.spec.trust == "untrusted curator"
    setup = set_up(_options(name))
    facts = setup.population.facts
    split = make_split("random", setup.population, 0)
    questions = setup.settings.method.questions(facts, split, setup.budget, "c")
    stages = [stage for question in questions for stage in question.query.plan]
    asked = {ask.attribute: {m.name for m in ask.mechanisms} for stage in stages for ask in stage}
    assert set(asked) == set(kind.spec.private)
    assert set().union(*asked.values()) <= set(kind.spec.mechanisms)

"""References without noise: what a method reads under noise, they read in clear."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import find, table
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.facts import IntArray
from ldpsim.devices.query import ATTRIBUTES
from ldpsim.strategies.people.owner_graphs import Division
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.progress import quiet
from ldpsim.strategies.results.outcome import Predictions
from ldpsim.strategies.runs.run import RepeatContext
from ldpsim.strategies.runs.set_up import run_of, set_up
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone
from ldpsim.strategies.setup.run_setup import RunSetup

PEOPLE = generate(160, 30, 3, seed=2)
GIVEN: dict[str, dict[str, Any]] = {
    "as it is": {},
    "private labels": {"private_labels": True, "eps_labels": 2.0},
    "volunteers": {"volunteers": 0.3},
    "volunteers and labels": {"volunteers": 0.3, "private_labels": True},
}


def runs() -> list[tuple[str, str]]:
    """Return each method that asks people: without options, and with the last row of options that it reads all of."""
    found = []
    for name, kind in table().items():
        if kind.spec.reads:
            continue
        unread = {words: read_alone(RunOptions(method=name, **more))[1] for words, more in GIVEN.items()}
        rows = [words for words, more in GIVEN.items() if not set(more) & set(unread[words])]
        found += [(name, words) for words in dict.fromkeys((*rows[:1], *rows[-1:]))]
    return found


@cache
def setup_of(name: str, words: str) -> RunSetup:
    queries = {"queries": "20"} if "queries" in vars(find(name)()) else {}
    return set_up(RunOptions(method=name, settings=queries, **GIVEN[words]), population=PEOPLE)


def read_by(setup: RunSetup) -> dict[str, list[IntArray]]:
    """Return whose attributes the method reads, in groups: those who are asked, or the people who train."""
    split, n = setup.repeats[0].split, len(setup.population)
    if setup.method.spec.trained_by != "curator":
        people = split.private if isinstance(split, Division) else split.train
        lists = [] if getattr(setup.method.spec, "sees", "") == "own" else [people]
        return {"adjacency": lists, "features": [people], "label": [people]}
    found = {attribute: np.zeros(0, np.int64) for attribute in ATTRIBUTES}
    for question in run_of(setup.method).questions(setup, split, "c"):
        people = np.arange(n) if question.devices is None else question.devices
        for name in {name for stage in question.query.plan for ask in stage for name in ask.attributes}:
            found[name] = np.union1d(found[name], people)
    label = [np.intersect1d(found["label"], part) for part in (split.ordinary, split.labelled)]
    return {**{name: [people] for name, people in found.items()}, "label": label}


def reference(setup: RunSetup, people: Population, home: Path) -> Predictions | None:
    run, setup = run_of(setup.method), replace(setup, population=people)
    scene = RepeatContext(setup, 0, home, home, None, "c", False, (), quiet)
    settings = replace(run.reference_settings(setup)[0], epochs=15, lr=0.1)
    return run.reference(scene, settings)


@pytest.mark.parametrize(("name", "words"), runs())
def test_a_reference_reads_everything_that_its_method_reads(name: str, words: str, tmp_path: Path) -> None:
    """With an attribute of other people in those whose attribute the method reads, it says something else."""
    setup = setup_of(name, words)
    own = reference(setup, setup.population, tmp_path)
    if own is None:
        pytest.skip("it has no reference")
    for attribute, groups in read_by(setup).items():
        for among in groups:
            if len(among) > 1:
                other = reference(setup, shuffled(setup.population, [attribute], 3, among=among), tmp_path)
                assert not np.array_equal(own, other), (attribute, len(among))


def test_a_labelled_neighbour_is_one_whose_label_was_asked_or_given(tmp_path: Path) -> None:
    """Witnesses, whose answer says whether the vote is the label, tell nobody their label."""
    options = RunOptions(method="vote", clients=400, out=None, reference=False, **GIVEN["volunteers and labels"])
    record = simulate(options).record
    setup = set_up(options)
    split, people = setup.repeats[0].split, setup.population
    told = np.zeros(len(people), bool)
    for question in setup.questions(split, "c"):
        if any(ask.attribute == "label" for ask in question.query.plan[0]):
            told[question.devices] = True
    lists = np.split(people.neighbour_indices, people.neighbour_indptr[1:-1])
    expected = sum(bool(told[lists[person]].any()) for person in split.test)
    assert split.labelled.size < told.sum() < split.labelled.size + split.ordinary.size
    rows = {row["group"]: row["people"] for row in record["groups"]["rows"] if row["by"] == "labelled_neighbour"}
    assert rows == {"yes": expected, "no": len(split.test) - expected}

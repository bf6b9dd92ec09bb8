"""Runs of the task of links: nobody reports a held-out edge, and the result has figures beside null models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from devices.data.population import Population
from strategies import RunOptions, simulate
from strategies.progress import quiet
from strategies.results.scores import scores_of
from strategies.runs.asking import public_knowledge
from strategies.runs.set_up import run_of, set_scene, set_up

FAST = {"epochs": "2", "hidden": "4"}


def options(method: str, **given: Any) -> RunOptions:
    usual = {"task": "links", "clients": 60, "settings": FAST, "reference": False, "device": "cpu", "out": None}
    return RunOptions(**{"method": method, **usual, **given})  # type: ignore[arg-type]


def edges_of(people: Population) -> set[tuple[int, int]]:
    return set(map(tuple, people.edges.T.tolist()))


@pytest.fixture(scope="module")
def records() -> Iterator[dict[str, dict[str, Any]]]:
    yield {name: simulate(options(name)).record for name in ("hogs", "blink", "lpgnn", "solitude", "privge", "raw")}


def test_no_device_has_a_held_out_edge_and_no_public_graph(tmp_path: Path) -> None:
    given = options("lpgnn", repeats=2, out=tmp_path, nulls=False)
    folder = simulate(given).folder
    assert folder is not None
    setup, gone = set_up(given), []
    for number, state in enumerate(("state", "state-1")):
        links = setup.repeats[number].links
        assert links is not None
        held = set(map(tuple, links.held_out.T.tolist()))
        people, split = setup.of_repeat(number).population, setup.repeats[number].split
        public = public_knowledge(people, split, setup.options, setup.method)
        assert public.edges is not None
        left = edges_of(setup.population) - held
        assert held and edges_of(Population.load(folder / state / "population")) == left
        assert set(map(tuple, public.edges.T.tolist())) == left
        gone.append(held)
    assert gone[0] != gone[1]  # each repeat has a split of its own


def test_the_record_has_links_beside_their_null_models(records: dict[str, dict[str, Any]]) -> None:
    for name, record in records.items():
        links = record["links"]
        assert record["accuracy"]["test"] is None and record["nulls"] is None
        assert 0 <= links["test"]["auc"] <= 1 and 0 <= links["val"]["average_precision"] <= 1
        assert links["nulls"]["chance"]["test"] == 0.5
        assert {"common_neighbours", "pagerank", "features_alone", "shuffled"} < set(links["nulls"])
        assert set(links["nulls"]["shuffled"]) == {
            "hogs": {"adjacency", "features", "all"}, "blink": {"adjacency", "all"}, "lpgnn": {"features", "all"},
            "privge": {"features", "all"},
            "solitude": {"adjacency", "features", "all"}, "raw": set(),
        }[name]  # fmt: skip
        assert record["verdict"]["text"] and scores_of(record)["per_repeat"] == links["per_repeat"]
        assert links["pairs"]["test"] == 2 * round(0.1 * record["dataset"]["edges"])
        json.dumps(record)


def test_the_same_seed_gives_the_same_figures(records: dict[str, dict[str, Any]]) -> None:
    assert simulate(options("lpgnn")).record["links"] == records["lpgnn"]["links"]


def test_a_method_without_a_score_for_pairs_is_refused() -> None:
    for name in ("fedavg-mlp", "privgnn", "mlp", "vote"):
        with pytest.raises(ValueError, match=f"^--task links: {name} has no score for a pair of people$"):
            set_up(options(name, settings={}))


@pytest.mark.parametrize(
    "given", [{"tuned": True}, {"gnn": "sage"}, {"from_reports": Path("x")}, {"settings": {"selection": "loss"}}]
)
def test_options_of_classes_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="links|selection"):
        set_up(options("hogs", **given))


def test_the_score_is_the_better_one_on_validation_pairs(tmp_path: Path) -> None:
    setup = set_up(options("blink", out=tmp_path))
    scene = set_scene(setup.of_repeat(0), 0, tmp_path, tmp_path / "state", quiet)
    run = run_of(setup.method, "links")
    assert scene.links is not None
    k = scene.links.val.shape[1]
    graph = run.graph(scene, run._reports(scene)[2])  # type: ignore[attr-defined]
    right = np.arange(scene.links.pairs.shape[1], 0, -1.0)  # all edges first
    for estimates, own in ((right, True), (-right[: k + 1].repeat(9)[: len(right)], False)):
        trained = run.train(scene, replace(graph, notes={**graph.notes, "pair_estimates": estimates}))  # type: ignore[attr-defined]
        assert (trained.model is None) == own
    scene.end_collection()


def test_tasks_have_hashes_of_their_own_and_the_default_is_not_hashed() -> None:
    nodes, links = (set_up(options("hogs", settings={}, task=task)) for task in ("nodes", "links"))
    assert nodes.digest == set_up(RunOptions(method="hogs", clients=60, device="cpu", reference=False)).digest
    assert nodes.digest != links.digest

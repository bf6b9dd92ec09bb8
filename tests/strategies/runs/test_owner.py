"""PrivGnn, PATE and the baselines through ``simulate``: devices in owner mode, a student, three epsilons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.client_app import open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies import Refused, RunOptions, simulate
from ldpsim.strategies.people.owner_graphs import divide
from ldpsim.strategies.runs import set_up as set_up_module

QUICK = {"queries": "45", "K": "15", "epochs": "6", "hidden": "8"}


def options(out: Path | None, method: str = "privgnn", **more: Any) -> RunOptions:
    settings = {**QUICK, **more.pop("settings", {})}
    if method != "privgnn":
        settings.pop("K")
    if method.startswith("b"):
        settings.pop("queries")
    return RunOptions(method=method, clients=160, out=out, settings=settings, **{"nulls": False, "workers": 1, **more})


def test_devices_hand_over_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    given = simulate(options(tmp_path / "a", state=state)).record["teachers"]
    assert (given["reused"], given["labels_released_in_all"]) == (0, 45)
    assert given["epsilon_in_all"] == given["epsilon"]["label"] and state.stat().st_mode & 0o077 == 0
    unbounded = simulate(options(tmp_path / "a", settings={"scores": "log-posterior"})).record["teachers"]
    assert unbounded["epsilon_in_all"] is None
    with pytest.raises(Refused, match="REPORT_COLLECTED 64"):
        simulate(options(tmp_path / "b", state=state))
    open_state.cache_clear()
    division = divide_of(tmp_path)
    opened = State(state)
    assert [sum(len(a.parts) for a in opened.ledger(i).answers(i)) for i in range(160)] == [
        3 * (i in division.private) for i in range(160)
    ]
    with pytest.raises(Refused, match="MODE_REFUSED"):
        simulate(RunOptions(method="hogs", clients=160, out=tmp_path / "c", state=state))


@pytest.mark.parametrize("method", ["privgnn", "pate-g"])
def test_the_student_learns_from_the_released_labels_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """With other true labels of the people asked about, the teachers, their labels and the student stay the same."""
    plain = set_up_module.load_population
    moved = []

    def relabelled(given: RunOptions) -> Population:
        people = plain(given)
        division = divide(people, given.seeds_of(0).split)
        labels = people.labels.copy()
        labels[division.asked] = (labels[division.asked] + 1) % people.facts.classes
        moved.append(len(division.asked))
        return replace(people, labels=labels)

    settings = {"teachers": "3"} if method == "pate-g" else {}
    first = simulate(options(tmp_path / "a", method, settings=settings))
    monkeypatch.setattr(set_up_module, "load_population", relabelled)
    again = simulate(options(tmp_path / "b", method, settings=settings))
    assert first.folder is not None and again.folder is not None and moved == [48]
    labels = "pseudo_label_accuracy"
    assert again.record["teachers"][labels] != first.record["teachers"][labels]
    assert again.record["teachers"]["labels_sha256"] == first.record["teachers"]["labels_sha256"]
    assert again.record["accuracy"]["test"] == first.record["accuracy"]["test"]
    assert again.record["reference"] == first.record["reference"]  # B1 learns from private people alone
    model = "model.safetensors"
    assert (again.folder / model).read_bytes() == (first.folder / model).read_bytes()


def divide_of(out: Path) -> Any:
    from ldpsim.devices.datasets import load

    seeds = options(out).seeds_of(0)
    return divide(load("generated", clients=160, seed=seeds.population), seeds.split)

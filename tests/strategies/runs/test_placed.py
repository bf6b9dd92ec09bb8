"""Whole runs whose devices live on machines without a common disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.client_app import release_states
from ldpsim.devices.enrolment.placement import PlacedState
from ldpsim.devices.enrolment.state import is_enrolled
from ldpsim.strategies.engines import ray_grid
from ldpsim.strategies.results import lifetime_on_machines
from ldpsim.strategies.runs import set_up
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions
from tests.strategies.engines.one_process_ray import OneProcessRay, Session

OPTIONS = RunOptions(clients=60, reference=False, settings={"epochs": "2"}, ray_address="far")


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., OneProcessRay]]:
    """Return a cluster whose machines do not have the driver's folders."""
    monkeypatch.setattr(set_up, "machines_without", lambda *_: ["one"])

    def start(*names: str) -> OneProcessRay:
        ray = OneProcessRay({}, {name: tmp_path / name for name in names})
        for module in (ray_grid, lifetime_on_machines):
            monkeypatch.setattr(module, "RaySession", lambda *_: Session(ray))
        return ray

    yield start
    release_states()


def told(record: dict[str, Any]) -> list[Any]:
    return [record["devices"], record["accuracy"], record["privacy"]["lifetime_per_device"], record["nulls"]]


def test_a_run_on_such_machines_has_the_result_of_a_local_one(
    tmp_path: Path, machines: Callable[..., OneProcessRay]
) -> None:
    ray = machines("one")
    options = replace(OPTIONS, out=tmp_path / "runs")
    there = simulate(options)
    here = simulate(replace(options, ray_address=None, out=tmp_path / "local"))
    assert told(there.record) == told(here.record) and there.record["engine"] == "ray"
    assert there.record["config_hash"] == here.record["config_hash"]
    assert there.folder is not None
    state = PlacedState(there.folder / "state")
    assert state.places()[0].machine == (ray.homes["one"] / "shards" / "machine").read_text()
    assert is_enrolled(tmp_path / "one" / "shards" / state.devices_id / "part-0")


def test_devices_of_a_state_folder_are_found_again_and_another_engine_is_refused(
    tmp_path: Path, machines: Callable[..., OneProcessRay]
) -> None:
    options = replace(OPTIONS, out=tmp_path / "runs", state=tmp_path / "state", on_requery="replay", nulls=False)
    machines("one")
    first = simulate(options).record
    machines("one")
    second = simulate(options).record
    assert (second["devices"]["reported"], second["devices"]["replayed"]) == (0, 60)
    assert second["devices"]["reports_sha256"] == first["devices"]["reports_sha256"]
    assert told(second)[2] == told(first)[2]
    with pytest.raises(ValueError, match="live on the machines of a Ray cluster"):
        simulate(replace(options, ray_address=None))


def test_an_interrupt_says_where_the_answers_are(tmp_path: Path, machines: Callable[..., OneProcessRay]) -> None:
    machines("one")

    def stop(phase: str, share: float | None) -> None:
        if phase == "train":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        simulate(replace(OPTIONS, out=tmp_path / "runs"), progress=stop)
    (folder,) = (tmp_path / "runs").iterdir()
    assert stopped.value.__notes__ == [
        f"the answers are kept on the machines of the devices; the same command goes on in {folder}"
    ]
    machines("one")
    assert simulate(replace(OPTIONS, out=tmp_path / "runs")).record["devices"]["replayed"] == 60


def test_a_mistake_removes_the_folder_only_where_nobody_was_asked(
    tmp_path: Path, machines: Callable[..., OneProcessRay]
) -> None:
    """The devices on the machines would be enrolled again under another id, and answer a second time."""

    def stop(phase: str, share: float | None) -> None:
        if phase == "train":
            raise ValueError("a mistake")

    options = replace(OPTIONS, out=tmp_path / "runs", seeds={"noise": None})
    (tmp_path / "one").touch()
    for match, left in (("one/shards cannot be written", 0), ("a mistake", 1)):
        machines("one")
        with pytest.raises(ValueError, match=match):
            simulate(options, progress=stop)
        assert len(list((tmp_path / "runs").glob("*/state/shards.json"))) == left
        if not left:
            (tmp_path / "one").unlink()
    machines("one")
    assert simulate(options).record["devices"]["replayed"] == 60


def test_a_training_in_rounds_is_not_placed(tmp_path: Path, machines: Callable[..., OneProcessRay]) -> None:
    setup = set_up.set_up(replace(OPTIONS, method="fedavg-mlp", settings={}))
    scene = set_up.set_scene(setup, 0, tmp_path, tmp_path / "state", lambda *_: None)
    assert not isinstance(scene.state, PlacedState)

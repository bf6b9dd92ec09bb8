"""Reports are drawn in other processes, here or on Ray, and some of them are lost (two nodes: `make cluster`)."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.methods import HoGS, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.devices import fleet
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import SHARD, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.engines import collect as collecting
from ldpsim.strategies.engines.collect import PROCESSES_PAY_FROM, collect
from ldpsim.strategies.rounds.collect_once import Collected

PEOPLE = 6 * SHARD
Noted = Callable[..., Any]


def people(folder: Path, count: int = PEOPLE) -> tuple[Question, ...]:
    made = generate(count, seed=0)
    questions: tuple[Question, ...] = HoGS().questions(made.facts, make_split("random", made, 0), Budget(), "first")
    enrol(folder, made, policy_for([question.query for question in questions], made.facts), seed=1).close()
    return questions


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Collected:
    folder = tmp_path_factory.mktemp("local") / "state"
    return collect(folder, people(folder), devices=PEOPLE, engine="local")


def noted(home: int, notes: Path, state: Path, lost: str, where: Callable[[], str], function: Noted, task: Any) -> Any:
    """Draw, and note the process; the first one that is not on the head is lost before the draw or after it.

    A process that opens a file of the devices fails: it may be on a machine that has none.
    """

    def refuse(event: str, given: tuple[Any, ...]) -> None:
        if event in ("open", "sqlite3.connect") and str(state) in str(given[0]):
            raise PermissionError("the devices are on another machine")

    if os.getpid() == home:  # the process of the devices
        (notes / f"-{home}").touch()
        return function(task)
    time.sleep(0.3)  # else the first process may draw everything
    if not hasattr(sys, "_no_devices"):
        sys._no_devices = True  # type: ignore[attr-defined]
        sys.addaudithook(refuse)
    node = where()
    (notes / f"{node}-{os.getpid()}").touch()
    die = False
    if lost and node != "head":
        with suppress(FileExistsError):
            (notes / "lost").touch(exist_ok=False)
            die = True
    drawn = None if die and lost == "before the draw" else function(task)
    if die:
        if node == "other":
            os.kill(os.getppid(), signal.SIGKILL)  # the raylet: the whole node is lost
        os.kill(os.getpid(), signal.SIGKILL)
    return drawn


@pytest.fixture
def noting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Let the pools note who draws; the function returns the folder of the notes."""

    def begin(state: Path, lost: str = "", where: Callable[[], str] = str) -> Path:
        notes = tmp_path / "notes"
        notes.mkdir()
        monkeypatch.setattr(fleet, "draw", partial(noted, os.getpid(), notes, state, lost, where, fleet.draw))
        return notes

    return begin


def drew(notes: Path) -> set[str]:
    return {path.name for path in notes.iterdir() if path.name != "lost"}


@pytest.mark.usefixtures("real_processes")
@pytest.mark.parametrize("lost", ["", "before the draw", "after the draw"])
def test_a_process_that_is_killed_changes_no_report(
    tmp_path: Path, undisturbed: Collected, noting: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """At least two processes draw, and no other one than the devices' own opens a file of theirs."""
    monkeypatch.setattr(collecting, "PROCESSES_PAY_FROM", 2000)
    folder = tmp_path / "state"
    questions = people(folder)
    notes = noting(folder, lost)
    found = collect(folder, questions, devices=PEOPLE, engine="local", workers=2)
    assert len(drew(notes)) >= 2
    assert (notes / "lost").exists() == bool(lost)
    found.seconds = undisturbed.seconds = 0.0
    assert found == undisturbed  # nobody replayed: nobody was asked twice
    monkeypatch.setattr(collecting, "PROCESSES_PAY_FROM", PROCESSES_PAY_FROM)
    again = collect(folder, questions, devices=PEOPLE, engine="local")
    assert (again.replayed, again.reports_sha256) == (PEOPLE, undisturbed.reports_sha256)


@pytest.mark.cluster
@pytest.mark.parametrize("lost", ["", "before the draw", "after the draw"])
def test_two_nodes_of_which_one_is_killed(
    tmp_path: Path, undisturbed: Collected, noting: Callable[..., Path], lost: str
) -> None:
    """Their workers have no folder of the devices."""
    import ray
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    folder = tmp_path / "state"
    questions = people(folder)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    cluster = Cluster(initialize_head=True, head_node_args=small)
    try:
        cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        head = ray.get_runtime_context().get_node_id()
        assert len(ray.nodes()) == 2

        def where() -> str:
            import ray

            return "head" if ray.get_runtime_context().get_node_id() == head else "other"

        notes = noting(folder, lost, where)
        began = time.monotonic()
        found = collect(folder, questions, devices=PEOPLE, ray_address=cluster.address, workers=2)
        seconds = time.monotonic() - began
        left = 1 if lost else 2
        while (alive := sum(node["Alive"] for node in ray.nodes())) > left and time.monotonic() < began + 60:
            time.sleep(0.1)
    finally:
        ray.shutdown()
        cluster.shutdown()
    print(f"\n{lost or 'undisturbed'}: {found.reported:,} reported, {seconds:.1f} s, {alive} nodes left, "
          f"digest {found.reports_sha256[:12]}")  # fmt: skip
    assert {name.partition("-")[0] for name in drew(notes)} == {"head", "other"} and len(drew(notes)) >= 2
    assert alive == left
    found.seconds = undisturbed.seconds = 0.0
    assert found == undisturbed

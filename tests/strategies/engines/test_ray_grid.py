"""Ray loses workers: in a Ray of this file at every point, and on two real nodes (`make cluster`)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flwr.app import RecordDict

from ldpsim.curator.methods import HoGS, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.client_app import release_states
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import SHARD, State, enrol
from ldpsim.devices.ledger.ledger import EpochPassed
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.engines import ray_grid, ray_session, shard_worker
from ldpsim.strategies.engines.collect import collect, quiet_flower
from ldpsim.strategies.engines.ray_grid import RayGrid
from ldpsim.strategies.engines.ray_session import RayFailed
from ldpsim.strategies.engines.shard_worker import ShardWorker
from ldpsim.strategies.rounds.collect_once import Collected, CollectOnce, run_collection
from tests.strategies.engines.one_process_ray import OneProcessRay, Session

PEOPLE = 2100  # three shards
Made = Callable[[str], tuple[Path, tuple[Question, ...]]]


def people(folder: Path, count: int) -> tuple[Path, tuple[Question, ...]]:
    made = generate(count, seed=0)
    questions = HoGS().questions(made.facts, make_split("random", made, 0), Budget(), "first")
    enrol(folder, made, policy_for([question.query for question in questions], made.facts), seed=1).close()
    return folder, questions


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Collected:
    folder, questions = people(tmp_path_factory.mktemp("local") / "state", PEOPLE)
    return collect(folder, questions, devices=PEOPLE, engine="local")


def on_one(lose: dict[int, str], kind: type[OneProcessRay] = OneProcessRay) -> OneProcessRay:
    """Return a Ray with one machine, which stays when a worker of it ends."""
    return kind(lose, {"here": Path()}, machines=False)


def worker_of(folder: Path) -> ShardWorker:
    return ShardWorker(str(folder), own_disks=False)


@pytest.fixture
def grid_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., RayGrid]]:
    def start(ray: OneProcessRay, folder: Path, *, workers: int = 3) -> RayGrid:
        monkeypatch.setattr(ray_grid, "RaySession", lambda *_: Session(ray, workers))
        return RayGrid(folder, PEOPLE, workers=workers)

    yield start
    release_states()


def ask(grid: RayGrid, questions: Sequence[Question], count: int = PEOPLE) -> Collected:
    with quiet_flower(), closing(grid):
        return run_collection(CollectOnce(questions, range(1, count + 1)), grid)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("point", ["before the commit", "after the commit", "reply lost"])
def test_a_lost_worker_changes_no_report(
    tmp_path: Path, grid_on: Callable[..., RayGrid], undisturbed: Collected, point: str, workers: int
) -> None:
    folder, questions = people(tmp_path / "state", PEOPLE)
    ray = on_one({workers - 1: point, workers: "before the commit"})
    found = ask(grid_on(ray, folder, workers=workers), questions)
    assert found.reports_sha256 == undisturbed.reports_sha256
    assert found.reported + found.replayed == PEOPLE and not found.refused
    assert ray.actors[workers - 1].dead
    assert not list(folder.glob(".seen-*"))


def test_a_lost_worker_that_still_runs_commits_nothing_more(tmp_path: Path, grid_on: Callable[..., RayGrid]) -> None:
    """It is in the middle of its shard while another worker has taken the shard over."""
    folder, questions = people(tmp_path / "state", PEOPLE)
    # Each worker has a connection of its own, as it has in a process of its own.
    states = {name: State(folder) for name in ("old", "new")}
    ledgers = {name: state.ledger(0) for name, state in states.items()}
    worker, lost = worker_of(folder), worker_of(folder)
    lost._own(folder, 0, None)
    release_states()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_worker, "open_state", lambda *_: states["new"])
        worker._own(folder, 0, 1)
        assert ledgers["new"].epoch == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ldpsim.devices.fleet.open_state", lambda *_: states["old"])
        patch.setattr("ldpsim.devices.client_app.open_state", lambda *_: states["old"])
        patch.setattr(shard_worker, "open_state", lambda *_: states["old"])
        with pytest.raises(ValueError, match=r"\Aanother run works with these devices: .* is in epoch 1; this process"):
            ask(grid_on(on_one({}), folder), questions)  # nobody says that a ledger is damaged
    assert list(ledgers["new"].devices()) == []
    with pytest.raises(EpochPassed, match="epoch 1; this worker serves epoch 0"):
        lost.answer([], [(0, 3, "query.report", "1", "1")], None)  # also where it opens the ledger anew
    for state in states.values():
        state.close()


def test_a_shard_whose_ledger_is_damaged_keeps_no_other_one_from_its_new_owner(
    tmp_path: Path, grid_on: Callable[..., RayGrid]
) -> None:
    folder, questions = people(tmp_path / "state", PEOPLE)
    (folder / "ledger-0001.sqlite").write_bytes(b"damaged")
    found = ask(grid_on(on_one({0: "reply lost"}), folder, workers=1), questions)
    assert found.refused == {"LEDGER_DAMAGED": SHARD} and found.reported + found.replayed == PEOPLE - SHARD
    release_states()
    state = State(folder)
    assert [state.ledger(shard * SHARD).epoch for shard in (0, 2)] == [1, 1]  # a second worker took both over
    state.close()


class Late(OneProcessRay):
    """A Ray that loses the first reply; its worker ends so late that it sees the epoch of the next owner."""

    def submit(self, actor: Any, name: str, given: Sequence[Any]) -> int:
        reference = super().submit(actor, name, given)
        if name == "answer" and given[-1]:  # the next owner is at once there
            self.results[reference] = self.run(*self.queue.pop()[1:])
        return reference

    def run(self, actor: Any, name: str, given: Sequence[Any]) -> tuple[str, Any]:
        first = name == "answer" and actor.number == actor.answered == 0
        found = super().run(actor, name, given)
        return ("object lost", None) if first else found

    def kill(self, actor: Any) -> None:
        """Leave it."""


def test_what_a_lost_worker_says_after_it_was_replaced_ends_nothing(
    tmp_path: Path, grid_on: Callable[..., RayGrid], undisturbed: Collected
) -> None:
    folder, questions = people(tmp_path / "state", PEOPLE)
    ray = on_one({}, Late)
    found = ask(grid_on(ray, folder), questions)
    assert found.reports_sha256 == undisturbed.reports_sha256 and not found.refused and not found.failed
    assert "EpochPassed" in {type(value).__name__ for kind, value in filter(None, ray.results.values())}


def test_a_worker_that_is_late_in_the_middle_of_its_answer_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = people(tmp_path / "state", 8)
    worker, other, answer = worker_of(folder), State(folder).ledger(0), shard_worker.answer_packed
    monkeypatch.setattr(shard_worker, "answer_packed", lambda *given: (other.raise_epoch(1), answer(*given))[1])
    with pytest.raises(EpochPassed):
        worker.answer([RecordDict({})], [(0, 3, "query.report", "1", "1")], None)
    other.close()
    release_states()


def test_a_machine_without_the_folder_is_named_before_anybody_is_asked(
    tmp_path: Path, grid_on: Callable[..., RayGrid], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = people(tmp_path / "state", PEOPLE)
    ray = on_one({})
    monkeypatch.setattr(ShardWorker, "sees", lambda self, name: ("far", self is not ray.actors[1].worker))
    with pytest.raises(ValueError, match=r"\Afar does not have the devices in .*nobody was asked\)\Z"):
        grid_on(ray, folder)
    assert not list(folder.glob(".seen-*")) and all(actor.dead for actor in ray.actors)


def test_a_copy_of_the_folder_is_not_the_folder(tmp_path: Path) -> None:
    """On a copy a device would answer a second time."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / ".seen-1").touch()
    assert [worker_of(tmp_path / name).sees(".seen-1")[1] for name in ("here", "there")] == [True, False]


def test_workers_that_all_end_or_never_start_end_the_run(
    tmp_path: Path, grid_on: Callable[..., RayGrid], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, questions = people(tmp_path / "state", PEOPLE)
    ray = on_one({})
    monkeypatch.setattr(ShardWorker, "answer", lambda *_: None)
    grid = grid_on(ray, folder)
    monkeypatch.setattr(ray, "run", lambda actor, name, given: (
        ("lost", None) if name == "answer" else ("value", getattr(actor.worker, name)(*given))
    ))  # fmt: skip
    with pytest.raises(RayFailed, match="Ray lost 12 workers"):
        ask(grid, questions)
    idle = on_one({})
    monkeypatch.setattr(idle, "wait", lambda references, **_: (references[:1], references[1:]))
    monkeypatch.setattr(ray_session, "START_SECONDS", 7.0)
    with pytest.raises(RayFailed, match="Ray started 1 of 3 workers in 7 seconds"):
        grid_on(idle, folder)
    assert all(actor.dead for actor in idle.actors)


# --- two real nodes ---

MANY = 8 * SHARD


@pytest.fixture(scope="module")
def undisturbed_many(tmp_path_factory: pytest.TempPathFactory) -> Collected:
    folder, questions = people(tmp_path_factory.mktemp("many") / "state", MANY)
    return collect(folder, questions, devices=MANY, engine="local")


def killing(point: str, head: str) -> type[ShardWorker]:
    """A worker that kills the raylet of the second node at its second batch; a class in a function goes by value."""

    class Killing(ShardWorker):
        batches = 0

        def answer(self, contents: Any, rows: Any, epoch: int | None) -> Any:
            import ray

            self.batches += 1
            if self.batches == 1 or ray.get_runtime_context().get_node_id() == head:
                return ShardWorker.answer(self, contents, rows, epoch)
            if self.batches > 2:  # the reply of the second one has left, and its node is dead
                time.sleep(600)
            raylet = os.getppid()
            if point == "before the commit":
                os.kill(raylet, signal.SIGKILL)
                time.sleep(600)
            replies = ShardWorker.answer(self, contents, rows, epoch)
            if point == "after the commit":
                os.kill(raylet, signal.SIGKILL)
                time.sleep(600)
            threading.Timer(0.3, os.kill, (raylet, signal.SIGKILL)).start()
            return replies

    return Killing


@pytest.mark.cluster
@pytest.mark.parametrize("point", ["undisturbed", "before the commit", "after the commit", "after the reply"])
def test_two_nodes_of_which_one_is_killed(tmp_path: Path, undisturbed_many: Collected, point: str) -> None:
    import ray
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    folder, questions = people(tmp_path / "state", MANY)
    cluster = Cluster(initialize_head=True, head_node_args=small)
    try:
        cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        head = ray.get_runtime_context().get_node_id()
        assert len(ray.nodes()) == 2
        kind = ShardWorker if point == "undisturbed" else killing(point, head)
        grid = RayGrid(folder, MANY, workers=2, address=cluster.address, worker=kind)
        began = time.monotonic()
        found = ask(grid, questions, MANY)
        seconds = time.monotonic() - began
        left = 2 if point == "undisturbed" else 1
        while (alive := sum(node["Alive"] for node in ray.nodes())) > left and time.monotonic() < began + 60:
            time.sleep(0.1)  # the grid notices it before Ray says so
    finally:
        ray.shutdown()
        cluster.shutdown()
    print(f"\n{point}: {found.reported:,} reported, {found.replayed:,} replayed, "
          f"{sum(found.refused.values())} refused, {seconds:.1f} s, {alive} nodes left, "
          f"digest {found.reports_sha256[:12]}")  # fmt: skip
    assert found.reports_sha256 == undisturbed_many.reports_sha256
    assert found.reported + found.replayed == MANY and not found.refused and found.silent == found.failed == 0
    assert alive == left

"""Machines without a common disk: in a Ray of this process at every point, and on two real nodes (`make cluster`)."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.methods import HoGS, Question, find
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.client_app import release_states
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.parts import devices_of
from ldpsim.devices.enrolment.placement import PlacedState, enrol_elsewhere
from ldpsim.devices.enrolment.state import SHARD, State, enrol, ledger_name
from ldpsim.devices.fleet import BATCH
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.engines import ray_grid
from ldpsim.strategies.engines.collect import collect, quiet_flower
from ldpsim.strategies.engines.placed_grid import PlacedGrid
from ldpsim.strategies.engines.ray_session import RayFailed
from ldpsim.strategies.engines.shard_worker import ShardWorker
from ldpsim.strategies.results import lifetime_on_machines as on_machines
from ldpsim.strategies.results.lifetime import lifetime
from ldpsim.strategies.results.lifetime_on_machines import lifetime_on_machines
from ldpsim.strategies.rounds.collect_once import Collected, CollectOnce, run_collection
from ldpsim.strategies.rounds.stages import Stages
from tests.strategies.engines.one_process_ray import OneProcessRay, Session

PEOPLE = SHARD + 76  # two shards: each of two machines has one
Placed = Callable[..., PlacedState]
GridOn = Callable[..., PlacedGrid]


@pytest.fixture(scope="module")
def made() -> Population:
    return generate(PEOPLE, seed=0)


def asked_of(made: Population, collection: str = "first", **budget: float) -> tuple[Question, ...]:
    questions = HoGS().questions(made.facts, make_split("random", made, 0), Budget(**budget), collection)
    return questions


@pytest.fixture(scope="module")
def undisturbed(made: Population, tmp_path_factory: pytest.TempPathFactory) -> tuple[Collected, dict[str, Any]]:
    folder, questions = tmp_path_factory.mktemp("local") / "state", asked_of(made)
    state = enrol(folder, made, policy_for([question.query for question in questions], made.facts), seed=1)
    return collect(folder, questions, devices=PEOPLE, engine="local"), lifetime(state)


@pytest.fixture
def placed(tmp_path: Path, made: Population) -> Placed:
    def make(seed: int | None = 1) -> PlacedState:
        policy = policy_for([question.query for question in asked_of(made)], made.facts)
        return enrol_elsewhere(tmp_path / "state", made, policy, seed=seed)

    return make


@pytest.fixture
def cluster(tmp_path: Path) -> Callable[..., OneProcessRay]:
    """Return two machines, each with shards in a folder of its own; the second call finds them as they were left."""
    homes = {name: tmp_path / name for name in ("one", "two")}
    for home in homes.values():
        (home / "shards").mkdir(parents=True)
        (home / "shards" / "machine").write_text(home.name)

    def start(lose: dict[int, str] | None = None, *, names: Sequence[str] = ("one", "two"), **given: Any) -> Any:
        return OneProcessRay(lose or {}, {name: homes[name] for name in names}, **given)

    return start


@pytest.fixture
def grid_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[GridOn]:
    def start(ray: OneProcessRay, state: PlacedState, *, cores: int = 1) -> PlacedGrid:
        for module in (ray_grid, on_machines):
            monkeypatch.setattr(module, "RaySession", lambda *_: Session(ray, cores))
        return PlacedGrid(state.folder, len(state))

    yield start
    release_states()


def ask(grid: PlacedGrid, questions: Sequence[Question], made: Population | None = None, **more: Any) -> Collected:
    with quiet_flower(), closing(grid):
        strategy = CollectOnce(questions, range(1, grid.size + 1), facts=None if made is None else made.facts, **more)
        return run_collection(strategy, grid)


def lifetime_of(state: PlacedState) -> dict[str, Any]:
    return lifetime_on_machines(state, workers=None, address=None).figures()


def shards_at(home: Path) -> set[str]:
    return {path.name for path in home.glob("shards/*/part-*/ledger*.sqlite")}


@pytest.mark.parametrize("cores", [1, 2])
def test_machines_enrol_their_own_devices_and_the_reports_are_those_of_one_folder(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, made: Population, cores: int,
    undisturbed: tuple[Collected, dict[str, Any]],
) -> None:  # fmt: skip
    state, ray = placed(), cluster()
    found = ask(grid_on(ray, state, cores=cores), asked_of(made))
    assert found.reports_sha256 == undisturbed[0].reports_sha256 and found.reported == PEOPLE
    assert lifetime_of(state) == undisturbed[1]
    # The driver has no secret and no ledger; each machine has the records of its own people alone.
    assert {path.name for path in state.folder.iterdir()} == {"enrolment.json", "population", "shards.json"}
    assert [shards_at(home) for home in ray.homes.values()] == [{ledger_name(0)}, {ledger_name(1)}]
    (part,) = ray.homes["two"].glob("shards/*/part-*")
    there = State(part)
    assert list(there.residents) == list(range(SHARD, PEOPLE)) and not there.secrets[:SHARD].any()
    assert there.population.degrees[:SHARD].sum() == 0 < there.population.degrees[SHARD:].sum()


@pytest.mark.parametrize("point", ["before the commit", "after the commit", "reply lost"])
def test_a_lost_machine_of_a_simulation_changes_no_report(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, made: Population, point: str,
    undisturbed: tuple[Collected, dict[str, Any]], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    state, ray = placed(), cluster({0: point})
    found = ask(grid_on(ray, state), asked_of(made))
    assert found.reports_sha256 == undisturbed[0].reports_sha256
    assert found.reported + found.replayed == PEOPLE and not found.refused
    if point == "reply lost":  # the machine is there, and another worker of it goes on from its disk
        assert len(shards_at(ray.homes["one"])) == 1 and lifetime_of(state) == undisturbed[1]
        return
    assert capsys.readouterr().err == (
        "warning: one is not in the Ray cluster with 1,024 devices: they are enrolled anew from the seed, "
        "and their lifetime losses are not complete\n"
    )
    assert shards_at(ray.homes["two"]) == {ledger_name(0), ledger_name(1)}
    assert state.places()[0].machine == "two" and lifetime_of(state)["complete"] is False


def test_a_worker_that_ends_is_followed_by_another_one_on_the_same_disk(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, made: Population,
    undisturbed: tuple[Collected, dict[str, Any]], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Also where the secrets are real ones: nothing is enrolled anew."""
    state, ray = placed(None), cluster({0: "after the commit"}, machines=False)
    found = ask(grid_on(ray, state), asked_of(made))
    assert (found.reported + found.replayed, found.silent) == (PEOPLE, 0)
    assert found.replayed == SHARD - 512  # the committed batch whose reply was lost
    assert state.places()[0].epoch == 2 and state.places()[1].epoch == 1
    assert lifetime_of(state) == undisturbed[1]
    assert capsys.readouterr().err == ""


def test_real_devices_of_a_lost_machine_are_silent_until_it_is_back_with_its_disk(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, made: Population,
    undisturbed: tuple[Collected, dict[str, Any]], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    state, ray = placed(None), cluster({0: "after the commit"})
    found = ask(grid_on(ray, state), asked_of(made))
    assert (found.reported, found.silent) == (PEOPLE - SHARD + 512, 512)
    assert not found.refused and found.failed == found.replayed == 0
    assert capsys.readouterr().err.startswith(
        "warning: one is not in the Ray cluster with 1,024 devices: they count as silent"
    )
    assert shards_at(ray.homes["two"]) == {ledger_name(1)}  # nobody was enrolled a second time
    assert lifetime_of(state)["complete"] is False
    # Another question of the same collection, while the machine is away: one line before anybody is asked.
    again = cluster(names=["two"])
    grid = grid_on(again, state)
    assert capsys.readouterr().err.startswith("warning: one is not in the Ray cluster with 1,024 devices: they c")
    assert all(not actor.answered for actor in again.actors)
    second = ask(grid, asked_of(made))
    assert (second.replayed, second.silent) == (PEOPLE - SHARD, SHARD) and not second.refused
    assert shards_at(again.homes["two"]) == {ledger_name(1)}
    # It is back.
    third = ask(grid_on(cluster(), state), asked_of(made))
    assert third.replayed == PEOPLE  # the lost reply was committed
    assert all(third.reports[device] == report for device, report in found.reports.items())
    assert lifetime_of(state) == undisturbed[1]


def test_a_machine_that_lost_its_disk_says_so_and_its_devices_are_not_damaged(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, made: Population,
    capsys: pytest.CaptureFixture[str], tmp_path: Path,
) -> None:  # fmt: skip
    state = placed(None)
    grid = grid_on(cluster(), state)
    (part,) = (tmp_path / "one" / "shards").glob("*/part-*")
    part.rename(tmp_path / "away")  # while the run goes on
    found = ask(grid, asked_of(made))
    assert (found.reported, found.silent) == (PEOPLE - SHARD, SHARD) and not found.refused
    assert "one does not have 1,024 of its devices: they count as silent" in capsys.readouterr().err


def test_devices_that_were_enrolled_anew_stay_where_they_are(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, made: Population, tmp_path: Path,
    undisturbed: tuple[Collected, dict[str, Any]],
) -> None:  # fmt: skip
    """The old disk is back. It has a ledger of these devices, of an owner of the past, and nobody asks it."""
    state = placed()
    ask(grid_on(cluster({0: "after the commit"}), state), asked_of(made))
    (old,) = (tmp_path / "one" / "shards").glob("*/part-*")
    assert State(old).ledger(0).epoch < state.places()[0].epoch
    before = sum(len(rows) for _, rows in State(old).ledger(0).devices())
    found = ask(grid_on(cluster(), state), asked_of(made))
    assert found.replayed == PEOPLE and found.reports_sha256 == undisturbed[0].reports_sha256
    # Nor do its rows count a second time.
    assert state.places()[0].machine == "two" and lifetime_of(state) == undisturbed[1] | {"complete": False}
    assert sum(len(rows) for _, rows in State(old).ledger(0).devices()) == before


def test_devices_of_a_driver_that_ended_before_it_asked_are_not_made_again(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, tmp_path: Path
) -> None:
    state = placed(None)
    grid_on(cluster(), state, cores=2).close()
    state.write_places({})
    ray = cluster(names=["two", "one"])  # it would now choose the other machine
    grid_on(ray, state).close()
    assert [place.machine for place in state.places().values()] == ["one", "two"]
    assert [shards_at(tmp_path / name) for name in ("one", "two")] == [{ledger_name(0)}, {ledger_name(1)}]


def test_each_run_is_a_new_owner_of_the_shards(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, tmp_path: Path
) -> None:
    state = placed(None)
    for epoch in (1, 2, 3):
        grid_on(cluster(), state).close()
        assert [place.epoch for place in state.places().values()] == [epoch, epoch]


@pytest.mark.slow
def test_stages_that_a_lost_machine_answered_are_asked_again(
    cluster: Callable[..., OneProcessRay], grid_on: GridOn, made: Population, tmp_path: Path
) -> None:
    """LDPGen's second stage: a device that is enrolled anew needs the first one in its ledger."""
    method = find("ldpgen")()
    budget = Budget(epsilon=4, public_features=True)
    questions = method.questions(made.facts, make_split("random", made, 0), budget, "first")
    policy = policy_for([question.query for question in questions], made.facts)
    enrol(tmp_path / "local", made, policy, seed=1).close()
    expected = collect(
        tmp_path / "local", questions, devices=PEOPLE, engine="local", stages=Stages(method, made.facts, tmp_path / "a")
    )
    state = enrol_elsewhere(tmp_path / "state", made, policy, seed=1)
    ray = cluster({1: "before the commit"})  # it has one batch a stage
    found = ask(grid_on(ray, state), questions, stages=Stages(method, made.facts, tmp_path / "b"))
    assert found.reports_sha256 == expected.reports_sha256
    assert found.reported == expected.reported and not found.refused and found.silent == 0


def test_a_cluster_without_machines_ends_the_run(
    placed: Placed, cluster: Callable[..., OneProcessRay], grid_on: GridOn, made: Population
) -> None:
    with pytest.raises(RayFailed, match="no machine of the Ray cluster is left"):
        ask(grid_on(cluster({0: "before the commit"}, names=["one"]), placed()), asked_of(made))


def test_another_engine_is_refused_in_one_line(placed: Placed, made: Population) -> None:
    folder = placed().folder
    for refused in (lambda: State(folder), lambda: collect(folder, asked_of(made), devices=PEOPLE, engine="local")):
        with pytest.raises(ValueError, match="live on the machines of a Ray cluster; a run with --engine ray or --ray"):
            refused()


# --- two real nodes ---

MANY = int(os.environ.get("LDPSIM_CLUSTER_DEVICES", 8 * SHARD))
SMALL = {"num_cpus": 1, "object_store_memory": 200 << 20}


@pytest.fixture(scope="module")
def many() -> tuple[Population, tuple[Question, ...]]:
    made = generate(MANY, seed=0)
    return made, asked_of(made)


@contextmanager
def two_nodes(folder: Path) -> Iterator[Any]:
    """A cluster of two nodes of one core, each with a home of its own, and a driver that is attached to it."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={**SMALL, "include_dashboard": False, "env_vars": {"LDPSIM_HOME": str(folder / "head")}},
    )
    try:
        cluster.add_node(**SMALL, env_vars={"LDPSIM_HOME": str(folder / "second")})
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def killing(point: str, home: Path) -> type[ShardWorker]:
    """A worker that kills the raylet of the second node in the middle of its work; this class goes by value."""
    last = -(-MANY // SHARD) // 2

    class Killing(ShardWorker):
        batches = 0

        def answer(self, contents: Any, rows: Any, epoch: int | None) -> Any:
            self.batches += 1
            if self.batches < last or os.environ["LDPSIM_HOME"] != str(home):
                return ShardWorker.answer(self, contents, rows, epoch)
            if self.batches > last:  # the reply has left, and the node is dead
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


@pytest.fixture(scope="module")
def undisturbed_many(
    many: tuple[Population, tuple[Question, ...]], tmp_path_factory: pytest.TempPathFactory
) -> Collected:
    (people, questions), folder = many, tmp_path_factory.mktemp("many") / "state"
    enrol(folder, people, policy_for([question.query for question in questions], people.facts), seed=1).close()
    return collect(folder, questions, devices=MANY, engine="local", workers=1, facts=people.facts)


SECONDS: dict[str, float] = {}  # of the collections, by point


@pytest.mark.cluster
@pytest.mark.parametrize("point", ["undisturbed", "before the commit", "after the commit", "after the reply"])
def test_two_nodes_without_a_common_disk_of_which_one_is_killed(
    tmp_path: Path, many: tuple[Population, tuple[Question, ...]], undisturbed_many: Collected, point: str
) -> None:
    people, questions = many
    policy = policy_for([question.query for question in questions], people.facts)
    state = enrol_elsewhere(tmp_path / "state", people, policy, seed=1)
    with two_nodes(tmp_path) as cluster:
        kind = ShardWorker if point == "undisturbed" else killing(point, tmp_path / "second")
        began = time.monotonic()
        grid = PlacedGrid(state.folder, MANY, workers=2, address=cluster.address, worker=kind)
        ready = time.monotonic()
        found = ask(grid, questions, people)
        SECONDS[point] = time.monotonic() - ready
        life = lifetime_on_machines(state, workers=2, address=cluster.address).figures()
    print(f"\n{point}: {found.reported:,} reported, {found.replayed:,} replayed, "
          f"{sum(found.refused.values())} refused, {found.silent} silent, {ready - began:.1f} s to enrol, "
          f"{SECONDS[point]:.1f} s to collect, digest {found.reports_sha256[:12]}")  # fmt: skip
    assert found.reports_sha256 == undisturbed_many.reports_sha256
    assert found.reported + found.replayed == MANY and not found.refused and found.silent == found.failed == 0
    assert life["complete"] is (point == "undisturbed")
    if MANY >= 100_000:  # else the seconds in which a lost node is noticed are most of it
        assert SECONDS[point] <= 2 * SECONDS.get("undisturbed", SECONDS[point])


@pytest.mark.cluster
def test_real_devices_of_a_killed_node_are_silent_until_it_is_back_with_its_disk(tmp_path: Path) -> None:
    people = generate(MANY, seed=0)
    questions = asked_of(people)
    policy = policy_for([question.query for question in questions], people.facts)
    state = enrol_elsewhere(tmp_path / "state", people, policy, seed=None)
    with two_nodes(tmp_path) as cluster:
        kind = killing("after the commit", tmp_path / "second")
        found = ask(PlacedGrid(state.folder, MANY, workers=2, address=cluster.address, worker=kind), questions)
        complete = lifetime_on_machines(state, workers=2, address=cluster.address).complete
        cluster.add_node(**SMALL, env_vars={"LDPSIM_HOME": str(tmp_path / "second")})
        again = ask(PlacedGrid(state.folder, MANY, workers=2, address=cluster.address), questions)
        after = lifetime_on_machines(state, workers=2, address=cluster.address).figures()
    print(f"\nreal secrets: {found.reported:,} reported, {found.silent:,} silent, complete: {complete}; "
          f"its node is back: {again.reported:,} reported, {again.replayed:,} replayed, complete: {after['complete']}"
          )  # fmt: skip
    assert found.silent > 0 and found.reported + found.silent == MANY and not found.refused and complete is False
    assert again.reported + again.replayed == MANY and not again.refused and after["complete"] is True
    assert again.replayed >= found.reported + BATCH  # the batch that was committed, and was silent
    assert all(again.reports[device] == report for device, report in found.reports.items())
    assert after["bit_adjacency"]["max"] == pytest.approx(7.2)  # nobody released twice


@pytest.mark.cluster
def test_a_copied_part_of_a_node_gives_no_second_answer(tmp_path: Path) -> None:
    """The copy is named, and served by nobody; without it, and with an old one in place, no device answers anew."""
    people = generate(MANY, seed=0)
    first, second = asked_of(people), asked_of(people, "second", epsilon=1.0)
    policy = policy_for([q.query for q in first], people.facts)
    state = enrol_elsewhere(tmp_path / "state", people, policy, seed=None)
    with two_nodes(tmp_path) as cluster:

        def start() -> PlacedGrid:
            return PlacedGrid(state.folder, MANY, workers=2, address=cluster.address)

        start().close()
        (part,) = (tmp_path / "second" / "shards" / state.devices_id).glob("part-*")
        shutil.copytree(part, copy := part.with_name("part-0.bak"))
        with pytest.raises(ValueError, match=f"{copy} is a copy of {part}: keep one of them, under the name part-0"):
            start()
        copy.rename(tmp_path / "old")
        asked = ask(start(), first)
        here = devices_of(State(part).shards, MANY)
        others = ask(start(), second)
        assert asked.reported == MANY and others.refused == {"REPORT_COLLECTED": MANY}
        shutil.rmtree(part)
        shutil.copytree(tmp_path / "old", part)
        restored = ask(start(), second)
    print(f"\na copied part of {len(here):,} devices: {others.refused}; in place: {restored.refused}")
    assert restored.refused == {"REPORT_COLLECTED": MANY - len(here), "COUNTER_MISMATCH": len(here)}
    assert others.reported == others.replayed == restored.reported == restored.replayed == 0

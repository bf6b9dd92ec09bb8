"""One seed, two engines: byte-identical reports, drawn in other processes or on Ray, of which some are lost."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from ldpsim.curator.methods import HoGS, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.devices import fleet
from ldpsim.devices.curator_key import CuratorKey
from ldpsim.devices.curator_key import generate as generate_key
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import SHARD, State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.wire import QUERY_TYPE, query_content, read_reply
from ldpsim.strategies.engines import collect as collecting
from ldpsim.strategies.engines.collect import PROCESSES_PAY_FROM, choose, collect
from ldpsim.strategies.engines.grids import LocalGrid
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


Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


def test_auto_is_local_unless_a_cluster_is_named() -> None:
    assert choose("auto", None) == "local"
    assert choose("auto", "ray://somewhere:10001") == "ray"
    assert choose("local", None) == "local"


@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_local_and_ray_say_the_same_about_every_row(enrolled: Enrolled, ask: Ask, on_requery: str) -> None:
    """First answer, retry, other collection, other budget: same bytes, counts and codes on both engines."""
    seen = {}
    for engine in ("local", "ray"):
        folder = enrolled(on_requery=on_requery).folder
        rows = []
        for collection, epsilon in (("first", 8.0), ("first", 8.0), ("second", 8.0), ("third", 4.0), ("fourth", 9.0)):
            c = collect(folder, ask(collection, epsilon), devices=40, engine=engine, workers=2)
            rows.append((c.reports_sha256, c.reported, c.replayed, c.refused, c.downlink_bytes, c.uplink_bytes))
        seen[engine] = rows
    assert seen["local"] == seen["ray"]
    first, retry, other, smaller, larger = seen["local"]
    assert first[1:4] == (40, 0, Counter())
    assert retry[:4] == (first[0], 0, 40, Counter())
    assert other[3] == (Counter() if on_requery == "replay" else Counter(REPORT_COLLECTED=40))
    assert (other[0] == first[0]) == (on_requery == "replay")
    assert smaller[3] == Counter(REPORT_COLLECTED=40)  # a smaller budget is inside the policy and still too late
    assert larger[3] == Counter(POLICY_REFUSED=40)


@pytest.mark.usefixtures("ray_here")
def test_a_pinned_curator_is_answered_on_both_engines(enrolled: Enrolled, ask: Ask, tmp_path: Path) -> None:
    """A hostile run comes first and spends nothing; the honest run gets the bytes of devices without a pin."""
    generate_key(tmp_path / "key")
    key = CuratorKey.load(tmp_path / "key")
    plain = collect(enrolled().folder, ask(), devices=40, engine="local").reports_sha256
    for engine in ("local", "ray"):
        folder = enrolled(collector=key.public).folder
        hostile = collect(folder, ask("hostile", 0.01), devices=40, engine=engine, workers=2)
        assert hostile.refused == Counter(COLLECTOR_REFUSED=40)
        terms = key.sign(terms_of([(each.query, each.devices) for each in ask()], 40))
        honest = collect(folder, ask(), devices=40, engine=engine, workers=2, terms=terms)
        assert (honest.reported, honest.reports_sha256) == (40, plain)


def test_a_grid_of_our_own_is_a_flower_grid(
    enrolled: Callable[..., State], ask: Callable[..., tuple[Question, ...]]
) -> None:
    grid = LocalGrid(enrolled().folder, 40)
    assert isinstance(grid, Grid)
    assert list(grid.get_node_ids()) == list(range(1, 41))
    assert [node.node_id for node in grid.get_nodes()] == list(range(1, 41))
    content = query_content(ask()[0].query)
    ids = list(grid.push_messages([grid.create_message(content, QUERY_TYPE, node, "1") for node in (3, 9)]))
    replies = list(grid.pull_messages(ids))
    assert {reply.metadata.reply_to_message_id for reply in replies} == set(ids)
    assert sorted(read_reply(reply)[0] for reply in replies) == [2, 8]  # type: ignore[index]
    assert list(grid.pull_messages(ids)) == []  # a reply is pulled once


def test_an_unknown_node_and_a_missing_run_are_errors(enrolled: Callable[..., State]) -> None:
    grid = LocalGrid(enrolled().folder, 40)
    with pytest.raises(ValueError, match="no node 41"):
        grid.send_and_receive([Message(RecordDict({}), 41, QUERY_TYPE)])
    with pytest.raises(RuntimeError):
        _ = grid.run

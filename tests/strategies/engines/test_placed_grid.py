"""Machines without a common disk: in a Ray of this process at every point, and on two real nodes (`make cluster`)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from curator.methods import HoGS, Question
from curator.methods.base import Budget
from devices.data.population import Population
from devices.data.splits import make_split
from devices.datasets.generated_v1 import generate
from devices.enrolment.placement import enrol_elsewhere
from devices.enrolment.state import SHARD
from devices.policy.policy import policy_for
from strategies.engines.collect import quiet_flower
from strategies.engines.placed_grid import PlacedGrid
from strategies.engines.shard_worker import ShardWorker
from strategies.results.lifetime_on_machines import lifetime_on_machines
from strategies.rounds.collect_once import Collected, CollectOnce, run_collection
from strategies.setup.sampler import chosen_sampler, drawn_by

# --- two real nodes ---

MANY = int(os.environ.get("LDPSIM_CLUSTER_DEVICES", 8 * SHARD))
SMALL = {"num_cpus": 1, "object_store_memory": 200 << 20}


def asked_of(made: Population) -> tuple[Question, ...]:
    questions = HoGS().questions(made.facts, make_split("random", made, 0), Budget(), "first")
    return tuple(drawn_by(questions, chosen_sampler(None, HoGS(), len(made))))


@pytest.fixture(scope="module")
def many() -> tuple[Population, tuple[Question, ...]]:
    made = generate(MANY, seed=0)
    return made, asked_of(made)


def ask(grid: PlacedGrid, questions: Sequence[Question], made: Population | None = None) -> Collected:
    with quiet_flower(), closing(grid):
        strategy = CollectOnce(questions, range(1, grid.size + 1), facts=None if made is None else made.facts)
        return run_collection(strategy, grid)


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

        def answer(self, contents: Any, rows: Any, epoch: int) -> Any:
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


@pytest.mark.cluster
@pytest.mark.parametrize("point", ["undisturbed", "before the commit", "after the commit", "after the reply"])
def test_two_nodes_without_a_common_disk_of_which_one_is_killed(
    tmp_path: Path, many: tuple[Population, tuple[Question, ...]], point: str
) -> None:
    made, questions = many
    policy = policy_for([question.query for question in questions], made.facts)
    state = enrol_elsewhere(tmp_path / "state", made, policy, seed=1)
    with two_nodes(tmp_path) as cluster:
        kind = ShardWorker if point == "undisturbed" else killing(point, tmp_path / "second")
        began = time.monotonic()
        grid = PlacedGrid(state.folder, MANY, workers=2, address=cluster.address, worker=kind)
        ready = time.monotonic()
        found = ask(grid, questions, made)
        seconds = time.monotonic() - ready
        lifetime = lifetime_on_machines(state, workers=2, address=cluster.address)
    print(f"\n{point}: {found.reported:,} reported, {found.replayed:,} replayed, "
          f"{sum(found.refused.values())} refused, {found.silent} silent, "
          f"start {ready - began:.1f} s, collection {seconds:.1f} s, digest {found.reports_sha256[:12]}")  # fmt: skip
    assert found.reported + found.replayed == MANY and not found.refused
    assert lifetime["complete"] is (point == "undisturbed")

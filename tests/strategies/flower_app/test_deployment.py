"""A SuperLink and four SuperNodes on loopback: the checkout as a Flower app, as people would run it.

About a minute and a gigabyte: ``make deployment``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from ldpsim.curator.methods import HoGS
from ldpsim.curator.methods.base import Budget
from ldpsim.devices import datasets
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.flower import Flower
from ldpsim.strategies.setup.options import RunOptions

pytestmark = pytest.mark.deployment
ROOT = Path(__file__).resolve().parents[3]
SUPERNODES = 4
OPTIONS = RunOptions(dataset="generated", clients=24, epsilon=8.0)


@pytest.fixture(scope="module")
def people() -> Population:
    return datasets.load("generated", clients=24, seed=OPTIONS.seeds_of(0).population)


@pytest.fixture(scope="module")
def enrolled(people: Population, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], State]:
    split = make_split("random", people, OPTIONS.seeds_of(0).split)
    queries = []
    for budget in (Budget(epsilon=8.0), Budget(epsilon=8.0, private_labels=True, eps_labels=1.0)):
        queries += [question.query for question in HoGS().questions(people.facts, split, budget, "any")]

    def make(name: str) -> State:
        return enrol(tmp_path_factory.mktemp(name) / "state", people, policy_for(queries, people.facts), seed=1)

    return make


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Flower]]:
    """Starts a SuperLink; its environment is that of the ServerApp."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with ExitStack() as stack:
        made: list[Flower] = []

        def start(**more: str) -> Flower:
            places = {"LDPSIM_HOME": str(tmp_path / "home"), **more}
            flower = Flower(simulation=False, log=tmp_path / "flower.log", environment=places)
            made.append(stack.enter_context(flower))
            return flower

        yield start
        left = [process for flower in made for process in flower.processes()]
    assert not [process for process in left if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def log_of(flower: Flower, start: int = 0) -> str:
    return flower.log.read_text(errors="replace")[start:]


def test_four_devices_report_once(
    started: Callable[..., Flower], enrolled: Callable[[str], State], tmp_path: Path
) -> None:
    state, twin = enrolled("devices"), enrolled("twin")
    deployment = started(LDPSIM_STATE=str(state.folder))
    for device in range(SUPERNODES):
        deployment.start_supernode({"partition-id": device, "num-partitions": 24, "state-dir": str(state.folder)})
    config = {"dataset": "generated", "epsilon": 8.0, "minimum-nodes": SUPERNODES}
    deployment.start_run(ROOT, config).wait(240)
    assert "result: " in log_of(deployment)
    (result,) = state.folder.parent.glob("*/result.json")
    record = json.loads(result.read_text())
    devices = record["devices"]
    assert (devices["asked"], devices["reported"], devices["silent"]) == (24, 4, 20)
    assert record["engine"] == "flower"
    local = collect(
        twin.folder,
        HoGS().questions(twin.policy.facts, make_split("random", twin.population, 0), Budget(epsilon=8.0), "any"),
        devices=24,
        engine="local",
        silent=frozenset(range(SUPERNODES, 24)),
    )
    assert local.reported == 4 and devices["reports_sha256"] == local.reports_sha256

    # the same command again: a new collection, and every device refuses
    start = len(log_of(deployment))
    deployment.start_run(ROOT, config).wait(240)
    assert "refused: none of 24 devices reported (REPORT_COLLECTED 4)" in log_of(deployment, start)
    assert len(list(state.folder.parent.glob("*/result.json"))) == 1
    held = {
        device: b"".join(p.report for a in state.ledger(device).answers(device) for p in a.parts)
        for device in range(24)
    }
    assert [device for device, report in held.items() if report] == [0, 1, 2, 3]

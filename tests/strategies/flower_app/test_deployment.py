"""A SuperLink and four SuperNodes on loopback: the checkout as a Flower app, as people would run it.

About a minute and a gigabyte: ``make deployment``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from flwr.app import Context, RecordDict

from ldpsim.curator.methods import HoGS
from ldpsim.curator.methods.base import Budget
from ldpsim.devices import datasets
from ldpsim.devices.curator_key import CuratorKey, SignedTerms, generate
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy, signed_config
from ldpsim.strategies.flower_app.simulation import run_on_grid
from ldpsim.strategies.setup.options import RunOptions
from tests.flower_processes import Flower

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


def node_ids(flower: Flower) -> list[str]:
    return re.findall(r"SuperNode ID: (\d+)", log_of(flower))


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
        dropouts=frozenset(range(SUPERNODES, 24)),
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


def test_a_stranger_with_zero_signatures_makes_no_group_of_a_staged_question(
    started: Callable[..., Flower], people: Population, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He knows the words of the terms, and nodes of his own would answer: the collection would take over his groups."""
    generate(tmp_path / "key")
    key = CuratorKey.load(tmp_path / "key")
    question = {"method": "fp-ldpgen", "epsilon": 8.0, "collection": "one"}
    facts = {"facts": people.facts.to_dict(), "labels": {str(node): int(people.labels[node]) for node in range(12)}}
    policy = agreed_policy(question, PublicFile.read(json.dumps(facts)))

    def devices(name: str, collector: str | None, seed: int) -> Path:
        return enrol(tmp_path / name, people, replace(policy, collector=collector), seed=seed).folder

    honest, hostile = devices("honest", key.public, 1), devices("hostile", None, 2)
    deployment = started(LDPSIM_CURATOR_KEY=str(tmp_path / "key.pub"))
    ids: list[dict[str, str]] = []
    for folder in (honest, hostile):
        ids.append({})
        for device in range(SUPERNODES // 2):
            before = len(node_ids(deployment))
            node = deployment.start_supernode({"partition-id": device, "num-partitions": 24, "state-dir": str(folder)})
            deployment.wait_until(lambda before=before: len(node_ids(deployment)) > before, node, "no id")  # type: ignore[misc]
            ids[-1][str(device)] = node_ids(deployment)[-1]

    def with_nodes(nodes: dict[str, str]) -> str:
        return json.dumps({**facts, "nodes": nodes})

    signed = signed_config(question, with_nodes(ids[0]), key) | {"minimum-nodes": SUPERNODES}
    zeros = SignedTerms(bytes(64), SignedTerms.from_text(signed["terms"]).terms).to_text()
    for terms in (zeros, signed["terms"]):  # the stranger: without the signature, and with it and nodes of his own
        start = len(log_of(deployment))
        deployment.start_run(ROOT, {**signed, "facts": with_nodes(ids[1]), "terms": terms}).wait(240)
        reason = "did not sign them" if terms == zeros else "signed for other facts"
        assert reason in log_of(deployment, start) and "Traceback" not in log_of(deployment, start)
    assert not list(tmp_path.glob("home/flwr/**/*.json"))
    deployment.start_run(ROOT, signed).wait(240)
    (path,) = tmp_path.glob("home/flwr/signed-*/fp-ldpgen-one/round-one-*-1.json")
    record = json.loads((path.parent / "result.json").read_text())
    assert record["devices"]["reported"] == SUPERNODES // 2, log_of(deployment)
    held = [len(State(folder).ledger(0).answers(0)) for folder in (honest, hostile)]
    assert held == [2, 0]  # an answer a stage
    # the same devices, asked on a Grid of this process, with nobody else there
    monkeypatch.setenv("LDPSIM_HOME", str(tmp_path / "alone"))
    monkeypatch.setenv("LDPSIM_CURATOR_KEY", str(tmp_path / "key.pub"))
    grid = LocalGrid(devices("again", key.public, 1), 24)
    nodes = {str(device): str(device + 1) for device in range(SUPERNODES // 2)}
    again = signed_config(question, with_nodes(nodes), key)
    run_on_grid(grid, Context(1, 0, {}, RecordDict(), again))
    (alone,) = tmp_path.glob("alone/flwr/signed-*/fp-ldpgen-one/round-one-*-1.json")
    assert (
        path.read_text() == alone.read_text() and np.ptp(json.loads(json.loads(path.read_text())[0][0])["grouping"]) > 0
    )

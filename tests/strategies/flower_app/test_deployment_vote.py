"""A vote of four devices in vaults, asked through SuperNodes on loopback, beside the same devices on the local engine.

About a minute: ``make deployment``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, RecordDict

from curator.methods import Vote
from curator.methods.base import Budget
from devices.data.population import Population, build_population
from devices.enrolment.state import State, enrol
from devices.facts import PublicKnowledge
from devices.ledger.rows import QueryAnswer
from strategies.engines.flower_processes import Flower
from strategies.engines.grids import LocalGrid
from strategies.flower_app.deployed import PublicFile, agreed_policy
from strategies.rounds.batches import questions_to_json
from strategies.server_app import run_on_grid

pytestmark = [pytest.mark.deployment, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[3]
DEVICES, CLASSES = 4, 6
ASKED = {"method": "vote", "epsilon": 4.0}
ONCE = f"asked {DEVICES}, reported {DEVICES}, replayed 0, silent 0, failed 0 {{}}"


@pytest.fixture
def people() -> Population:
    """Four people of six classes, each with two neighbours."""
    ring = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
    columns = np.arange(DEVICES)
    return build_population("ring", n=DEVICES, d=DEVICES, edges=ring, feature_indptr=np.arange(DEVICES + 1),
                            feature_indices=columns, feature_values=None, labels=np.array([0, 3, 0, 5]),
                            classes=CLASSES)  # fmt: skip


@pytest.fixture
def facts(people: Population, tmp_path: Path) -> Path:
    path = tmp_path / "facts.json"
    labels = {str(person): int(people.labels[person]) for person in range(3)}
    path.write_text(json.dumps({"facts": people.facts.to_dict(), "labels": labels}))
    return path


def _enrolled(folder: Path, people: Population, facts: Path, residents: range | None = None) -> State:
    """Devices of this population; one seed makes the same secrets in every folder."""
    return enrol(folder, people, agreed_policy(ASKED, PublicFile.load(facts)), seed=1, residents=residents)


def _config(facts: Path, out: Path, collection: str) -> dict[str, Any]:
    return {**ASKED, "facts": str(facts), "collection": collection, "out": str(out)}


def _ask_everybody_at_once(facts: Path, folder: Path, collection: str) -> None:
    """Write the first batch of a collection, which the run then sends as it stands."""
    public = PublicFile.load(facts)
    known = PublicKnowledge(public.facts, public.split(0), public.labels)
    made = Vote(batches=1).next_questions(known, Budget(epsilon=4.0), collection, None)
    assert sum(len(question.devices) for question in made if question.devices is not None) == DEVICES
    folder.mkdir(parents=True)
    text = json.dumps(questions_to_json(made), default=np.ndarray.tolist)
    (folder / f"batch-{collection}-0.json").write_text(text)


def _questions(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("batch-*.json")}


def _answers(state: State, device: int) -> list[tuple[str, int, bytes]]:
    """Return collection, place in the ledger, and all parts (question, losses, report, digest of the data)."""
    rows = state.ledger(device).answers(device)
    assert all(isinstance(row, QueryAnswer) for row in rows)
    return [(row.collection, row.number, row.packed_parts) for row in rows if isinstance(row, QueryAnswer)]


def test_four_vaults_vote_once(
    people: Population, facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    twin = _enrolled(tmp_path / "twin", people, facts)
    config = _config(facts, tmp_path / "local", "one")
    run_on_grid(LocalGrid(twin.folder, DEVICES), Context(1, 0, {}, RecordDict(), config))
    vaults = [_enrolled(tmp_path / f"vault-{i}", people, facts, range(i, i + 1)) for i in range(DEVICES)]

    with Flower(simulation=False, log=tmp_path / "flower.log") as flower:
        for i, vault in enumerate(vaults):
            socket = flower.folder / f"vault-{i}.socket"
            served = flower.start(["ldpsim", "device", "serve", "--state", str(vault.folder), "--socket", str(socket)])
            flower.wait_until(socket.exists, served, f"vault {i} did not start")
            flower.start_supernode({"partition-id": i, "socket": str(socket)})
        flower.start_run(ROOT, _config(facts, tmp_path / "out", "one")).wait(240)
        told = flower.log.read_text(errors="replace")
        assert ONCE in told, told[-3000:]

        # another collection, which asks all four at once: each device has given its one answer
        _ask_everybody_at_once(facts, tmp_path / "out" / "vote-two", "two")
        flower.start_run(ROOT, _config(facts, tmp_path / "out", "two")).wait(240)
        told = flower.log.read_text(errors="replace")[len(told) :]
        assert f"none of {DEVICES} devices reported ({{'REPORT_COLLECTED': {DEVICES}}})" in told, told[-3000:]
    ours, theirs = tmp_path / "out" / "vote-one", tmp_path / "local" / "vote-one"
    summary, local = (json.loads((folder / "summary.json").read_text()) for folder in (ours, theirs))
    assert summary["devices"] == local["devices"]  # the counts, and the SHA-256 of all reports
    assert summary["privacy"]["holds"]["user"]["value"] == pytest.approx(4.0)
    assert _questions(ours) == _questions(theirs) != {}
    for device, vault in enumerate(vaults):
        (answer,) = _answers(vault, device)
        assert [answer] == _answers(twin, device)
    assert not (tmp_path / "out" / "vote-two" / "summary.json").exists()

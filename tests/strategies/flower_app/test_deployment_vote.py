"""Votes of devices in vaults, asked through SuperNodes on loopback, beside the same devices on the local engine.

About two minutes: ``make deployment``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, RecordDict

from ldpsim.curator.methods import Question, Vote
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.enrolment.record_file import read_own_data
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.facts import PublicKnowledge
from ldpsim.devices.ledger.rows import Part
from ldpsim.devices.policy.policy import read_policy, write_policy
from ldpsim.strategies.engines.flower import Flower
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy
from ldpsim.strategies.rounds.batches import questions_to_json
from ldpsim.strategies.server_app import run_on_grid

pytestmark = pytest.mark.deployment
ROOT = Path(__file__).resolve().parents[3]
DEVICES, CLASSES = 4, 6
ASKED = {"method": "vote", "epsilon": 4.0}


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


def _config(facts: Path, collection: str, **more: Any) -> dict[str, Any]:
    return {**ASKED, "facts": facts.read_text(), "collection": collection, **more}


def _ask_everybody_at_once(facts: Path, folder: Path, collection: str) -> None:
    """Write the first batch of a collection, which the run then sends as it stands."""
    public = PublicFile.load(facts)
    known = PublicKnowledge(public.facts, public.split(0), public.labels)
    made = Vote(batches=1).questions(known.facts, known.split, Budget(epsilon=4.0), collection, (known, None))
    assert sum(len(question.devices) for question in made if question.devices is not None) == DEVICES
    _keep_batch(made, folder, collection)


def _keep_batch(made: Sequence[Question], folder: Path, collection: str) -> None:
    folder.mkdir(parents=True)
    text = json.dumps(questions_to_json(made), default=np.ndarray.tolist)
    (folder / f"batch-{collection}-0.json").write_text(text)


def _questions(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("batch-*.json")}


def _answers(state: State, device: int) -> list[tuple[str, int, tuple[Part, ...]]]:
    """Return collection, place in the ledger, and all parts (question, losses, report, digest of the data)."""
    rows = state.ledger(device).answers(device)
    assert not any(row.is_training for row in rows)
    return [(row.collection, row.number, row.parts) for row in rows]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LDPSIM_HOME", str(tmp_path / "local"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@contextmanager
def _deployed(vaults: Sequence[State], log: Path) -> Iterator[Flower]:
    """A SuperLink, and a vault and a SuperNode for each device."""
    with Flower(simulation=False, log=log, environment={"LDPSIM_HOME": str(log.parent / "out")}) as flower:
        for i, vault in enumerate(vaults):
            socket = flower.folder / f"vault-{i}.socket"
            served = flower.start(["ldpsim", "device", "serve", "--state", str(vault.folder), "--socket", str(socket)])
            flower.wait_until(socket.exists, served, f"vault {i} did not start")
            flower.start_supernode({"partition-id": i, "socket": str(socket)})
        yield flower


def _run(flower: Flower, config: dict[str, Any]) -> str:
    """Run the app and return what it told."""
    before = len(flower.log.read_text(errors="replace"))
    flower.start_run(ROOT, config).wait(240)
    return flower.log.read_text(errors="replace")[before:]


def _once(devices: int) -> str:
    return f"asked {devices}, reported {devices}, replayed 0, silent 0, failed 0 {{}}"


def _nobody(devices: int, code: str) -> str:
    return f"none of {devices} devices reported ({{'{code}': {devices}}})"


# The least number of volunteers, two people who vote one after the other, and one who answers the own label.
PEOPLE, VOLUNTEERS, LABELLED = 6, (0, 2, 3), (5,)
COLUMNS = {0: [0, 3], 1: [0, 4], 2: [1, 3], 3: [2, 5], 4: [1, 4], 5: [2, 3]}
LABELS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 1, 5: 2}


def _own_record(person: int, path: Path) -> Path:
    """Write the file of one person; those who vote have no label."""
    near = [(person + step) % PEOPLE for step in (1, PEOPLE - 1)]
    record: dict[str, Any] = {"features": COLUMNS[person], "neighbours": near}
    if person in VOLUNTEERS + LABELLED:
        record["label"] = LABELS[person]
    path.write_text(json.dumps({"facts": {"n": PEOPLE, "d": 6, "classes": 3}, "records": {str(person): record}}))
    return path


def _everybody() -> Population:
    columns = np.concatenate([COLUMNS[person] for person in range(PEOPLE)])
    ring = np.array([np.arange(PEOPLE), (np.arange(PEOPLE) + 1) % PEOPLE])
    labels = np.array([LABELS[person] if person in VOLUNTEERS + LABELLED else -1 for person in range(PEOPLE)])
    return build_population("ring", n=PEOPLE, d=6, edges=ring, feature_indptr=2 * np.arange(PEOPLE + 1),
                            feature_indices=columns, feature_values=None, labels=labels, classes=3)  # fmt: skip


def _ask_both_roles(public: PublicFile, folder: Path, collection: str, *, exchanged: bool) -> None:
    """Write a first batch that asks everybody at once, where roles may be exchanged."""
    budget, volunteers = Budget(epsilon=4.0, volunteers=True, private_labels=True), np.array(VOLUNTEERS)
    in_clear, label, vote = Vote().questions(public.facts, public.split(0), budget, collection)
    ordinary = np.setdiff1d(np.arange(PEOPLE), volunteers)
    if exchanged:
        batch = [replace(in_clear, devices=ordinary), replace(vote, devices=volunteers)]
    else:
        batch = [in_clear, label, vote]
    _keep_batch(batch, folder, collection)


def test_volunteers_in_vaults_give_theirs_and_the_others_vote(tmp_path: Path) -> None:
    facts, out = tmp_path / "facts.json", tmp_path / "out" / "flwr"
    facts.write_text(json.dumps({"facts": {"n": PEOPLE, "d": 6, "classes": 3},
                                 "volunteers": VOLUNTEERS, "labelled": LABELLED}))  # fmt: skip
    public = PublicFile.load(facts)
    (tmp_path / "policy.json").write_text(write_policy(agreed_policy(ASKED, public)))
    policy = read_policy(tmp_path / "policy.json")
    twin = enrol(tmp_path / "twin", _everybody(), policy, seed=1)
    config = _config(facts, "one", settings="batches=2")
    run_on_grid(LocalGrid(twin.folder, PEOPLE), Context(1, 0, {}, RecordDict(), config))
    vaults = []
    for person in range(PEOPLE):
        record, residents = read_own_data(_own_record(person, tmp_path / f"own-{person}.json"))
        vaults.append(enrol(tmp_path / f"vault-{person}", record, policy, seed=1, residents=residents))

    with _deployed(vaults, tmp_path / "flower.log") as flower:
        # before anybody answered: the others are asked in clear, and the volunteers for a vote
        _ask_both_roles(public, out / "vote-ghost", "ghost", exchanged=True)
        told = _run(flower, _config(facts, "ghost", settings="batches=2"))
        assert _nobody(PEOPLE, "POLICY_REFUSED") in told, told[-3000:]
        assert [_answers(vault, person) for person, vault in enumerate(vaults)] == [[]] * PEOPLE

        told = _run(flower, _config(facts, "one", settings="batches=2"))
        assert _once(PEOPLE) in told, told[-3000:]

        # another collection asks everybody the question of the own role
        _ask_both_roles(public, out / "vote-two", "two", exchanged=False)
        told = _run(flower, _config(facts, "two", settings="batches=2"))
        assert _nobody(PEOPLE, "REPORT_COLLECTED") in told, told[-3000:]
    ours, theirs = out / "vote-one", tmp_path / "local" / "flwr" / "vote-one"
    summary, local = (json.loads((folder / "summary.json").read_text()) for folder in (ours, theirs))
    assert summary["devices"] == local["devices"]  # the counts, and the SHA-256 of all reports
    assert summary["privacy"] == local["privacy"]
    assert len(_questions(ours)) == 4 and _questions(ours) == _questions(theirs)  # in clear, two votes, the end
    for person, vault in enumerate(vaults):
        (answer,) = _answers(vault, person)
        assert [answer] == _answers(twin, person)
        (row,) = vault.ledger(person).answers(person)
        asked = {"label"} if person in LABELLED else {"adjacency", "features"}
        given = {"features", "label"} if person in VOLUNTEERS else asked
        assert {part.attribute for part in row.parts} == given
    assert {path.name for path in out.iterdir() if (path / "summary.json").exists()} == {"vote-one"}

"""Every kind of run, killed with SIGKILL and started again: what it says of privacy is what the ledgers say."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.methods import table
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
from ldpsim.curator.privacy.federated import updates_epsilon
from tests.strategies.forks import forks

KILLED = -9
FIGURES = ("claimed", "holds", "collections", "lifetime_per_device", "why_they_differ")


Commands = Callable[..., int]


@pytest.fixture(scope="module")
def start() -> Iterator[Commands]:
    """The command ``ldpsim``, one start after another, in the process of ``killing.py``."""
    with forks("tests.strategies.runs.killing") as process:
        yield lambda args, moment=None, count=1: process.ask({"args": args, "moment": moment, "count": count})


KINDS: dict[str, list[str]] = {
    "hogs": ["--set", "epochs=20"],
    "ldpgen": ["--set", "epochs=20"],
    "privgnn": ["--clients", "100", "--set", "queries=25", "--set", "K=10", "--set", "epochs=3", "--set", "hidden=8",
                "--workers", "1"],
    "gap": ["--clients", "100", "--set", "level=node", "--set", "epochs=1", "--set", "batch=20"],
    "progap": ["--clients", "100", "--set", "epochs=2"],
    "pate-g": ["--clients", "100", "--set", "queries=20", "--set", "epochs=3", "--set", "hidden=8"],
    "fedavg-mlp": ["--set", "rounds=4"],
    "fedprox": ["--set", "rounds=5", "--set", "evaluate_every=2", "--set", "dropping=0.2"],
    "fedadam": ["--set", "rounds=4", "--set", "server_optimiser=adam", "--set", "fraction=0.5"],
    "fedgcn": ["--set", "rounds=4"],
    "fedavg-gnn": ["--set", "rounds=4"],
    "dp-fedavg": ["--set", "rounds=4"],
    "dp-adaptive": ["--set", "rounds=4", "--set", "fraction=0.5", "--set", "clipping=adaptive",
                    "--set", "noise_multiplier=1.5"],
    "ldp-fedavg": ["--set", "rounds=6", "--set", "fraction=0.5", "--epsilon", "6"],
    "silo-fedgcn": ["--set", "rounds=4", "--set", "silos=3"],
    "silo-fedavg-gcn": ["--set", "rounds=4", "--set", "silos=3", "--set", "server_optimiser=adam"],
    "isolate": ["--set", "local_steps=3"],
}  # fmt: skip
METHOD = {"fedadam": "fedavg-mlp", "dp-adaptive": "dp-fedavg"}
# Every method that trains in rounds is killed; one that is not named above has these settings.
_IN_ROUNDS = {name: kind.spec.trained_by for name, kind in table().items() if kind.spec.in_rounds}
_SILOS = {"silos": ["--set", "silos=3"]}
KINDS |= {name: ["--set", "rounds=4", *_SILOS.get(by, [])] for name, by in _IN_ROUNDS.items() if name not in KINDS}


def command(kind: str, out: Path) -> list[str]:
    args = ["run", "--method", METHOD.get(kind, kind), "--no-reference", "--no-nulls", "--quiet", "--engine", "local",
            "--out", str(out)]  # fmt: skip
    clients = [] if "--clients" in KINDS[kind] else ["--clients", "40"]
    return [*args, *clients, *KINDS[kind]]


def parts(kind: str, body: bytes) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Yield attribute and losses of every part of an answer, read without the ledger's own code."""
    form = "<dIB" if kind == "report" else "<dQdddB"  # the last is the length of a text
    at = struct.calcsize(form) + struct.unpack_from(form, body)[-1]
    while at < len(body):
        bit, vector, delta, *sizes = struct.unpack_from("<dddIIII", body, at)  # name, fingerprint, report, digest
        at += struct.calcsize("<dddIIII")
        yield body[at : at + sizes[0]].decode(), (bit, vector, delta)
        at += sum(sizes)


@dataclass
class Ended:
    """A run that wrote its result, and its ledgers, read with SQLite alone."""

    folder: Path

    @property
    def record(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "result.json").read_text()))

    @property
    def figures(self) -> dict[str, Any]:
        return {name: self.record["privacy"][name] for name in FIGURES}

    @property
    def rows(self) -> list[tuple[int, str, str, float, float, float]]:
        """Device, attribute, collection and losses of every release."""
        found: list[tuple[int, str, str, float, float, float]] = []
        for path in sorted((self.folder / "state").glob("ledger*.sqlite")):
            with sqlite3.connect(path) as ledger:
                query = "SELECT device, collection, kind, body FROM answer"
                for device, collection, *answer in ledger.execute(query):
                    found += [(device, name, collection, *losses) for name, losses in parts(*answer)]
            ledger.close()
        return found

    @property
    def answers(self) -> Counter[int]:
        return Counter(row[0] for row in self.rows)

    def spent(self) -> dict[int, float]:
        """What each device lost, by its ledger."""
        total: dict[int, float] = defaultdict(float)
        for device, *_, vector, _ in self.rows:
            total[device] += vector
        return total


def ended(out: Path) -> Ended:
    (folder,) = [path.parent for path in out.glob("*/config.toml")]  # teachers have a folder beside it
    return Ended(folder)


@pytest.fixture(scope="module")
def undisturbed(start: Commands, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Ended]:
    """A run of each kind that nobody killed."""
    known: dict[str, Ended] = {}

    def of(kind: str) -> Ended:
        if kind not in known:
            out = tmp_path_factory.mktemp(kind)
            assert start(command(kind, out)) == 0
            known[kind] = ended(out)
        return known[kind]

    return of


def check_ledgers(run: Ended) -> None:
    """The lifetime is the ledgers' sum; one collection is in them; nothing of the checkpoint is left."""
    n = run.record["dataset"]["nodes"]
    spent, known = run.spent(), run.record["privacy"]["lifetime_per_device"]
    most = max(spent.values(), default=0.0)
    assert known["complete"]
    if math.isinf(most):
        assert known["user"] == {"max": None, "mean": None}
    else:
        assert known["user"]["max"] == pytest.approx(most, abs=2e-9)
        assert known["user"]["mean"] == pytest.approx(sum(spent.values()) / n, abs=2e-9)
    assert len({row[2] for row in run.rows}) <= 1
    assert not list(run.folder.glob("checkpoint*"))
    assert not (run.folder / "state" / "collection.json").exists()


CASES = [
    # kind, moment, how often it passes, checkpoint that the second start goes on from
    ("hogs", "entry", 20, 0), ("hogs", "reply", 20, 0), ("hogs", "result", 1, 0),
    ("ldpgen", "reply", 20, 0), ("ldpgen", "grouping", 2, 0), ("ldpgen", "reply", 60, 0),
    ("privgnn", "reply", 20, 0), ("privgnn", "chunk", 1, 0), ("privgnn", "result", 1, 0), ("pate-g", "result", 1, 0),
    ("gap", "reply", 20, 0), ("gap", "result", 1, 0), ("progap", "result", 1, 0),
    ("fedavg-mlp", "entry", 30, 1), ("fedavg-mlp", "reply", 30, 1), ("fedavg-mlp", "unsaved", 4, 2),
    ("fedavg-mlp", "saved", 3, 2), ("fedavg-mlp", "result", 1, 4),
    ("fedprox", "reply", 50, 2), ("fedadam", "saved", 3, 2),
    ("fedgcn", "reply", 20, 0), ("fedgcn", "reply", 75, 0), ("fedgcn", "saved", 3, 2), ("fedgcn", "reply", 90, 1),
    ("fedavg-gnn", "saved", 3, 2), ("fedavg-gnn", "reply", 140, 2),
    ("dp-fedavg", "saved", 3, 2), ("dp-fedavg", "reply", 40, 1), ("dp-fedavg", "unsaved", 4, 2),
    ("dp-adaptive", "saved", 3, 2), ("dp-adaptive", "reply", 25, 2),
    ("ldp-fedavg", "saved", 4, 3), ("ldp-fedavg", "reply", 25, 2), ("ldp-fedavg", "unsaved", 4, 2),
    ("silo-fedgcn", "reply", 20, 0), ("silo-fedgcn", "saved", 3, 2), ("silo-fedgcn", "unsaved", 3, 1),
    ("silo-fedavg-gcn", "saved", 3, 2), ("isolate", "result", 1, 0),
]  # fmt: skip
_OF = {
    "devices": [("reply", 30, 1), ("saved", 3, 2)], "silos": [("saved", 3, 2)],
    "alone": [("result", 1, 0)],
}  # fmt: skip
CASES += [(name, *case) for name, by in _IN_ROUNDS.items() if all(name != given[0] for given in CASES)
          for case in _OF[by]]  # fmt: skip


@pytest.mark.parametrize(("kind", "moment", "count", "checkpoint"), CASES)
def test_a_killed_run_says_what_its_ledgers_say(
    kind: str, moment: str, count: int, checkpoint: int, start: Commands, tmp_path: Path,
    undisturbed: Callable[[str], Ended],
) -> None:  # fmt: skip
    whole = undisturbed(kind)
    args = command(kind, tmp_path)
    assert start(args, moment, count) == KILLED
    assert not list(tmp_path.glob("*/result.json"))
    if moment == "chunk":  # records in clear are their owner's alone
        (teachers,) = tmp_path.glob("*/teachers-*")
        assert all(path.stat().st_mode & 0o077 == 0 for path in (teachers, *teachers.rglob("*")))
    assert start(args) == 0
    run = ended(tmp_path)
    check_ledgers(run)
    check_ledgers(whole)
    twice = run.answers.total() - whole.answers.total()
    record, federated = run.record, run.record.get("federated", {})
    if kind != "isolate" and federated:
        assert federated["checkpoint"] == checkpoint
        assert whole.record["federated"]["checkpoint"] == whole.record["federated"]["begun_again"] == 0
    if "answers_lost" in federated:
        most = max(run.answers.values())
        assert federated["answers_per_device"]["max"] == most
        assert whole.record["federated"]["answers_lost"] == 0
        assert federated["begun_again"] == (federated["answers_lost"] > 0)
        if kind != "ldp-fedavg":  # there a device that answered twice has an answer less for later
            assert federated["answers_lost"] == twice
    if not federated.get("answers_lost"):
        assert twice == 0
        assert run.figures == whole.figures
    if kind == "ldp-fedavg":
        check_local_noise(run)
    elif kind.startswith("dp-"):
        check_central_noise(run, kind)
    else:
        assert run.figures == whole.figures  # of no other kind does a figure depend on how often it was asked
    if "teachers" in record:
        known = {name: value for name, value in whole.record["teachers"].items() if name != "reused"}
        assert known.items() <= record["teachers"].items()  # the labels given away, and their epsilon, among them
        if kind == "privgnn":  # what was finished is not trained again
            assert record["teachers"]["reused"] == {"reply": 0, "chunk": 20, "result": 25}[moment]
        assert not list(tmp_path.glob("*/teachers-*"))
    if not (kind in ("ldp-fedavg", "dp-fedavg", "dp-adaptive") and federated["begun_again"]):  # noise is drawn anew
        assert record["accuracy"] == whole.record["accuracy"]
        assert record["devices"]["reports_sha256"] == whole.record["devices"]["reports_sha256"]


def check_local_noise(run: Ended) -> None:
    """The composition of the most answers of a device holds, and no device answered more than it agreed to."""
    rows, holds = run.rows, run.record["privacy"]["holds"]
    most = max(run.answers.values())
    assert most <= 3
    for level in ("user", "node", "label", "vector", "bit_feature"):
        assert holds[level]["status"] == "bounded"
        assert holds[level]["value"] == updates_epsilon(most, rows[0][4], rows[0][5]) < max(run.spent().values())
        assert holds[level]["delta"] == pytest.approx(most * rows[0][5])
    assert run.record["privacy"]["lifetime_per_device"]["user"]["max"] == pytest.approx(6)  # the ledgers' sum


def check_central_noise(run: Ended, kind: str) -> None:
    """A round that was begun again is one more noisy model that may have left the server."""
    federated = run.record["federated"]
    settings = [value for value in KINDS[kind] if "=" in value]
    method = DPFedAvg.from_settings(dict(setting.split("=") for setting in settings))
    people = run.record["dataset"]["split"]["train"]
    multiplier = method.multiplier(people, Budget(epsilon=run.record["config"]["budget"]["epsilon"]))
    expected = method.guarantee_after(people, federated["rounds_answered"] + federated["begun_again"], multiplier)
    assert federated["noise_multiplier"] == multiplier and federated["rounds_answered"] == 4
    assert run.record["privacy"]["holds"] == expected.to_dict()["holds"]
    assert run.record["privacy"]["claimed"] == expected.to_dict()["claimed"]


def test_a_device_that_was_asked_twice_refuses_its_last_turn(start: Commands, tmp_path: Path) -> None:
    """Two kills in one round: the devices that answered three times have no answer left."""
    args = command("ldp-fedavg", tmp_path)
    assert start(args, "reply", 10) == KILLED
    assert start(args, "reply", 10) == KILLED
    assert start(args) == 0
    run = ended(tmp_path)
    check_ledgers(run)
    check_local_noise(run)
    federated = run.record["federated"]
    assert federated["begun_again"] == 2 and federated["checkpoint"] == 0
    assert federated["answers_lost"] > 0
    assert federated["rounds_answered"] < 6 or run.answers.total() == 60
    assert {round(row[4], 6) for row in run.rows} == {2.0}


@pytest.mark.parametrize("damage", ["cut", "foreign", "gone"])
def test_without_a_checkpoint_the_rounds_begin_anew_and_every_answer_counts(
    damage: str, start: Commands, tmp_path: Path
) -> None:
    for kind in ("fedavg-mlp", "dp-fedavg"):
        out = tmp_path / kind
        args = command(kind, out)
        assert start(args, "saved", 3) == KILLED
        (file,) = out.glob("*/checkpoint-0.npz")
        if damage == "cut":
            file.write_bytes(file.read_bytes()[:-200])
        elif damage == "foreign":
            other = tmp_path / f"other-{kind}"
            assert start([*command(kind, other), "--seed", "1"], "saved", 3) == KILLED
            (found,) = other.glob("*/checkpoint-0.npz")
            file.write_bytes(found.read_bytes())
        else:
            file.unlink()
        if kind == "dp-fedavg":  # how many noisy models were made stands in no ledger
            assert start(args) == 2
            continue
        assert start(args) == 0
        run = ended(out)
        check_ledgers(run)
        federated = run.record["federated"]
        assert (federated["checkpoint"], federated["begun_again"]) == (0, 1)
        assert federated["answers_lost"] == run.answers.total() - 4 * federated["trained_on"] == 40
        if damage != "gone":
            assert "start again" in (run.folder / "log.txt").read_text()


def test_the_noise_of_a_round_that_is_asked_again_is_drawn_anew(
    start: Commands, tmp_path: Path, undisturbed: Callable[[str], Ended]
) -> None:
    """The same noise on the replies of other devices would give their difference away."""
    args = command("dp-fedavg", tmp_path)
    assert start(args, "unsaved", 4) == KILLED
    models = [next(tmp_path.glob("*/checkpoint-0.models")).read_bytes()]
    assert start(args, "saved", 2) == KILLED
    models.append(next(tmp_path.glob("*/checkpoint-0.models")).read_bytes())
    one = len(models[0]) // 3
    assert len(models[1]) == 3 * one
    assert models[0][: 2 * one] == models[1][: 2 * one]
    assert models[0][2 * one :] != models[1][2 * one :]

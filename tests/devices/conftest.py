"""A small population, questions about it, and the doors by which a device is asked."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

import ldpsim.devices.draw
from ldpsim.devices import wire
from ldpsim.devices.client_app import app, open_state
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.data.records import Record
from ldpsim.devices.device import Device, Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.mechanisms import GRR, OneBit, RandomizedResponse
from ldpsim.devices.noise import Noise
from ldpsim.devices.policy.policy import Cap, Policy
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report
from ldpsim.devices.vault import server
from ldpsim.devices.vault.folder import listening
from ldpsim.devices.vault.server import Vault

N, D, CLASSES = 12, 10, 3
DOORS = ("direct", "client_app", "vault", "together")
WIDE = Cap(bit=100.0, vector=1e6, user=1e6)


@pytest.fixture(scope="session", autouse=True)
def flower_identity() -> None:
    """Flower builds no message in a process that has no task; set as its own runtime does."""
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1


@pytest.fixture(autouse=True)
def fresh_states() -> Iterator[None]:
    """A process keeps state folders open; a test must not see those of another."""
    open_state.cache_clear()
    yield
    open_state.cache_clear()


def people(n: int = N, d: int = D, *, seed: int = 0) -> Population:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, d, n)
    return build_population(
        "people",
        n=n,
        d=d,
        edges=rng.integers(0, n, (2, 2 * n)),
        feature_indptr=np.concatenate([[0], np.cumsum(sizes)]),
        feature_indices=np.concatenate([rng.choice(d, size, replace=False) for size in sizes]),
        feature_values=None,
        labels=rng.integers(0, CLASSES, n),
        classes=CLASSES,
    )


def ask_for(collection: str = "first", *, n: int = N, d: int = D, eps: float = 1.0, attributes: str = "afl") -> Query:
    asks = {
        "a": Ask("adjacency", (RandomizedResponse.from_epsilon(eps, n=n),)),
        "f": Ask("features", (OneBit.from_epsilon(eps, d=d),)),
        "l": Ask("label", (GRR.from_epsilon(eps, categories=CLASSES),)),
    }
    return Query(collection, (tuple(asks[letter] for letter in attributes),))


def stage_plan() -> Query:
    """The label first, then label and features together."""
    features, label = ask_for(attributes="fl").asks
    return Query("first", ((label,), (features, label)))


def policy_of(population: Population, **changes: object) -> Policy:
    policy = Policy(
        "report",
        dict.fromkeys(("adjacency", "features", "label"), WIDE),
        frozenset({"randomized_response", "one_bit", "grr"}),
        population.facts,
    )
    return replace(policy, **changes)  # type: ignore[arg-type]


def flipped(record: Record, index: int, *, n: int = N, d: int = D) -> Record:
    """Another person's data for the same device: every bit and the label differ."""
    others = np.setdiff1d(np.arange(n, dtype=np.int32), record.neighbours)
    columns = np.setdiff1d(np.arange(d, dtype=np.int32), record.feature_indices)
    return Record(columns, np.ones(len(columns), np.float32), others[others != index], (record.label + 1) % CLASSES)


class Devices:
    """An enrolled folder whose devices are asked through one of the :data:`DOORS`."""

    def __init__(self, folder: Path, door: str, vaults: ExitStack) -> None:
        self.folder = folder
        self.door = door
        self.vaults = vaults
        self.socket: Path | None = None

    @property
    def state(self) -> State:
        return open_state(str(self.folder), os.getpid())

    def device(self, index: int) -> Device:
        return self.state.device(index)

    def ask(self, question: Query | bytes, index: int = 3) -> Report | Refusal:
        data = question if isinstance(question, bytes) else question.to_bytes()
        if self.door == "direct":
            return self.device(index).answer(data)
        if self.door == "together":  # with two who do not live here
            message = Message(wire.batch_content(raw_content(data), np.array([index, N, N + 1])), 1, wire.REPORTS_TYPE)
            (reply,) = Fleet(self.state).answer([message])
            answers = wire.read_batch_reply(reply, 3)
            assert answers is not None and answers[1:] == [Refusal.LEDGER_DAMAGED] * 2
            return answers[0]
        return self._say(Message(raw_content(data), index + 1, wire.QUERY_TYPE), index)

    def in_mode(self, kind: str, index: int = 3) -> Report | Refusal:
        return self._say(Message(RecordDict({}), index + 1, kind), index)

    def _say(self, message: Message, index: int) -> Report | Refusal:
        place = {"state-dir": str(self.folder)}
        if self.door == "vault":
            if self.socket is None:
                self.socket = self.folder.with_suffix(".socket")
                self.vaults.enter_context(serving(self.state, self.socket))
            place = {"socket": str(self.socket)}
        reply = app(message, Context(1, 1, {"partition-id": index, **place}, RecordDict(), {}))
        if reply.has_error():
            assert reply.error.reason in wire.TEXTS.values()
        read = wire.read_reply(reply)
        return read[1] if isinstance(read, tuple) else read

    def rows(self, index: int = 3) -> list[tuple[object, ...]]:
        answers = self.state.ledger(index).answers(index)
        return [(p.attribute, a.stage, a.collection, p.report, p.loss) for a in answers for p in a.parts]

    def copy(self, folder: Path) -> Devices:
        self.state.close()
        shutil.copytree(self.folder, folder)
        return Devices(folder, self.door, self.vaults)


@contextmanager
def serving(state: State, path: Path, **options: Any) -> Iterator[Vault]:
    """Serve devices from a vault in a thread of this process."""
    vault = Vault(state, **options)
    with pytest.MonkeyPatch.context() as patch, listening(path) as listener:
        patch.setattr(server, "_POLL_SECONDS", 0.01)
        thread = threading.Thread(target=vault.serve, args=(listener,))
        thread.start()
        try:
            yield vault
        finally:
            vault.stop()
            thread.join(20)
            assert not thread.is_alive()


def raw_content(data: bytes) -> RecordDict:
    return RecordDict({"query": ConfigRecord({"query": data})})


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the keys of all noise that is drawn."""
    heard: list[bytes] = []

    class Listening(Noise):
        def __init__(self, keys: Sequence[bytes], stream: int = 0) -> None:
            heard.extend(keys)
            super().__init__(keys, stream)

    monkeypatch.setattr(ldpsim.devices.draw, "Noise", Listening)
    return heard


@pytest.fixture
def population() -> Population:
    return people()


@pytest.fixture
def door() -> str:
    """Return by which of the :data:`DOORS` devices are asked."""
    return "direct"


@pytest.fixture
def enrolled(door: str, tmp_path: Path, population: Population) -> Iterator[Callable[..., Devices]]:
    """Enrol the small population with changes to a policy that allows everything."""
    with ExitStack() as vaults:

        def make(name: str = "state", **changes: object) -> Devices:
            enrol(tmp_path / name, population, policy_of(population, **changes), seed=7)
            return Devices(tmp_path / name, door, vaults)

        yield make

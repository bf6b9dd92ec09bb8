"""The simulated world: people, hosts with their disks, counters, and the templates that each schedule begins from."""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np

import ldpsim.devices.atomic_files
import ldpsim.devices.enrolment.counters
import ldpsim.devices.enrolment.state
import ldpsim.devices.ledger.counter_folder
import ldpsim.devices.ledger.counter_postgres
import ldpsim.devices.ledger.open_files
import ldpsim.devices.ledger.rows
import ldpsim.devices.ledger.schema
import ldpsim.strategies.rounds.checkpoint
from ldpsim.devices import client_app
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import Cap, Policy
from tests.faults import sqlite
from tests.faults.computers import Computers, Process
from tests.faults.disk import Disks, read
from tests.faults.postgres import Server
from tests.faults.questions import CAP, CLASSES, KEYS, TRAINING, D, N

HOSTS = {"a": (0, 1, 2), "b": (3, 4)}
MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Setting:
    """What the devices of a schedule were enrolled with.

    Args:
        counter: ``file``, ``server`` or empty.
        signed: Whether they pin a collector's key.
        replay: Whether another collection's repeat gets the stored bytes.
        training: Whether they take part in federated trainings, and report nothing.
        racing: Whether processes that are asked at once take turns.
        removals: Whether files of a ledger are removed or replaced while it is served.
    """

    counter: str
    signed: bool = False
    replay: bool = False
    training: bool = False
    racing: bool = False
    removals: bool = False


SETTINGS = (
    Setting("file"), Setting("server", signed=True), Setting("", replay=True),
    Setting("file", signed=True, replay=True), Setting("server"), Setting("", signed=True),
)  # fmt: skip


def people(kind: int = 0) -> Population:
    """Return the five people; the records of two kinds differ in every value."""
    rows = [[(3 * i + j + kind) % D for j in range(2 + (i + kind) % 3)] for i in range(N)]
    edges = [[i, (i + 1 + kind) % N] for i in range(N)]
    return build_population(
        "few", n=N, d=D, edges=np.array(edges).T, feature_indptr=np.cumsum([0, *map(len, rows)]),
        feature_indices=np.array([column for row in rows for column in row]), feature_values=None,
        labels=np.array([(i + kind) % CLASSES for i in range(N)]), classes=CLASSES,
    )  # fmt: skip


PEOPLE = (people(0), people(1))


def wide_policy(setting: Setting) -> Policy:
    """Return a policy that allows all questions but one."""
    if setting.training:
        cap = Cap(*[CAP + 0.1] * 3, delta=1.0)
        return Policy("federated", {TRAINING: cap}, frozenset({"gaussian_update"}), PEOPLE[0].facts)
    cap = Cap(bit=10.0, vector=1e6, user=1e6)
    return Policy(
        "report", dict.fromkeys(("adjacency", "features", "label"), cap),
        frozenset({"randomized_response", "one_bit", "grr", "group_degrees"}), PEOPLE[0].facts,
        on_requery="replay" if setting.replay else "refuse", collector=KEYS[0].public if setting.signed else None,
    )  # fmt: skip


class SimulatedOs:
    """The module ``os`` for the modules that write files: what has to survive a power loss goes through here."""

    def __init__(self, computers: Computers) -> None:
        self._computers = computers
        self._random = Random(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def urandom(self, size: int) -> bytes:
        return self._random.randbytes(size)

    def seed(self, value: int) -> None:
        self._random.seed(value)

    def fsync(self, handle: int) -> None:
        path = os.readlink(f"/proc/self/fd/{handle}")
        disk = self._computers.disks.of(path)
        if disk is None:
            return
        self._computers.name_step(disk, "sync", path)
        if os.path.isdir(path):
            disk.sync_folder(path)
            return
        content = disk.made(path)
        content.synced[:], content.since = read(path), []

    def replace(self, source: Any, target: Any) -> None:
        self._name(str(source), str(target), os.replace, link=False)

    def link(self, source: Any, target: Any) -> None:
        self._name(str(source), str(target), os.link, link=True)

    def _name(self, source: str, target: str, act: Any, *, link: bool) -> None:
        disk = self._computers.disks.of(target)
        if disk is None:
            act(source, target)
            return
        self._computers.name_step(disk, "name", target)
        if link and os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "exists", target)
        if source not in disk.now:  # never synced: its bytes may be lost
            disk.made(source).since.append((0, read(source)))
        act(source, target)
        disk.renamed(source, target, link=link)

    def unlink(self, path: Any) -> None:
        disk = self._computers.disks.of(str(path))
        if disk is not None:
            self._computers.name_step(disk, "unlink", str(path))
            disk.removed(str(path))
        os.unlink(path)


class World:
    """Everything that is made once a process: the disks' folder, the changed modules, and the templates."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="ldpsim-faults-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.disks = Disks(Path(folder))
        self.computers = Computers(self.disks)
        self.server = Server(self.computers)
        self.os = SimulatedOs(self.computers)
        self.records: dict[str, int] = {}  # kind of records by machine
        self.clocks: dict[str, float] = {}
        self.vfs = folder.replace("/", "-")
        for machine in ("c", "k"):  # of the counters and the collector
            self.disks.disk(machine)
        self.patches = self._patches()
        self.undisturbed: dict[Any, dict[int, bytes]] = {}  # reports that undisturbed collections ended with
        self._templates: dict[Setting, dict[str, Any]] = {}

    @contextmanager
    def simulated(self) -> Iterator[World]:
        """Put the simulator's disks, clock, server and random numbers in place of the real ones."""
        ldpsim.devices.ledger.schema._expected_objects()  # kept for the process: no schedule makes them
        for patch in self.patches:
            patch.start()
        try:
            yield self
        finally:
            for patch in reversed(self.patches):
                patch.stop()

    def _patches(self) -> list[Any]:
        db = sqlite.module_for(self.computers, self.vfs)
        clock = mock.Mock(time=self._time)
        written = (
            ldpsim.devices.atomic_files,
            ldpsim.devices.ledger.open_files,
            ldpsim.devices.ledger.schema,
            ldpsim.devices.enrolment.counters,
            ldpsim.devices.enrolment.state,
        )
        return [
            mock.patch.object(ldpsim.devices.ledger.schema, "sqlite3", db),
            mock.patch.object(ldpsim.devices.ledger.counter_folder, "sqlite3", db),
            mock.patch.object(ldpsim.devices.ledger.counter_folder, "os", self.os),
            *[mock.patch.object(module, "os", self.os) for module in written],
            mock.patch.object(ldpsim.devices.ledger.rows, "time", clock),
            mock.patch.object(ldpsim.devices.ledger.counter_postgres, "_psycopg", self.server.module),
            mock.patch.object(ldpsim.strategies.rounds.checkpoint, "os", self.os),
            mock.patch.object(
                client_app, "open_state", lambda folder, _: self.state_of(self.computers.current, folder)
            ),
            mock.patch.object(Population, "load", staticmethod(self._load)),
            mock.patch.object(Population, "save", lambda people, folder: folder.mkdir(exist_ok=True)),
        ]

    def _time(self) -> float:
        return self.computers.seconds + self.clocks.get(self.computers.current.machine, 0.0)

    def _load(self, path: Path) -> Population:
        disk = self.disks.of(str(path))
        return PEOPLE[self.records.get(disk.root.name if disk else "", 0)]

    def state_of(self, process: Process, folder: str) -> State:
        state = process.opened.get(folder)
        if state is None:
            state = process.opened[folder] = State(Path(folder))
        return state

    def begin(self, setting: Setting) -> None:
        """Put every disk and the server back to where a schedule begins."""
        template = self._templates.get(setting)
        if template is None:
            template = self._templates[setting] = self._enrolled(setting)
        for disk in self.disks.by_name.values():
            disk.load(template["disks"].get(disk.root.name, {}))
        self.server.load(template["server"])
        self.records.clear()
        self.clocks.clear()
        self.computers.seconds = 1.7e9
        self.computers.steps = 0
        self.os.seed(1)

    def _enrolled(self, setting: Setting) -> dict[str, Any]:
        self.os.seed(0)
        for disk in self.disks.by_name.values():
            disk.load({})
        self.server.load({})
        computers = self.computers
        place = {"": None, "file": str(self.disks.disk("c").root / "counters"), "server": "postgresql://server"}
        for host, residents in HOSTS.items():
            disk = self.disks.disk(host)
            policy = wide_policy(setting)
            process = Process(host)
            computers.run(process, lambda d=disk, p=policy, r=residents: enrol(
                d.root / "state", PEOPLE[0], p, seed=None, residents=r, counters=place[setting.counter],
            ).close())  # fmt: skip
            computers.bury(process)
        for disk in self.disks.by_name.values():
            disk.forget_what_is_gone()
        return {
            "disks": {name: disk.files() for name, disk in self.disks.by_name.items()},
            "server": dict(self.server.rows),
        }

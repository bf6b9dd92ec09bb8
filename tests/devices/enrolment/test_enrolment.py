"""Enrolment happens once and whole, and the counters lie apart from it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment import state as enrolment
from ldpsim.devices.enrolment.counters import check_place, counter_of, new_place
from ldpsim.devices.enrolment.state import COUNTED, State, enrol, is_enrolled
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.counter_postgres import PostgresCounter
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.report import Report
from ldpsim.devices.vault.server import Vault
from tests.devices.conftest import ask_for, policy_of
from tests.opened import open_below

ADDRESS = "postgresql://ldpsim@counters.example/ldpsim"


def test_counters_are_kept_elsewhere(tmp_path: Path, population: Population) -> None:
    for inside in (tmp_path / "s", tmp_path / "s" / "counters", tmp_path / "s" / ".." / "s" / "c"):
        with pytest.raises(ValueError, match="would be lost together"):
            enrol(tmp_path / "s", population, policy_of(population), seed=7, counters=inside)
    assert not (tmp_path / "s").exists()
    first, second = (
        enrol(tmp_path / name, population, policy_of(population), seed=7, counters=tmp_path / "apart")
        for name in ("first", "second")
    )
    assert first.head["counters"] != second.head["counters"] and len(list((tmp_path / "apart").glob("*.count"))) == 2
    assert first.head["format"] == COUNTED == 4
    plain = enrol(tmp_path / "plain", population, policy_of(population), seed=7)
    assert "counters" not in plain.head and plain.counter(0) is None


def test_which_kind_it_is(tmp_path: Path) -> None:
    check_place(ADDRESS, tmp_path)
    for place, kind in ((ADDRESS, PostgresCounter), (str(tmp_path / "apart"), FolderCounter)):
        named = new_place(place, tmp_path / "state")
        assert named["place"] == place and isinstance(counter_of(named, 3), kind)
    assert new_place(ADDRESS, Path("state"))["name"] != new_place(ADDRESS, Path("state"))["name"]
    assert new_place("here", Path("state"))["place"] == str(Path("here").resolve())


MOUNTS = {
    "/": "ext4", "/home": "nfs4", "/home/me/own disk": "xfs", "/over": "cifs", "/mnt/ssh": "fuse.sshfs",
    "/shared": "9p",
}  # fmt: skip


def mounted(monkeypatch: pytest.MonkeyPatch, kinds: dict[str, str]) -> None:
    mounts = [SimpleNamespace(mountpoint=point, fstype=kind) for point, kind in kinds.items()]
    monkeypatch.setattr("psutil.disk_partitions", lambda all: mounts)


@pytest.mark.parametrize(("place", "kind"), [
    ("/srv/counters", ""), ("/homes", ""), ("/home/me/own disk/counters", ""), ("/home/me", "nfs4"),
    ("/home/me/own", "nfs4"), ("/over/x", "cifs"), ("/mnt/ssh", "fuse.sshfs"), ("/shared/a/../b", "9p"),
])  # fmt: skip
def test_a_folder_of_another_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, kind: str
) -> None:
    """Its locks may hold for the processes of one machine alone: two copies of a device would both answer."""
    mounted(monkeypatch, MOUNTS)
    looks: list[Callable[[], object]] = [
        lambda: check_place(place, tmp_path),
        lambda: new_place(place, tmp_path),
        lambda: counter_of({"place": place, "name": "x"}, 0),  # a folder that was enrolled before, or mounted later
    ]
    for refuse in looks:
        if not kind:
            refuse()
            continue
        with pytest.raises(ValueError) as error:
            refuse()
        assert f"({kind})" in str(error.value) and "PostgreSQL" in str(error.value) and "\n" not in str(error.value)


def test_a_folder_whose_form_and_counter_do_not_fit(tmp_path: Path, population: Population) -> None:
    """An edited enrolment.json does not switch the counter off."""
    enrol(tmp_path / "s", population, policy_of(population), seed=7, counters=tmp_path / "apart").close()
    path = tmp_path / "s" / "enrolment.json"
    head = json.loads(path.read_text())
    for edited in ({**head, "format": 1}, {name: value for name, value in head.items() if name != "counters"}):
        path.write_text(json.dumps(edited))
        with pytest.raises(ValueError, match="a version that this one does not read"):
            State(tmp_path / "s")


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def policy(population: Population) -> Policy:
    return policy_of(population)


def test_what_a_folder_holds(tmp_path: Path, population: Population, policy: Policy) -> None:
    state = enrol(tmp_path / "a" / "b", population, policy, seed=None)
    assert is_enrolled(tmp_path / "a" / "b") and len(state) == 12
    assert {"enrolment.json", "secrets.bin", "ledger.sqlite"} <= set(files(state.folder))
    assert not [name for name in files(state.folder) if name.startswith(".")]
    assert state.policy.to_dict() == policy.to_dict() and state.population.digest == population.digest
    assert state.head["simulation_seeded"] is False
    assert enrol(tmp_path / "seeded", population, policy, seed=0).head["simulation_seeded"] is True


@pytest.mark.parametrize("before", [None, 0o644])
def test_secrets_are_the_owner_s_alone(
    tmp_path: Path, population: Population, policy: Policy, before: int | None
) -> None:
    if before:  # left over from an enrolment that was interrupted, copied with another mode
        (tmp_path / "secrets.bin").write_bytes(b"old")
        (tmp_path / "secrets.bin").chmod(before)
    old = os.umask(0)
    try:
        enrol(tmp_path, population, policy, seed=None)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "secrets.bin").stat().st_mode) == 0o600
    assert (tmp_path / "secrets.bin").stat().st_size == 32 * 12
    text = (tmp_path / "enrolment.json").read_text()
    secrets = (tmp_path / "secrets.bin").read_bytes()
    assert not any(secrets[i : i + 32].hex() in text for i in range(0, len(secrets), 32))


def test_seeds_and_secrets(tmp_path: Path, population: Population, policy: Policy) -> None:
    names = {"seven": 7, "again": 7, "eight": 8, "minus": -7, "own": None, "other": None}
    secrets = {}
    for name, seed in names.items():
        enrol(tmp_path / name, population, policy, seed=seed)
        secrets[name] = (tmp_path / name / "secrets.bin").read_bytes()
    assert secrets["seven"] == secrets["again"]
    assert len(set(secrets.values())) == 5
    assert all(len({s[i : i + 32] for i in range(0, len(s), 32)}) == 12 for s in secrets.values())


def test_a_foreign_folder_is_left_alone(tmp_path: Path, population: Population, policy: Policy) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match=r"not empty and holds no enrolled devices \(found thesis.txt\)"):
        enrol(tmp_path, population, policy, seed=1)
    assert files(tmp_path) == {"thesis.txt": b"years of work"}


class Interrupted(BaseException):
    pass


STEPS = [
    (os, "fsync", 1), (Population, "save", 1), (enrolment, "make_durable", 1), (Ledger, "create", 1),
    (os, "link", 1),
    (enrolment, "write_atomically", 1), (os, "replace", 1),  # the secrets
    (enrolment, "write_atomically", 2), (os, "replace", 2),  # enrolment.json, the last file
]  # fmt: skip


@pytest.mark.parametrize(("owner", "name", "call"), STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_enrolment_leaves_no_devices_and_is_done_again(
    tmp_path: Path, population: Population, policy: Policy, monkeypatch: pytest.MonkeyPatch, owner: object, name: str,
    call: int, after: bool,
) -> None:  # fmt: skip
    real = getattr(owner, name)
    calls = count(1)

    def interrupted(*arguments: object, **named: object) -> object:
        now = next(calls) == call
        result = real(*arguments, **named) if after or not now else None
        if now:
            raise Interrupted
        return result

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupted)
        with pytest.raises(Interrupted):
            enrol(tmp_path / "s", population, policy, seed=1)
    done = after and call == 2  # enrolment.json has its name: enrolled
    assert is_enrolled(tmp_path / "s") == done
    if not done:
        with pytest.raises(ValueError, match="holds no enrolled devices"):
            State(tmp_path / "s")
        enrol(tmp_path / "s", population, policy, seed=1)
    state = State(tmp_path / "s")
    assert len(state) == 12 and state.population.digest == population.digest
    assert [len(state.ledger(i).answers(i)) for i in range(12)] == [0] * 12
    assert state.device(11).index == 11


def test_releases_are_not_forgotten_by_enrolling_anew(tmp_path: Path, population: Population, policy: Policy) -> None:
    """enrolment.json is gone, the ledger is not: new devices in its place would answer again."""
    state = enrol(tmp_path, population, policy, seed=1)
    assert isinstance(state.device(3).answer(ask_for()), Report)
    state.close()
    (tmp_path / "enrolment.json").unlink()
    before = files(tmp_path)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"holds the ledger of devices that answered"):
            enrol(tmp_path, population, policy, seed=1)
        assert files(tmp_path) == before
        (tmp_path / "ledger.sqlite").write_bytes(b"unreadable")  # nobody can say that it is empty
        before = files(tmp_path)


def test_a_ledger_that_enrolment_finds_is_closed_though_its_error_is_kept(
    tmp_path: Path, population: Population, policy: Policy
) -> None:
    Ledger.create(tmp_path / "ledger.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as db, db:
        db.execute("INSERT INTO answer VALUES (0, 0, 'report', 'c', 'a text', 'a text')")
    with pytest.raises(ValueError, match=r"holds the ledger of devices that answered") as kept:
        enrol(tmp_path, population, policy, seed=1)
    assert open_below(tmp_path) == set() and kept.tb is not None


def test_two_enrolments_at_once(tmp_path: Path, population: Population, policy: Policy) -> None:
    """One wins, the others are told; nobody's secrets are replaced."""
    results: list[object] = []
    barrier = threading.Barrier(4)

    def run() -> None:
        barrier.wait()
        try:
            state = enrol(tmp_path / "s", population, policy, seed=None)
            results.append((state.folder / "secrets.bin").read_bytes())
        except ValueError as error:
            results.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    secrets = [r for r in results if isinstance(r, bytes)]
    assert len(secrets) == 1 and secrets[0] == (tmp_path / "s" / "secrets.bin").read_bytes()
    assert sum("already" in str(r) for r in results if isinstance(r, str)) == 3


def test_folders_that_are_not_read(tmp_path: Path, population: Population, policy: Policy) -> None:
    with pytest.raises(ValueError, match="holds no enrolled devices"):
        State(tmp_path)
    enrol(tmp_path / "s", population, policy, seed=1).close()
    head = json.loads((tmp_path / "s" / "enrolment.json").read_text())
    (tmp_path / "s" / "enrolment.json").write_text(json.dumps({**head, "format": 99}))
    with pytest.raises(ValueError, match="version"):
        State(tmp_path / "s")
    for broken in ("", "[1", "7", "null"):
        (tmp_path / "s" / "enrolment.json").write_text(broken)
        with pytest.raises(ValueError, match="holds no enrolled devices"):
            State(tmp_path / "s")


@pytest.mark.parametrize("file", ["enrolment.json", "population/population.json"])
def test_a_file_of_another_form_is_damage_in_one_line(
    file: str, tmp_path: Path, population: Population, policy: Policy
) -> None:
    """Whatever field is missing, or is something else: the folder is named, and no type of Python's errors alone."""
    enrol(tmp_path / "s", population, policy, seed=1, residents=[3]).close()
    path = tmp_path / "s" / file
    head = json.loads(path.read_text())
    damaged = [{name: value for name, value in head.items() if name != field} for field in head]
    damaged += [{**head, field: None} for field in ("devices", "policy", "facts") if field in head]
    damaged += [{**head, "policy": {"mode": "report"}}, {**head, "residents": 5}] if "policy" in head else []
    for edited in damaged:
        path.write_text(json.dumps(edited))
        with pytest.raises(ValueError) as error:
            state = State(tmp_path / "s")
            Vault(state), state.population, state.policy
        told = str(error.value)
        assert str(tmp_path / "s") in told and ("damaged" in told or "version" in told) and "\n" not in told, edited
    path.write_text(json.dumps(head)[:-1])
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / "s"))):
        len(State(tmp_path / "s").population)


def test_people_who_are_soon_gone_wait_for_no_disk(
    tmp_path: Path, population: Population, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their answers are the same; those of all others are on the disk before they leave."""
    answers = []
    for durable, synchronous in ((True, 2), (False, 0)):
        other = enrol(tmp_path / f"other-{durable}", population, policy, seed=7, durable=durable)
        waited: list[int] = []
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", waited.append)
            answers.append(State(other.folder).device(3).answer(ask_for()))
            assert bool(waited) == durable
        assert State(other.folder).ledger()._db.execute("PRAGMA synchronous").fetchone() == (synchronous,)
    assert answers[0] == answers[1] and isinstance(answers[0], Report)

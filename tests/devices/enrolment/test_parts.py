"""Shards on a machine's own disk."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.parts import Parts, devices_of, ldpsim_home
from ldpsim.devices.enrolment.state import SHARD, State, enrol, ledger_name
from ldpsim.devices.ledger.counter import NONCE_BYTES, Entry
from ldpsim.devices.ledger.rows import Head
from ldpsim.devices.policy.policy import Policy, policy_for

PEOPLE = 2 * SHARD + 3


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(PEOPLE, seed=0)


@pytest.fixture(scope="module")
def policy(people: Population) -> Policy:
    return policy_for([], people.facts)


def test_the_last_shard_is_a_short_one() -> None:
    assert devices_of([0, 2], PEOPLE).tolist() == [*range(SHARD), *range(2 * SHARD, PEOPLE)]


def test_shards_have_the_secrets_and_records_of_one_common_folder(
    tmp_path: Path, people: Population, policy: Policy
) -> None:
    common, parts = enrol(tmp_path / "all", people, policy, seed=4), Parts("id", tmp_path)
    parts.enrol(people.only(devices_of([2], PEOPLE)), policy, [2], seed=4)
    parts.enrol(people.only(devices_of([0, 2], PEOPLE)), policy, [0, 2], seed=4)
    assert {shard: part.name for shard, part in parts.folders().items()} == {0: "part-1", 2: "part-0"}
    assert parts.folder(1) is None
    part = State(tmp_path / "shards" / "id" / "part-1")
    assert list(part.shards) == [0] and not (part.folder / ledger_name(2)).exists()
    # The counters have no random numbers in a simulation: the answers are those of one common folder.
    assert part.counter(0).entries([0, 2 * SHARD]) == {0: Entry(Head(), b"")} and not part.counter(2).path.exists()
    assert np.array_equal(part.secrets[:SHARD], common.secrets[:SHARD]) and not part.secrets[SHARD:].any()
    for device in (0, SHARD - 1):
        own, same = part.population.record(device), common.population.record(device)
        assert own.neighbours.tolist() == same.neighbours.tolist() and own.label == same.label
        assert own.feature_indices.tolist() == same.feature_indices.tolist()
    with pytest.raises(IndexError, match="no device 2048 is enrolled here"):
        part.device(2 * SHARD)


def test_real_secrets_are_made_once(tmp_path: Path, people: Population, policy: Policy) -> None:
    parts = Parts("id", tmp_path)
    parts.enrol(people, policy, [2], seed=None)
    secrets = State(tmp_path / "shards" / "id" / "part-0").secrets.copy()
    assert len(State(parts.folders()[2]).counter(2).entries([2 * SHARD])[2 * SHARD].nonce) == NONCE_BYTES
    parts.enrol(people, policy, [2], seed=None)
    kept = State(tmp_path / "shards" / "id" / "part-0").secrets
    assert np.array_equal(kept, secrets) and secrets[2 * SHARD :].any(1).all()
    assert [path.name for path in (tmp_path / "shards" / "id").glob("part-*")] == ["part-0"]


def test_an_enrolment_that_did_not_end_is_none(tmp_path: Path, people: Population, policy: Policy) -> None:
    parts = Parts("id", tmp_path)
    parts.enrol(people, policy, [2], seed=None)
    (tmp_path / "shards" / "id" / "part-0" / "enrolment.json").unlink()
    assert parts.folder(2) is None
    parts.enrol(people, policy, [2], seed=None)
    assert [path.name for path in (tmp_path / "shards" / "id").glob("part-*")] == ["part-0"]


def test_a_part_that_is_gone_leaves_its_number(tmp_path: Path, people: Population, policy: Policy) -> None:
    parts = Parts("id", tmp_path)
    for shard in (0, 1):
        parts.enrol(people, policy, [shard], seed=4)
    kept = State(parts.folders()[1]).secrets.copy()
    parts.folders()[0].rename(tmp_path / "away")
    parts.enrol(people, policy, [0, 1], seed=4)
    assert {shard: part.name for shard, part in parts.folders().items()} == {0: "part-0", 1: "part-1"}
    assert np.array_equal(State(parts.folders()[1]).secrets, kept)


def test_a_part_whose_devices_answered_is_not_enrolled_a_second_time(
    tmp_path: Path, people: Population, policy: Policy
) -> None:
    """The counters are not in the folder that is gone. They say that somebody answered."""
    parts = Parts("id", tmp_path)
    parts.enrol(people, policy, [2], seed=4)
    part = parts.folders()[2]
    assert State(part).counter(2).advance({2 * SHARD + 1: (Head(), Head(1, b"seal"))}) == {}
    part.rename(tmp_path / "away")
    with pytest.raises(ValueError, match=rf"{part} is gone, and its devices answered: put it back\Z"):
        parts.enrol(people, policy, [1, 2], seed=4)
    parts.enrol(people, policy, [1], seed=4)
    assert {shard: folder.name for shard, folder in parts.folders().items()} == {1: "part-1"}
    (tmp_path / "away").rename(part)
    assert {shard: folder.name for shard, folder in parts.folders().items()} == {1: "part-1", 2: "part-0"}


@pytest.mark.parametrize("name", ["part-0.bak", "part-1", "copy"])
def test_a_copy_of_a_part_is_an_error_that_names_both(
    tmp_path: Path, people: Population, policy: Policy, name: str
) -> None:
    parts = Parts("id", tmp_path)
    parts.enrol(people, policy, [2], seed=None)
    part, copy = tmp_path / "shards" / "id" / "part-0", tmp_path / "shards" / "id" / name
    shutil.copytree(part, copy)
    assert parts.folder(2) == part == Parts.folders(parts)[2]  # a process that serves the part goes on with it
    for renamed in (False, True):
        if renamed:
            part.rename(tmp_path / "away")
        says = rf"\A{socket.gethostname()}: {copy} is a copy of {part}: keep one of them, under the name part-0\Z"
        for act in (lambda: Parts("id", tmp_path), lambda: parts.enrol(people, policy, [1], seed=None)):
            with pytest.raises(ValueError, match=says):
                act()
    copy.rename(part)
    assert Parts("id", tmp_path).folder(2) == part


def test_a_part_of_other_counters_is_not_opened(tmp_path: Path, people: Population, policy: Policy) -> None:
    """It was enrolled anew while it was gone; or nobody knows it."""
    parts = Parts("id", tmp_path)
    parts.enrol(people, policy, [2], seed=4)
    part = parts.folders()[2]
    part.rename(tmp_path / "old")
    parts.enrol(people, policy, [2], seed=4)
    shutil.rmtree(part)
    (tmp_path / "old").rename(part)
    with pytest.raises(ValueError, match=f"{part} is not the part that was enrolled here under this name"):
        parts.folder(2)
    with pytest.raises(ValueError, match=f"{part} is not a part of .*parts.json: remove it"):
        Parts("id", tmp_path)
    part.rename(part.with_name("part-7"))
    with pytest.raises(ValueError, match=r"part-7 is not a part of .*parts.json: remove it"):
        Parts("id", tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"part-0": 3}', '{"part-0": {"shards": [2]}}'])
def test_a_list_of_parts_that_cannot_be_read_is_one_line(
    tmp_path: Path, people: Population, policy: Policy, content: str
) -> None:
    Parts("id", tmp_path).enrol(people, policy, [2], seed=None)
    (tmp_path / "counters" / "id" / "parts.json").write_text(content)
    with pytest.raises(ValueError, match=r"parts.json cannot be read: nobody can say which parts of the devices are"):
        Parts("id", tmp_path)


@pytest.mark.parametrize("step", ["mkdir", "replace", "fsync", "link", "unlink"])
def test_a_machine_whose_disk_is_full_says_so_and_enrols_later(
    tmp_path: Path, people: Population, policy: Policy, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    parts, real, left = Parts("id", tmp_path), getattr(os, step), 0

    def full(*given: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*given, **named)

    for steps in range(100):
        left = steps
        with monkeypatch.context() as patch:
            patch.setattr(os, step, full)
            try:
                parts.enrol(people, policy, [0], seed=None)
            except ValueError as error:
                assert re.fullmatch(rf"{socket.gethostname()}: \S.*", str(error)), error
        if left >= 0:
            break
    assert steps > 0 and list(parts.folders()) == [0]
    assert [path.name for path in (tmp_path / "shards" / "id").glob("part-*")] == ["part-0"]


def test_a_part_that_cannot_be_read_is_one_line_with_the_machine(
    tmp_path: Path, people: Population, policy: Policy
) -> None:
    parts = Parts("id", tmp_path)
    parts.enrol(people, policy, [0], seed=None)
    (tmp_path / "shards" / "id" / "part-0" / "enrolment.json").write_text("{")
    for act in (parts.folders, lambda: parts.enrol(people, policy, [0], seed=None)):
        with pytest.raises(ValueError, match=rf"\A{socket.gethostname()}: .*part-0 holds no enrolled devices\Z"):
            act()


def test_a_disk_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDPSIM_HOME", str(tmp_path))
    assert ldpsim_home() == tmp_path
    name = Parts("id").machine
    monkeypatch.setattr(socket, "gethostname", lambda: "renamed")
    assert Parts("other").machine == name == (tmp_path / "shards" / "machine").read_text()
    assert Parts("id", tmp_path / "second").machine.startswith("renamed-")


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"\A.*file/shards cannot be written \(File exists\)\Z"):
        Parts("id", tmp_path / "file")

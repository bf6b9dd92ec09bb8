"""Shards on a machine's own disk."""

from __future__ import annotations

import errno
import os
import re
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from devices.data.population import Population
from devices.datasets.generated_v1 import generate
from devices.enrolment.migration import migrate
from devices.enrolment.parts import Parts, ldpsim_home, people_of
from devices.enrolment.state import SHARD, State, enrol, ledger_name
from devices.policy.policy import Policy, policy_for

PEOPLE = 2 * SHARD + 3


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(PEOPLE, seed=0)


@pytest.fixture(scope="module")
def policy(people: Population) -> Policy:
    return policy_for([], people.facts)


def test_the_last_shard_is_a_short_one() -> None:
    assert people_of([0, 2], PEOPLE).tolist() == [*range(SHARD), *range(2 * SHARD, PEOPLE)]


def test_shards_have_the_secrets_and_records_of_one_common_folder(
    tmp_path: Path, people: Population, policy: Policy
) -> None:
    common, parts = enrol(tmp_path / "all", people, policy, seed=4), Parts("id", tmp_path)
    parts.enrol(people.only(people_of([2], PEOPLE)), policy, [2], seed=4)
    parts.enrol(people.only(people_of([0, 2], PEOPLE)), policy, [0, 2], seed=4)
    assert {shard: part.name for shard, part in parts.folders().items()} == {0: "part-1", 2: "part-0"}
    assert parts.folder(1) is None
    part = State(tmp_path / "id" / "part-1")
    assert list(part.shards) == [0] and not (part.folder / ledger_name(2)).exists()
    assert migrate(part.folder) == 0  # nothing of it is missing
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
    secrets = State(tmp_path / "id" / "part-0").secrets.copy()
    parts.enrol(people, policy, [2], seed=None)
    assert np.array_equal(State(tmp_path / "id" / "part-0").secrets, secrets) and secrets[2 * SHARD :].any(1).all()
    assert [path.name for path in (tmp_path / "id").glob("part-*")] == ["part-0"]


def test_an_enrolment_that_did_not_end_is_none(tmp_path: Path, people: Population, policy: Policy) -> None:
    parts = Parts("id", tmp_path)
    parts.enrol(people, policy, [2], seed=None)
    (tmp_path / "id" / "part-0" / "enrolment.json").unlink()
    assert parts.folder(2) is None
    parts.enrol(people, policy, [2], seed=None)
    assert [path.name for path in (tmp_path / "id").glob("part-*")] == ["part-0"]


def test_a_part_that_is_gone_leaves_its_number(tmp_path: Path, people: Population, policy: Policy) -> None:
    parts = Parts("id", tmp_path)
    for shard in (0, 1):
        parts.enrol(people, policy, [shard], seed=4)
    kept = State(parts.folders()[1]).secrets.copy()
    parts.folders()[0].rename(tmp_path / "away")
    parts.enrol(people, policy, [0, 1], seed=4)
    assert {shard: part.name for shard, part in parts.folders().items()} == {0: "part-0", 1: "part-1"}
    assert np.array_equal(State(parts.folders()[1]).secrets, kept)


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
    assert [path.name for path in (tmp_path / "id").glob("part-*")] == ["part-0"]


def test_a_part_that_cannot_be_read_is_one_line_with_the_machine(
    tmp_path: Path, people: Population, policy: Policy
) -> None:
    parts = Parts("id", tmp_path)
    parts.enrol(people, policy, [0], seed=None)
    (tmp_path / "id" / "part-0" / "enrolment.json").write_text("{")
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
        Parts("id", tmp_path / "file" / "shards")

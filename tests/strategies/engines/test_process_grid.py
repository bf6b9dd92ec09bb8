from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.methods import HoGS, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.engines import collect as collecting
from ldpsim.strategies.engines import process_grid
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.pool import available_cores
from ldpsim.strategies.engines.process_grid import PROCESSES_PAY_FROM, allow_open_files, worker_processes

pytestmark = pytest.mark.usefixtures("real_processes")


def test_reports_of_several_processes_are_those_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three shards, two processes; then again, from the ledgers."""
    people = generate(2100, seed=0)
    questions: tuple[Question, ...] = HoGS().questions(people.facts, make_split("random", people, 0), Budget(), "first")
    policy = policy_for([question.query for question in questions], people.facts)
    for name in ("one", "several"):
        enrol(tmp_path / name, people, policy, seed=1).close()
    one = collect(tmp_path / "one", questions, devices=2100, engine="local")
    monkeypatch.setattr(process_grid, "PROCESSES_PAY_FROM", 2000)
    several = collect(
        tmp_path / "several", questions, devices=2100, engine="local", workers=2, facts=people.facts
    )  # decoded as shards come back, in any order
    assert several.decoded is not None and one.decoded is None
    assert several.reported == one.reported == 2100
    assert several.reports_sha256 == one.reports_sha256
    assert (several.uplink_bytes, several.downlink_bytes) == (one.uplink_bytes, one.downlink_bytes)
    assert not list((tmp_path / "several").glob("*-wal"))  # every process closed its ledgers
    monkeypatch.setattr(process_grid, "PROCESSES_PAY_FROM", PROCESSES_PAY_FROM)
    again = collect(tmp_path / "several", questions, devices=2100, engine="local")
    assert (again.replayed, again.reports_sha256) == (2100, one.reports_sha256)


def test_processes_are_started_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_grid, "available_cores", lambda: 4)
    assert worker_processes(PROCESSES_PAY_FROM - 1, 8) == 1
    assert [worker_processes(PROCESSES_PAY_FROM, wanted) for wanted in (None, 1, 3, 1000)] == [4, 1, 3, 49]
    monkeypatch.setattr(process_grid.multiprocessing, "parent_process", lambda: object())
    assert worker_processes(10**6, None) == 1  # a cell of a sweep has one core
    assert available_cores() >= 1


def test_the_devices_that_are_asked_decide_on_further_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = generate(300, seed=0)
    questions = HoGS().questions(people.facts, make_split("random", people, 0), Budget(), "few")
    enrol(tmp_path, people, policy_for([question.query for question in questions], people.facts), seed=1).close()
    seen: list[int] = []

    def one(asked: int, wanted: int | None) -> int:
        seen.append(asked)
        return 1

    monkeypatch.setattr(collecting, "worker_processes", one)
    for who in (np.arange(120), None):
        collect(tmp_path, [Question(questions[0].query, who)], devices=300, engine="local", workers=2)
    assert seen == [120, 300]


def test_the_limit_of_open_files_is_raised_as_far_as_it_may_be() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(before[1], 1 << 16) if before[1] != resource.RLIM_INFINITY else 1 << 16
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

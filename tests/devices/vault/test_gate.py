"""The gate of a vault: limits, who makes room, and a vault that is slow for nobody (issue 17, break 4)."""

from __future__ import annotations

import json
import os
import resource
import shlex
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import BUILT_IN, GRRFS
from ldpsim.devices.policy.policy import Cap, Policy
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report
from ldpsim.devices.vault.client import VaultDevice
from ldpsim.devices.vault.gate import Caller, CallerPhase, Gate, peer, room_for
from ldpsim.devices.vault.protocol import FrameKind, pack_question

ROOT = Path(__file__).resolve().parents[3]


class Told:
    """Callers of a gate, and which of them were told to leave."""

    def __init__(self) -> None:
        self.left: list[str] = []

    def caller(self, name: str, process: int = 1, user: int = 1, phase: CallerPhase = CallerPhase.READING) -> Caller:
        return Caller(process, user, lambda: self.left.append(name), phase)


def test_the_longest_silent_makes_room() -> None:
    told, gate = Told(), Gate(3, per_user=3, per_process=3)
    callers = [told.caller(name) for name in "abc"]
    assert all(map(gate.admit, callers)) and told.left == []
    callers[0].phase = CallerPhase.JUDGED  # its question has arrived: it stays
    assert gate.admit(told.caller("d")) and told.left == ["b"]
    callers[2].phase = CallerPhase.ANSWERED
    assert gate.admit(told.caller("e")) and told.left == ["b", "d"]  # who reads goes before who takes an answer
    assert len(gate) == 3


def test_where_all_are_judged_the_new_one_is_turned_away() -> None:
    told, gate = Told(), Gate(2, per_user=2, per_process=2)
    callers = [told.caller(name, phase=CallerPhase.JUDGED) for name in "ab"]
    assert all(map(gate.admit, callers))
    assert not gate.admit(told.caller("c")) and told.left == []
    gate.forget(callers[0])
    assert gate.admit(told.caller("d"))


def test_a_process_and_a_user_displace_their_own_alone() -> None:
    told, gate = Told(), Gate(8, per_process=2)
    assert gate.per_user == 4
    assert all(gate.admit(told.caller(f"1-{i}", process=1, user=1)) for i in range(5))
    assert told.left == ["1-0", "1-1", "1-2"] and len(gate) == 2
    assert all(gate.admit(told.caller(f"2-{i}", process=2 + i, user=1)) for i in range(3))
    assert told.left[3:] == ["1-3"] and len(gate) == 4
    assert all(gate.admit(told.caller(f"3-{i}", process=9 + i, user=2)) for i in range(4))
    assert len(told.left) == 4 and len(gate) == 8


def test_the_kernel_says_who_asks() -> None:
    left, right = socket.socketpair()
    with left, right:
        assert peer(left) == (os.getpid(), os.geteuid())


def test_files_are_left_for_the_ledger() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert room_for(3) == 3
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        assert room_for(4096) == 136
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def served(tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> Iterator[Callable[..., Path]]:
    """Serve devices in a process of its own, with few file descriptors if asked."""
    started: list[subprocess.Popen[str]] = []

    def serve(files: int = 1024, **changes: object) -> Path:
        enrol(tmp_path / "state", population, policy_of(population, **changes), seed=7).close()
        (tmp_path / "state").chmod(0o700)
        command = [sys.executable, "-m", "ldpsim.cli.main", "device", "serve",
                   "--state", str(tmp_path / "state"), "--socket", str(tmp_path / "v")]  # fmt: skip
        process = subprocess.Popen(
            ["bash", "-c", f"ulimit -n {files}; exec {shlex.join(command)}"],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stderr is not None
        for text in process.stderr:
            if "serving" in text:
                break
        return tmp_path / "v"

    yield serve
    for process in started:
        process.terminate()
        process.communicate()


def slow(path: Path, number: int) -> list[socket.socket]:
    """Open connections that have sent a part of a frame."""
    opened = []
    for count in range(number):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(600)
        connection.connect(str(path))
        connection.sendall(b"\x40\x00\x00"[: 1 + count % 3])
        opened.append(connection)
    return opened


@pytest.mark.parametrize("files", [1024, 128])
def test_slow_connections_damage_no_ledger(
    served: Callable[..., Path], ask_for: Callable[..., Query], files: int
) -> None:
    """Red team: 300 slow connections, and the honest device got LEDGER_DAMAGED after 30 seconds.

    Here the honest one has as long as a silent connection has, and gets its report. The slow ones are of its
    own process: even so they make room.
    """
    path = served(files)
    idle = slow(path, 100)
    answer = VaultDevice(str(path), 3, 4.0).answer(ask_for().to_bytes())
    for connection in idle:
        connection.close()
    assert isinstance(answer, Report) and not answer.replayed


def test_who_makes_room_is_told(served: Callable[..., Path]) -> None:
    first, *_ = idle = slow(served(), 17)
    assert first.recv(64)[4:] == b"ldpv\x01" + Refusal.VAULT_BUSY.value.to_bytes(2, "little")
    for connection in idle:
        connection.close()


HOSTILE = """
import json, socket, struct, sys
path, questions = sys.argv[1], [bytes.fromhex(text) for text in json.load(open(sys.argv[2]))]
print("hostile", flush=True)
number = 0
while True:
    for question in questions:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(path)
            connection.sendall(struct.pack("<I", len(question)) + question)
            connection.recv(64)
"""
SLOW = """
import socket, sys, time
idle = []
while True:
    while len(idle) < 300:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(sys.argv[1])
        connection.sendall(bytes([64]))
        idle.append(connection)
    print("slow", flush=True)
    time.sleep(1)
    for connection in list(idle):
        try:
            connection.sendall(bytes(1))
        except OSError:
            idle.remove(connection)
"""


@pytest.mark.slow
def test_a_vault_answers_within_a_second_under_attack(
    served: Callable[..., Path], tmp_path: Path, people: Callable[..., Population], policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
) -> None:  # fmt: skip
    """300 connections that drip, and one that sends the dearest questions one after another."""
    population = people(d=3703)
    caps = dict.fromkeys(("adjacency", "features", "label"), Cap(1.0, 1.0, 1.0))
    policy = policy_of(population, caps=caps, mechanisms=frozenset(BUILT_IN))
    enrol(tmp_path / "other", population, policy, seed=7).close()
    (tmp_path / "other").chmod(0o700)
    dear = []
    for i in range(40):
        budgets = [(1 + (8 * i + stage) / 500, 3703 - stage) for stage in range(8)]
        facts = population.facts
        plan = tuple((Ask("features", (GRRFS.from_epsilon(eps, facts=facts, m=m),)),) for eps, m in budgets)
        dear.append(pack_question(FrameKind.REPORT, 3, Query("hostile", plan).to_bytes()).hex())
    (tmp_path / "dear.json").write_text(json.dumps(dear))
    command = [sys.executable, "-m", "ldpsim.cli.main", "device", "serve",
               "--state", str(tmp_path / "other"), "--socket", str(tmp_path / "w")]  # fmt: skip
    vault = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert vault.stderr is not None and any("serving" in line for line in vault.stderr)
    attackers = [
        subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path / "w")], stdout=subprocess.PIPE, text=True),
        subprocess.Popen([sys.executable, "-c", HOSTILE, str(tmp_path / "w"), str(tmp_path / "dear.json")],
                         stdout=subprocess.PIPE, text=True),
    ]  # fmt: skip
    try:
        for attacker in attackers:
            assert attacker.stdout is not None and attacker.stdout.readline()
        time.sleep(1)
        question = ask_for(d=3703, attributes="l").to_bytes()
        seconds = []
        for _ in range(20):
            began = time.monotonic()
            answer = VaultDevice(str(tmp_path / "w"), 3, 20.0).answer(question)
            seconds.append(time.monotonic() - began)
            assert isinstance(answer, Report)
        assert all(attacker.poll() is None for attacker in attackers)
        print(f"answers took {statistics.median(seconds):.3f} s in the median, {max(seconds):.3f} s at most")
        assert max(seconds) < 1.0
    finally:
        for process in (*attackers, vault):
            process.kill()
            process.communicate()

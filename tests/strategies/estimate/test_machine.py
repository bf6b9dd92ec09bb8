from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ldpsim.strategies.estimate import machine
from ldpsim.strategies.estimate.machine import calibration, machine_in_words, memory_bytes


def test_the_machine_is_described_and_its_speed_is_the_least_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibration() > 0
    taken = iter([0.3, 0.2, 0.4])
    monkeypatch.setattr(machine, "_load", lambda: next(taken))
    assert calibration() == 0.2 and not list(taken)
    assert memory_bytes() > 1 << 27 and "cores" in machine_in_words()


def test_the_memory_is_that_of_the_container_where_it_is_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: SimpleNamespace(total=3 << 30))
    monkeypatch.setattr(machine.psutil, "cpu_count", lambda: 6)
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm")
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(machine, "_CGROUP", limit)
    assert memory_bytes() == 3 << 30  # no container
    for said, wanted in (("max\n", 3 << 30), (f"{2 << 30}\n", 2 << 30), (f"{4 << 30}\n", 3 << 30)):
        limit.write_text(said)
        assert memory_bytes() == wanted
    assert machine_in_words() == "arm, 6 cores, 3 GiB"


def test_other_work_on_the_machine_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.3, 0.2, 0.4, 0.1])
    monkeypatch.setattr(machine, "_load", lambda: next(seconds))
    assert calibration() == 0.2

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ldpsim.cli.doctor import machine


def test_data_sets_are_counted_with_the_origin_of_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = machine.data_sets(tmp_path)
    assert empty.status == "warning" and "no data set in" in empty.text and "--data-dir" in empty.text
    (tmp_path / "facebook.npz").write_bytes(b"")
    monkeypatch.setenv("LDPSIM_DATA", str(tmp_path))
    found = machine.data_sets(None)
    assert found.status == "ok" and found.text.startswith("1 of ") and "(LDPSIM_DATA): facebook" in found.text
    missing = machine.data_sets(tmp_path / "none")
    assert missing.status == "warning" and missing.text.startswith("no folder") and missing.remedy


def test_a_card_that_torch_cannot_use_is_a_warning(tmp_path: Path) -> None:
    driver = tmp_path / "version"
    assert machine.graphics_card(driver, build="").status == "ok"
    driver.write_text("NVRM version")
    assert machine.graphics_card(driver, build="12.8").status == "ok"
    found = machine.graphics_card(driver, build="")
    assert found.status == "warning" and "CPU build" in found.text and found.remedy


def test_the_build_of_torch_is_read_without_importing_it() -> None:
    import torch

    assert machine._torch_cuda() == (torch.version.cuda or "")


@pytest.mark.parametrize(
    ("free", "status"), [(machine.ROOM, "ok"), (machine.ROOM - 1, "warning"), (machine.LEAST_ROOM - 1, "problem")]
)
def test_little_room_is_seen(tmp_path: Path, free: int, status: str) -> None:
    found = machine.room("results", tmp_path / "runs", free)
    assert found.status == status and str(tmp_path) in found.text and "not there yet" in found.text


def test_a_folder_that_cannot_be_written_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    assert machine.room("results", tmp_path).status == "problem"


def test_locks_work_here_and_nothing_is_left(tmp_path: Path) -> None:
    found = machine.locks(tmp_path / "state")
    assert found.status in ("ok", "warning") and f"SQLite {sqlite3.sqlite_version}; locks work" in found.text
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_locks_a_slow_one_and_a_network_disk_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as slow:
        slow.setattr(machine, "_fsync_seconds", lambda _: 0.3)
        slow.setattr(machine, "file_system", lambda _: "ext4")
        assert "slow disk" in machine.locks(tmp_path).remedy
        slow.setattr(machine, "file_system", lambda _: "nfs4")
        assert "network disk" in machine.locks(tmp_path).remedy
    monkeypatch.setattr(machine.fcntl, "flock", lambda *_: None)
    found = machine.locks(tmp_path)
    assert found.status == "problem" and "answer twice" in found.remedy


def test_a_database_without_locks_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlite3.connect

    def unlocked(path: Any, **given: Any) -> sqlite3.Connection:
        given["timeout"] = 0
        return real(f"{path}-{os.urandom(4).hex()}", **given)  # each connection sees a file of its own

    monkeypatch.setattr(machine.sqlite3, "connect", unlocked)
    assert machine.locks(tmp_path).status == "problem"


@pytest.mark.parametrize(("limit", "status"), [(1 << 20, "ok"), (1000, "warning"), (200, "problem")])
def test_few_open_files_are_seen(limit: int, status: str) -> None:
    found = machine.open_files(limit)
    assert found.status == status and f"{limit:,}" in found.text
    assert ("ulimit -n" in found.remedy) == (status != "ok")


def test_another_encoding_than_utf_8_is_a_warning() -> None:
    assert machine.encoding("UTF-8").status == "ok"
    found = machine.encoding("ascii")
    assert found.status == "warning" and "PYTHONUTF8=1" in found.remedy


def test_a_pipe_and_a_narrow_terminal_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.sys.stdout, "isatty", lambda: False, raising=False)
    assert "a pipe or a file" in machine.terminal().text
    monkeypatch.setattr(machine.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    found = machine.terminal()
    assert found.status == "warning" and found.text == "30 columns, no colours (NO_COLOR)"

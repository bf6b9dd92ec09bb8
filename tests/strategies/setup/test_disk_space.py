"""Estimate of the disk space, and errors of a disk that is full."""

from __future__ import annotations

import errno
import logging
import shutil
import sqlite3
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

from ldpsim.strategies.progress import quiet
from ldpsim.strategies.results.folder import log_file
from ldpsim.strategies.runs.run import ask_devices
from ldpsim.strategies.runs.set_up import set_scene, set_up
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.disk_space import (
    answers_bytes,
    check_refused,
    check_space,
    free_bytes,
    in_words,
    naming_full_disk,
)
from ldpsim.strategies.setup.options import RunOptions

SMALL = {"clients": 300, "reference": False, "nulls": False}


def room(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """Leave this many bytes free on every disk."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: types.SimpleNamespace(free=free))


@pytest.mark.parametrize("method", ["hogs", "vote", "ldpgen"])
def test_the_estimate_is_below_what_the_answers_take_and_no_idle_figure(tmp_path: Path, method: str) -> None:
    setup = set_up(RunOptions(**SMALL, method=method))
    scene = set_scene(setup, 0, tmp_path, tmp_path / "state", quiet)
    ask_devices(scene)
    scene.end_collection()
    taken = sum(path.stat().st_size for path in (tmp_path / "state").glob("ledger*"))
    assert taken / 3 < answers_bytes(setup.population.facts, scene.questions) <= taken


def test_a_run_that_cannot_fit_asks_nobody_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = RunOptions(**SMALL, repeats=2, out=tmp_path / "runs")
    room(monkeypatch, 150_000)  # one repeat would fit
    with pytest.raises(ValueError, match=r"150 kB are free on its disk.* need about [23]\d\d kB") as failed:
        simulate(options)
    assert str(failed.value).startswith(str(tmp_path / "runs"))
    assert list(tmp_path.iterdir()) == []


def test_the_last_byte_of_room_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = set_up(RunOptions(**SMALL))
    people, questions = setup.population, setup.method.questions(
        setup.population.facts, setup.repeats[0].split, setup.budget, "check"
    )  # fmt: skip
    once = people.nbytes + 32 * 300 + answers_bytes(people.facts, questions)
    for enrolments in (0, 1, 3):
        room(monkeypatch, enrolments * once)
        check_space(tmp_path, people, questions, enrolments=enrolments)
        room(monkeypatch, enrolments * once - 1)
        with pytest.raises(ValueError, match="are free on its disk"):
            check_space(tmp_path, people, questions, enrolments=enrolments)
    needed = 2 * answers_bytes(people.facts, questions) * 150 // 300 + (1 << 16)
    room(monkeypatch, needed)
    check_refused(tmp_path, 150, people.facts, questions)
    room(monkeypatch, needed - 1)
    with pytest.raises(OSError, match="150 devices"):
        check_refused(tmp_path, 150, people.facts, questions)


def test_only_those_who_are_asked_need_room() -> None:
    setup = set_up(RunOptions(**SMALL))
    (question,) = setup.method.questions(setup.population.facts, setup.repeats[0].split, setup.budget, "check")
    whole = answers_bytes(setup.population.facts, [question])
    some = replace(question, devices=np.arange(30))
    assert answers_bytes(setup.population.facts, [some]) * 10 == whole
    assert answers_bytes(setup.population.facts, [some, question]) * 10 == 11 * whole


def test_the_disk_of_a_folder_that_is_not_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []

    def usage(path: Path) -> types.SimpleNamespace:
        looked.append(Path(path))
        return types.SimpleNamespace(free=7)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert free_bytes(tmp_path) == free_bytes(tmp_path / "a" / "b") == 7 and looked == [tmp_path, tmp_path]
    assert (in_words(999_999), in_words(1_000_000), in_words(1500)) == ("1,000 kB", "1.0 MB", "2 kB")


def test_devices_that_are_enrolled_need_no_new_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = RunOptions(**SMALL, settings={"epochs": "2"}, out=tmp_path / "runs", state=tmp_path / "state",
                         on_requery="replay")  # fmt: skip
    simulate(options)
    room(monkeypatch, 1000)
    assert simulate(options).record["devices"]["replayed"] == 300


def test_a_ledger_without_room_is_a_full_disk_and_a_damaged_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = set_up(RunOptions(**SMALL))
    scene = set_scene(setup, 0, tmp_path, tmp_path / "state", quiet)
    scene.end_collection()
    facts = setup.population.facts
    room(monkeypatch, 100_000)
    with pytest.raises(OSError, match="200 devices could not answer, about 1..9? kB are needed") as failed:
        check_refused(scene.home, 200, facts, scene.questions)
    assert (failed.value.errno, failed.value.filename) == (errno.ENOSPC, str(scene.home))
    check_refused(scene.home, 0, facts, scene.questions)
    room(monkeypatch, 10_000_000)
    check_refused(scene.home, 200, facts, scene.questions)


def sqlite_full() -> sqlite3.Error:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("38400 requested and 12288 written"),  # numpy's
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
        sqlite_full(),
    ],
)
def test_an_error_of_a_full_disk_without_a_path_gets_the_folder(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(OSError, match="No space left on device") as failed, naming_full_disk(tmp_path):
        raise error
    assert (failed.value.errno, failed.value.filename) == (errno.ENOSPC, str(tmp_path))


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space", "a/b"), PermissionError(13, "no"), ValueError("x"), OSError("other")]
)
def test_other_errors_stay_as_they_are(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as failed, naming_full_disk(tmp_path):
        raise error
    assert failed.value is error


def test_a_log_that_cannot_be_written_ends_the_run_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "log.txt").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as failed, log_file(tmp_path):
        logging.getLogger("ldpsim").info("a line")
    assert failed.value.filename == str(tmp_path / "log.txt")
    assert capsys.readouterr().err == ""

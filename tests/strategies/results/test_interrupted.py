"""Folders of runs, also of interrupted ones, and what a run tells while it works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.results.folder import (
    finished_rounds,
    hold_folder,
    read_result,
    write_config,
    write_result,
)
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions
from tests import warm

ROOT = Path(__file__).parents[3]


NAME = {"method": "hogs", "dataset": "generated", "digest": "abc", "seed": 0}


def test_an_infinite_budget_is_a_word_of_strict_json(tmp_path: Path) -> None:
    write_result(tmp_path, {"budget": {"eps_features": float("inf")}, "seconds": [1.5, float("inf")]})
    stored = json.loads((tmp_path / "result.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert stored == {"budget": {"eps_features": "inf"}, "seconds": [1.5, "inf"]}


def test_a_configuration_names_a_file_relative_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the run was started, `run --config` finds the data beside the folder; other names stay as they are."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.npz").touch()
    (tmp_path / "runs" / "one").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    whole = str(tmp_path / "data" / "people.npz")
    for given, written in (("data/people.npz", "../../data/people.npz"), (whole, whole), ("cora", "cora"),
                           ("data/none.npz", "data/none.npz")):  # fmt: skip
        write_config(Path("runs/one"), {"dataset": given, "seeds": {"noise": None}, "epsilon": None})
        assert tomllib.loads(Path("runs/one/config.toml").read_text()) == {"dataset": written, "seeds": {"noise": "os"}}


def test_the_rounds_of_all_repeats_are_kept_and_a_damaged_file_has_none(tmp_path: Path) -> None:
    for number, done in enumerate((3, 5)):
        head = np.frombuffer(json.dumps({"done": done}).encode(), np.uint8)
        np.savez(tmp_path / f"checkpoint-{number}.npz", head=head)
    assert finished_rounds(tmp_path) == 8
    (tmp_path / "checkpoint-2.npz").write_bytes(b"PK")
    assert finished_rounds(tmp_path) == 8 and finished_rounds(tmp_path / "nothing") == 0


HOLD = """
import os, sys
from pathlib import Path
from ldpsim.strategies.results.folder import hold_folder

for _ in range(4):  # a fork loads nothing again
    if not os.fork():
        with hold_folder(Path(sys.argv[1]), method="hogs", dataset="generated", digest="abc", seed=0) as folder:
            os.write(1, f"{os.getpid()} {folder.name}\\n".encode())  # at once, so that lines stay whole
            sys.stdin.read()
        os._exit(0)
for _ in range(4):
    print(os.wait()[0], "ended", flush=True)
"""


def test_processes_at_once_hold_folders_of_their_own_and_death_frees_them(tmp_path: Path) -> None:
    """Several processes start at once; each gets another number. A killed one leaves its folder to the next."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with warm.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as processes:
        held = dict(reversed(processes.stdout.readline().split()) for _ in range(4))  # name -> process
        names = ["hogs-generated-abc-0", *(f"hogs-generated-abc-0-{number}" for number in (2, 3, 4))]
        assert sorted(held) == names
        os.kill(int(held[names[1]]), signal.SIGKILL)
        assert processes.stdout.readline().split() == [held[names[1]], "ended"]
        with hold_folder(tmp_path, **NAME) as folder:
            assert folder.name == names[1]
        processes.communicate()


def test_a_result_is_whole_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        write_result(tmp_path, {"x": float("nan")})
    assert list(tmp_path.iterdir()) == []
    write_result(tmp_path, {"x": 1})
    assert json.loads((tmp_path / "result.json").read_text()) == {"x": 1}


def test_a_result_from_before_a_level_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"schema": 2, "privacy": {"holds": {name: Level("not asked").to_dict() for name in LEVELS}}}
    (tmp_path / "result.json").write_text(json.dumps(made))
    assert read_result(tmp_path / "result.json") == made
    monkeypatch.setitem(LEVELS, "list", LEVELS["vector"])
    with pytest.raises(ValueError, match="^privacy.holds has no list: the run was made without it"):
        read_result(tmp_path / "result.json")


SMALL = {"clients": 60, "reference": False, "nulls": False}


def stopped_at(options: RunOptions, phase: str, share: float = 0.0) -> str:
    """The note of a run that is interrupted when it tells a phase, and that share of it or more."""

    def tell(name: str, done: float | None) -> None:
        if name == phase and (done or 0) >= share:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        simulate(options, progress=tell)
    (note,) = stopped.value.__notes__
    return str(note)


def test_a_run_of_reports_says_how_many_devices_have_answered(tmp_path: Path) -> None:
    options = RunOptions(**SMALL, settings={"epochs": "2"}, repeats=2, out=tmp_path)
    (note, folder) = stopped_at(options, "collect"), next(tmp_path.iterdir())
    assert note == f"no device has answered yet; the same command goes on in {folder}"
    note = stopped_at(options, "train")
    assert note == (f"60 of 120 devices have answered and their answers are kept; the same command goes on in {folder}")


def test_a_training_in_rounds_says_how_many_are_finished(tmp_path: Path) -> None:
    settings = {"rounds": "3", "evaluate_every": "0"}
    options = RunOptions(**SMALL, method="fedavg-mlp", settings=settings, out=tmp_path)
    note = stopped_at(options, "rounds", share=0.5)
    (folder,) = tmp_path.iterdir()
    assert note == f"2 rounds are finished and kept in {folder}; the same command goes on after them"
    (folder / "checkpoint-0.npz").write_bytes(b"damaged")
    assert "of 60 devices have answered" in stopped_at(options, "rounds")


def test_a_mistake_that_is_found_after_devices_answered_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without their folder they would be enrolled again, with other secrets, and answer a second time."""
    options = RunOptions(**SMALL, settings={"epochs": "2"}, seeds={"noise": None}, out=tmp_path)
    for phase, left in (("collect", False), ("train", True)):

        def tell(name: str, done: float | None, stop: str = phase) -> None:
            if name == stop:
                raise ValueError("a mistake")

        with pytest.raises(ValueError, match="a mistake"):
            simulate(options, progress=tell)
        assert len(list(tmp_path.glob("*/state/secrets.bin"))) == left


def test_a_run_tells_the_share_of_its_long_phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "SHARD", 2)  # a hundred messages
    # A reference that is trained beside the method tells nothing, and with several threads it would be.
    monkeypatch.setattr("ldpsim.strategies.runs.simulate.models_at_once", lambda setup: 1)
    told: list[tuple[str, float | None]] = []
    simulate(
        RunOptions(clients=200, settings={"epochs": "200"}, nulls=False, all_nulls=True, out=tmp_path),
        progress=lambda phase, share: told.append((phase, share)),
    )
    shares = {phase: [share for name, share in told if name == phase and share] for phase, _ in told}
    hundredths = [number / 100 for number in range(1, 100)]
    assert shares["collect"] == shares["train"] == hundredths
    assert shares["reference"][-1] == 0.995  # two trainings: the method's settings, and its own
    assert shares["population"] == shares["reconstruct"] == []

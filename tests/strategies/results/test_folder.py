from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.results.folder import (
    hold_folder,
    read_result,
    write_result,
)
from tests import warm

ROOT = Path(__file__).parents[3]


NAME = {"method": "hogs", "dataset": "generated", "digest": "abc", "seed": 0}


def test_an_interrupted_run_is_found_again_and_a_finished_one_is_not(tmp_path: Path) -> None:
    with hold_folder(tmp_path / "runs", **NAME) as first:
        assert first == tmp_path / "runs" / "hogs-generated-abc-0"
    with hold_folder(tmp_path / "runs", **NAME) as again:
        assert again == first
        write_result(again, {})
    for name in ("hogs-generated-abc-0-2", "hogs-generated-abc-0-3"):
        with hold_folder(tmp_path / "runs", **NAME) as folder:
            assert folder.name == name
            write_result(folder, {})


def test_an_infinite_budget_is_a_word_of_strict_json(tmp_path: Path) -> None:
    write_result(tmp_path, {"budget": {"eps_features": float("inf")}, "seconds": [1.5, float("inf")]})
    stored = json.loads((tmp_path / "result.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert stored == {"budget": {"eps_features": "inf"}, "seconds": [1.5, "inf"]}


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
        assert processes.stdout is not None
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

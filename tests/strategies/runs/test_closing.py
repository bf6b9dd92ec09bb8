"""What a run has open is closed where it fails, though somebody keeps the error, as a notebook does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ldpsim.strategies import RunFailed, RunOptions, simulate
from ldpsim.strategies.progress import quiet
from ldpsim.strategies.runs.judging import _others
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import start_repeat, temporary_repeat
from tests.opened import open_below


def options(out: Path | None, **given: Any) -> RunOptions:
    usual = {"clients": 60, "settings": {"epochs": "3"}, "reference": False, "nulls": False, "out": out}
    return RunOptions(**{**usual, **given})


def test_ledgers_of_a_run_that_fails_are_closed(tmp_path: Path) -> None:
    def angry(name: str, value: float, step: int, phase: str) -> None:
        if phase == "repeat":
            raise KeyError(name)

    with pytest.raises(RunFailed, match="^on_metric: KeyError") as kept:
        simulate(options(tmp_path), on_metric=angry)
    assert open_below(tmp_path) == set() and kept.tb is not None


def test_ledgers_of_people_for_a_null_model_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    repeat = start_repeat(prepare(options(tmp_path / "out")), 0, tmp_path / "out", tmp_path / "state", quiet)
    errors = []
    for opened in (_others(repeat, ("label",), frozenset()), temporary_repeat(repeat.setup, 0)):
        with pytest.raises(KeyboardInterrupt) as kept, opened as other:
            assert other.state is not None
            other.state.ledger()
            assert open_below(tmp_path)
            raise KeyboardInterrupt
        errors.append(kept)
        assert open_below(tmp_path) == set()
    repeat.close()

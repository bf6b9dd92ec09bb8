"""Words for an interrupted run, read from what lies in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions

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

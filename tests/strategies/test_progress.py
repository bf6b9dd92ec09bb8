from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from ldpsim.strategies.attacks.audit.audit import AuditOptions, audit
from ldpsim.strategies.attacks.campaign import Campaign
from ldpsim.strategies.attacks.stress.campaign import StressCampaign, StressOptions
from ldpsim.strategies.experiments.compare import compare
from ldpsim.strategies.experiments.sweep import run_sweep
from ldpsim.strategies.experiments.tune import search
from ldpsim.strategies.progress import NOTHING_KEPT, SteppedProgress, noted_if_interrupted, quiet
from ldpsim.strategies.rounds import outbox
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions


def test_long_work_tells_nobody_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    for work in (audit, compare, run_sweep, search, Campaign.run, Campaign.run_and_write):
        assert inspect.signature(work).parameters["progress"].default is quiet
    quiet("cells", 0.5)
    assert capsys.readouterr() == ("", "")


def test_only_an_interrupt_gets_a_note() -> None:
    with pytest.raises(KeyboardInterrupt) as stopped, noted_if_interrupted(lambda: "outer"):
        with noted_if_interrupted(lambda: "inner"):
            raise KeyboardInterrupt
    assert stopped.value.__notes__ == ["inner", "outer"]
    with pytest.raises(ValueError, match="no") as failed, noted_if_interrupted(lambda: "note"):
        raise ValueError("no")
    assert not hasattr(failed.value, "__notes__")


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "work",
    [
        lambda tmp_path: search(RunOptions(clients=60, out=None), [{"tau": ("0.5",)}], progress=interrupted),
        lambda tmp_path: StressCampaign(StressOptions(clients=60)).run(progress=interrupted),
        lambda tmp_path: audit(AuditOptions(names=("noise",), workers=1), progress=interrupted),
    ],
)
def test_work_that_keeps_nothing_says_so(work: Any, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as stopped:
        work(tmp_path)
    assert stopped.value.__notes__ == [NOTHING_KEPT]


def test_steps_belong_to_a_collection_or_a_training() -> None:
    told: list[tuple[str, float | None]] = []
    progress = SteppedProgress(lambda phase, share: told.append((phase, share)))
    for phase in ("collect", "reconstruct", "train", "nulls"):
        progress(phase, None)
        progress.step(0.5)
    expected = [("collect", None), ("collect", 0.5), ("reconstruct", None), ("train", None), ("train", 0.5)]
    assert told == [*expected, ("nulls", None)]


def test_a_run_tells_the_share_of_its_long_phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "SHARD", 2)  # a hundred messages
    told: list[tuple[str, float | None]] = []
    simulate(
        RunOptions(clients=200, settings={"epochs": "199"}, nulls=False, out=tmp_path),
        progress=lambda phase, share: told.append((phase, share)),
    )
    shares = {phase: [share for name, share in told if name == phase and share] for phase, _ in told}
    hundredths = [number / 100 for number in range(1, 100)]
    assert shares["collect"] == shares["train"] == hundredths
    assert shares["reference"][-1] == 0.995  # two trainings: the method's settings, and its own
    assert shares["population"] == shares["reconstruct"] == []

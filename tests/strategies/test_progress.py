from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.strategies.progress import SteppedProgress
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions


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
        RunOptions(clients=200, settings={"epochs": "199"}, nulls=False, all_nulls=True, out=tmp_path),
        progress=lambda phase, share: told.append((phase, share)),
    )
    shares = {phase: [share for name, share in told if name == phase and share] for phase, _ in told}
    hundredths = [number / 100 for number in range(1, 100)]
    assert shares["collect"] == shares["train"] == hundredths
    assert shares["reference"][-1] == 0.995  # two trainings: the method's settings, and its own
    assert shares["population"] == shares["reconstruct"] == []

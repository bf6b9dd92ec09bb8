"""Figures of a run while it goes on: names, steps and phases; and watching changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.strategies import RunFailed, simulate
from ldpsim.strategies.results.rows import figures
from ldpsim.strategies.tracking.targets import Metrics, Trackers
from tests.strategies.tracking.conftest import small

Figure = tuple[str, float, int, str]


def test_on_metric_hears_every_epoch_every_repeat_and_the_result() -> None:
    heard: list[Figure] = []
    record = simulate(small(None, repeats=2, nulls=True), on_metric=lambda *figure: heard.append(figure)).record
    by_phase = {phase: [figure for figure in heard if figure[3] == phase] for _, _, _, phase in heard}
    assert list(by_phase) == ["train", "repeat", "train-1", "result"]
    # null models and shuffled runs train too; only the method's own training is heard
    assert all(
        [step for _, _, step, _ in by_phase[name]] == [1] * 4 + [2] * 4 + [3] * 4 for name in ("train", "train-1")
    )
    tests = [value for name, value, _, _ in by_phase["repeat"] if name == "test"]
    assert tests == record["accuracy"]["per_repeat"]
    assert [(name, value) for name, value, _, _ in by_phase["result"]] == list(figures(record))
    assert all(type(value) is float for _, value, _, _ in heard)


def test_a_watched_run_gives_the_same_record_and_weights(tmp_path: Path) -> None:
    def done(name: str, **more: Any) -> tuple[dict[str, Any], bytes]:
        result = simulate(small(tmp_path / name), **more)
        assert result.folder is not None
        record = json.loads((result.folder / "result.json").read_text())
        for part in ("seconds", "memory", "config"):
            del record[part]
        return record, (result.folder / "model.safetensors").read_bytes()

    assert done("plain") == done("seen", on_metric=lambda *figure: None)


def test_rounds_tell_the_validation_accuracy_that_the_server_hears(tmp_path: Path) -> None:
    heard: list[Figure] = []
    given = {"rounds": "4", "evaluate_every": "2", "fraction": "0.2"}
    options = small(None, method="fedavg-mlp", settings=given)
    with np.errstate(all="ignore"):
        simulate(options, on_metric=lambda *figure: heard.append(figure))
    assert [(name, step) for name, _, step, phase in heard if phase == "rounds"] == [
        ("val_accuracy", 2), ("val_accuracy", 4),
    ]  # fmt: skip
    assert all(0 <= value <= 1 for _, value, _, phase in heard if phase == "rounds")


def test_an_error_of_the_callback_is_one_line_and_keeps_the_collection(tmp_path: Path) -> None:
    """The same command continues: the devices give the stored bytes."""

    def angry(name: str, value: float, step: int, phase: str) -> None:
        if step == 2:
            raise KeyError("step")

    with pytest.raises(RunFailed, match="^on_metric: KeyError: 'step'$"):
        simulate(small(tmp_path), on_metric=angry)
    assert simulate(small(tmp_path)).record["devices"]["replayed"] == 60


def test_nobody_is_watched_for_nobody() -> None:
    assert Metrics(None, Trackers({})).observer("train", 0) is None
    observer = Metrics(lambda *figure: None, Trackers({})).observer("train", 0)
    assert observer is not None

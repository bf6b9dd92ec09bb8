"""Trackers by their text: mistakes are one line before anybody is asked, and a failure later loses nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from ldpsim.strategies import RunFailed, simulate
from ldpsim.strategies.results.rows import figures
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.tracking import targets
from ldpsim.strategies.tracking.targets import check_targets, tracker_of
from tests.strategies.tracking.conftest import small


class Recorder:
    """Tracker that keeps what it gets, and fails where it is told to."""

    fails_in: ClassVar[str] = ""
    calls: ClassVar[list[tuple[str, Any]]] = []

    def __init__(self, place: str) -> None:
        self.place, self.where = place, "https://me:secret@example.org/run/7"

    def _note(self, name: str, given: Any) -> None:
        self.calls.append((name, given))
        if name == self.fails_in:
            raise ConnectionError("https://me:secret@example.org is gone\nand more")

    def check(self) -> None:
        self._note("check", None)

    def start(self, *given: Any) -> None:
        self._note("start", given)

    def metric(self, *given: Any) -> None:
        self._note("metric", given)

    def finish(self, *given: Any) -> None:
        self._note("finish", given)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> type[Recorder]:
    monkeypatch.setattr(targets, "tracker_of", lambda text: Recorder(text))
    monkeypatch.setattr(Recorder, "calls", [])
    return Recorder


def names(recorder: type[Recorder]) -> list[str]:
    found = [name for name, _ in recorder.calls]
    return [name for place, name in enumerate(found) if found[place - 1 : place] != [name]]


def test_a_run_is_logged_from_its_options_to_its_result(
    tmp_path: Path, recorder: type[Recorder], capsys: pytest.CaptureFixture[str]
) -> None:
    result = simulate(small(tmp_path), track=["x"])
    assert capsys.readouterr().err == "tracked: https://...@example.org/run/7\n"
    assert names(recorder) == ["check", "start", "metric", "finish"]
    name, options, _ = next(given for name, given in recorder.calls if name == "start")
    assert result.folder is not None and name == result.folder.name
    assert options["parameters.epochs"] == "3" and options["method"] == "hogs" and "out" not in options
    given = {name for name, spec in declared(RunOptions).items() if not spec.local and not spec.is_table}
    assert given <= set(options)
    told = [given for name, given in recorder.calls if name == "metric"]
    assert ("repeat/test", result.record["accuracy"]["test"], 0) in told
    assert [step for name, _, step in told if name == "train/val_loss"] == [1, 2, 3]
    assert ("holds_relationship", pytest.approx(14.4), 0) in told
    tags, text = recorder.calls[-1][1]
    assert tags["holds.label"] == "unprotected" and len(tags["reports_sha256"]) == 64
    assert json.loads(text)["accuracy"] == result.record["accuracy"]


def test_no_path_of_the_person_and_no_secret_is_logged(tmp_path: Path, recorder: type[Recorder]) -> None:
    """Neither folders nor files that were named, and no array of people: only numbers, words and digests."""
    from ldpsim.devices.curator_key import generate

    generate(tmp_path / "secret-key")
    path = tmp_path / "friends.npz"
    rng = np.random.default_rng(0)
    np.savez(path, edge_index=rng.integers(0, 60, (2, 90)), labels=np.arange(60) % 3, x=np.eye(60, 9))
    places = {"collector_key": tmp_path / "secret-key", "state": tmp_path / "people", "data_dir": tmp_path}
    simulate(small(tmp_path / "runs", dataset=str(path), clients=None, **places), track=["x"])
    logged = repr(recorder.calls)
    assert str(tmp_path) not in logged and "secret-key" not in logged and "hogs-friends-" in logged
    assert not re.search(r"(\d[\d.]*, ){60}", recorder.calls[-1][1][1].replace("\n", " "))  # no list of 60 people


@pytest.mark.parametrize("where", ["metric", "finish"])
def test_a_tracker_that_fails_does_not_lose_the_run(
    where: str, tmp_path: Path, recorder: type[Recorder], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(Recorder, "fails_in", where)
    result = simulate(small(tmp_path), track=["x:https://me:secret@example.org"])
    assert result.folder is not None and (result.folder / "result.json").is_file()
    said = capsys.readouterr().err
    assert said == ("warning: --track x:https://...@example.org: https://...@example.org is gone and more; "
                    "the run goes on without it\n")  # fmt: skip
    assert said.removeprefix("warning: ").strip() in (result.folder / "log.txt").read_text()
    assert [name for name, _ in recorder.calls].count(where) == 1


@pytest.mark.parametrize("where", ["check", "start"])
def test_a_tracker_that_does_not_answer_is_one_line_before_anybody_is_asked(
    where: str, tmp_path: Path, recorder: type[Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorder, "fails_in", where)
    with pytest.raises(ValueError, match=r"^--track x: https://\.\.\.@example\.org is gone and more$"):
        simulate(small(tmp_path / "runs"), track=["x"])
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("text, line", [
    ("no_client:https://me:secret@a", r"no_client is not installed: pip install 'ldpsim\[no_client\]'"),
    ("mlflo:x", r"mlflo is no tracker; did you mean mlflow\? \(known: mlflow, tensorboard, wandb, no_client\)"),
    ("tensorboard", "give the folder: tensorboard:DIR"),
    ("mlflow", "give a URI or a folder, mlflow:URI, or set MLFLOW_TRACKING_URI"),
])  # fmt: skip
def test_a_mistake_is_one_line(text: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(targets, "find_spec", lambda name: True)
    monkeypatch.setattr(targets, "find_spec", lambda name: None if name == "no_client" else True)
    monkeypatch.setattr(targets, "TRACKERS", {**targets.TRACKERS, "no_client": Recorder})
    with pytest.raises(ValueError, match=f"^--track {text.replace('me:secret', '...')}: {line}$"):
        check_targets([text])


def test_a_worker_gets_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(targets, "find_spec", lambda name: True)
    places = {text: tracker_of(text).place for text in ("mlflow:runs", "mlflow:sqlite:///runs.db", "mlflow:http://a:5",
                                                        "tensorboard:events", "wandb:team/project")}  # fmt: skip
    assert list(places.values()) == [(tmp_path / "runs").as_uri(), f"sqlite:///{tmp_path}/runs.db", "http://a:5",
                                     str(tmp_path / "events"), "team/project"]  # fmt: skip


Figure = tuple[str, float, int, str]


def test_on_metric_hears_every_epoch_every_repeat_and_the_result() -> None:
    heard: list[Figure] = []
    record = simulate(small(None, repeats=2, nulls=True), on_metric=lambda *figure: heard.append(figure)).record
    by_phase = {phase: [figure for figure in heard if figure[3] == phase] for _, _, _, phase in heard}
    assert list(by_phase) == ["train", "repeat", "train-1", "result"]
    # null models and shuffled runs train too; only the method's own training is heard
    for name in ("train", "train-1"):
        assert [step for _, _, step, _ in by_phase[name]] == [1] * 4 + [2] * 4 + [3] * 4
    tests = [value for name, value, _, _ in by_phase["repeat"] if name == "test"]
    assert tests == record["accuracy"]["per_repeat"]
    assert [(name, value) for name, value, _, _ in by_phase["result"]] == list(figures(record))
    assert all(type(value) is float for _, value, _, _ in heard)


def test_rounds_tell_the_validation_accuracy_that_the_server_hears() -> None:
    heard: list[Figure] = []
    settings = {"rounds": "4", "evaluate_every": "2", "fraction": "0.2"}
    with np.errstate(all="ignore"):
        simulate(small(None, method="fedavg-mlp", settings=settings), on_metric=lambda *figure: heard.append(figure))
    rounds = [(name, step, value) for name, value, step, phase in heard if phase == "rounds"]
    assert [(name, step) for name, step, _ in rounds] == [("val_accuracy", 2), ("val_accuracy", 4)]
    assert all(0 <= value <= 1 for _, _, value in rounds)


def test_an_error_of_the_callback_is_one_line_and_keeps_the_collection(
    tmp_path: Path, recorder: type[Recorder]
) -> None:
    """The same command continues: the devices give the stored bytes. A tracker has a run that failed."""

    def angry(name: str, value: float, step: int, phase: str) -> None:
        if step == 2:
            raise KeyError("step")

    with pytest.raises(RunFailed, match="^on_metric: KeyError: 'step'$"):
        simulate(small(tmp_path), track=["x"], on_metric=angry)
    assert recorder.calls[-1] == ("finish", ({}, None))
    assert simulate(small(tmp_path)).record["devices"]["replayed"] == 60

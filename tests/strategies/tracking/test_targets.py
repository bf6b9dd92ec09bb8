"""Trackers by their text: mistakes are one line before anybody is asked, and a failure later loses nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ldpsim.strategies import RunFailed, simulate
from ldpsim.strategies.tracking import targets
from ldpsim.strategies.tracking.clients import MLflowTracker, TrackedRun, Tracker
from ldpsim.strategies.tracking.targets import check_targets, reason, tracker_of, without_password
from tests.strategies.tracking.conftest import small


class Recorder(Tracker):
    """Tracker that keeps what it gets, and fails where it is told to."""

    module = "json"
    fails_in: ClassVar[str] = ""
    calls: ClassVar[list[tuple[str, Any]]] = []

    def _note(self, name: str, given: Any) -> None:
        self.calls.append((name, given))
        if name == self.fails_in:
            raise ConnectionError("https://me:secret@example.org is gone\nand more")

    def check(self) -> None:
        self._note("check", None)

    def start(self, run: TrackedRun) -> None:
        self._note("start", run)

    def metric(self, name: str, value: float, step: int) -> None:
        self._note("metric", (name, value, step))

    def finish(self, tags: Mapping[str, str], result: str | None) -> None:
        self._note("finish", (tags, result))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> type[Recorder]:
    monkeypatch.setattr(targets, "tracker_of", Recorder)
    monkeypatch.setattr(Recorder, "calls", [])
    return Recorder


def names(recorder: type[Recorder]) -> list[str]:
    found = [name for name, _ in recorder.calls]
    return [name for place, name in enumerate(found) if found[place - 1 : place] != [name]]


def test_a_run_is_logged_from_its_options_to_its_result(tmp_path: Path, recorder: type[Recorder]) -> None:
    result = simulate(small(tmp_path), track=["x"])
    assert names(recorder) == ["check", "start", "metric", "finish"]
    start = next(given for name, given in recorder.calls if name == "start")
    assert result.folder is not None and start.name == result.folder.name
    assert start.parameters["parameters.epochs"] == "3" and start.parameters["method"] == "hogs"
    told = [given for name, given in recorder.calls if name == "metric"]
    assert ("repeat/test", result.record["accuracy"]["test"], 0) in told
    assert [step for name, _, step in told if name == "train/val_loss"] == [1, 2, 3]
    assert ("holds_relationship", pytest.approx(14.4), 0) in told
    tags, text = recorder.calls[-1][1]
    assert tags["holds.label"] == "unprotected" and len(tags["reports_sha256"]) == 64
    assert json.loads(text)["accuracy"] == result.record["accuracy"]


def test_no_path_of_the_person_and_no_secret_is_logged(tmp_path: Path, recorder: type[Recorder]) -> None:
    """Neither folders nor files that were named, and no array of people: only numbers, words and digests."""
    from ldpsim.devices.collector import generate

    generate(tmp_path / "secret-key")
    simulate(small(tmp_path / "runs", collector_key=tmp_path / "secret-key", state=tmp_path / "people"), track=["x"])
    logged = repr([(name, vars(given) if isinstance(given, TrackedRun) else given) for name, given in recorder.calls])
    assert str(tmp_path) not in logged and "secret-key" not in logged
    assert max(map(len, _lists(json.loads(recorder.calls[-1][1][1])))) < 60  # no list of 60 people


def _lists(value: Any) -> list[list[Any]]:
    """Return all lists in a JSON value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if isinstance(value, list) else []) + [found for each in inside for found in _lists(each)]


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


def test_a_run_that_fails_ends_as_failed_there(tmp_path: Path, recorder: type[Recorder]) -> None:
    def angry(*figure: Any) -> None:
        raise ValueError("no more")

    with pytest.raises(RunFailed, match="^on_metric: ValueError: no more$"):
        simulate(small(tmp_path), track=["x"], on_metric=angry)
    assert names(recorder) == ["check", "start", "metric", "finish"] and recorder.calls[-1][1] == ({}, None)
    assert len(list(tmp_path.glob("hogs-*/state"))) == 1  # what was collected is kept


@pytest.mark.parametrize("text, line", [
    ("mlflo:x", r"mlflo is no tracker; did you mean mlflow\? \(known: mlflow, tensorboard, wandb\)"),
    ("tensorboard", "give the folder: tensorboard:DIR"),
    ("mlflow", "give a URI or a folder, mlflow:URI, or set MLFLOW_TRACKING_URI"),
])  # fmt: skip
def test_a_mistake_is_one_line(text: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(Tracker, "is_installed", classmethod(lambda cls: True))
    with pytest.raises(ValueError, match=f"^--track {text}: {line}$"):
        check_targets([text])


def test_a_client_that_is_missing_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MLflowTracker, "module", "no_such_client")
    with pytest.raises(ValueError, match=r"no_such_client is not installed: pip install 'ldpsim\[mlflow\]'$"):
        tracker_of("mlflow:https://me:secret@example.org")


def test_a_worker_gets_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Tracker, "is_installed", classmethod(lambda cls: True))
    places = {text: tracker_of(text).place for text in ("mlflow:runs", "mlflow:sqlite:///runs.db", "mlflow:http://a:5",
                                                        "tensorboard:events", "wandb:team/project")}  # fmt: skip
    assert list(places.values()) == [(tmp_path / "runs").as_uri(), f"sqlite:///{tmp_path}/runs.db", "http://a:5",
                                     str(tmp_path / "events"), "team/project"]  # fmt: skip


def test_passwords_are_not_shown_and_lines_are_short() -> None:
    assert without_password("mlflow:http://a:b@c/d@e") == "mlflow:http://...@c/d@e"
    assert reason(ValueError("see http://a:b@c\n" + "x" * 300)) == "see http://...@c " + "x" * 183 + " ..."
    assert reason(KeyError()) == "KeyError"

"""Runs in MLflow, TensorBoard and Weights & Biases, read back from their files."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ldpsim.strategies import simulate
from ldpsim.strategies.results.rows import figures
from ldpsim.strategies.tracking.targets import check_targets
from tests.strategies.tracking.conftest import needs, small


def test_a_run_and_one_without_a_result_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("mlflow")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    result = simulate(small(tmp_path / "runs"), track=[f"mlflow:{tmp_path / 'tracked'}"])
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "another")
    with pytest.raises(KeyboardInterrupt):
        simulate(small(tmp_path / "runs"), track=[f"mlflow:{tmp_path / 'tracked'}"], on_metric=interrupt)
    from mlflow import MlflowClient

    client = MlflowClient((tmp_path / "tracked").as_uri())
    (run,), (failed,) = (
        client.search_runs([client.get_experiment_by_name(name).experiment_id]) for name in ("ldpsim", "another")
    )
    assert failed.info.status == "FAILED" and "train/val_loss" in failed.data.metrics
    assert run.info.status == "FINISHED" and run.info.run_name == result.folder.name
    assert run.data.params["method"] == "hogs" and run.data.params["parameters.epochs"] == "3"
    curve = client.get_metric_history(run.info.run_id, "train/val_accuracy")
    assert [point.step for point in curve] == [1, 2, 3] and all(0 <= point.value <= 1 for point in curve)
    for name, value in figures(result.record):
        assert run.data.metrics[name] == pytest.approx(value), name
    assert run.data.tags["holds.relationship"] == "bounded"
    # nothing about the person or the machine
    assert run.info.user_id in ("", "unknown") and not any(name.startswith("mlflow.source") for name in run.data.tags)
    path = client.download_artifacts(run.info.run_id, "result.json")
    assert json.loads(Path(path).read_text())["accuracy"] == json.loads(json.dumps(result.record["accuracy"]))


def interrupt(name: str, value: float, step: int, phase: str) -> None:
    if step == 2:
        raise KeyboardInterrupt


def test_a_server_that_does_not_answer_is_one_line_soon() -> None:
    needs("mlflow")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(ValueError, match=rf"^--track mlflow:http://\.\.\.@{address}: the server does not answer$"):
        check_targets([f"mlflow:http://me:secret@{address}"])
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_a_run_is_read_back_from_its_event_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("tensorboard")
    result = simulate(small(tmp_path / "runs"), track=[f"tensorboard:{tmp_path / 'events'}"])
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path / "events" / result.folder.name
    assert f"tracked: {folder}\n" in capsys.readouterr().err
    events = EventAccumulator(str(folder)).Reload()
    curve = events.Scalars("train/train_loss")
    assert [point.step for point in curve] == [1, 2, 3]
    for name, value in figures(result.record):
        assert events.Scalars(name)[0].value == pytest.approx(value, rel=1e-6), name
    shown = events.Tensors("options/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "| method | hogs |" in shown and "| parameters.epochs | 3 |" in shown
    outcome = events.Tensors("result/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "| holds.relationship | bounded |" in outcome
    record = json.loads((folder / "result.json").read_text())
    assert record["accuracy"] == json.loads(json.dumps(result.record["accuracy"]))


def chunks(content: bytes) -> Iterator[bytes]:
    """Yield the entries of LevelDB's log format, after the file's header of 7 bytes."""
    place, entry = 7, b""
    while place + 7 <= len(content):
        if (left := 32768 - place % 32768) < 7:  # too short for the head of another part of an entry
            place += left
            continue
        _, size, kind = struct.unpack_from("<IHB", content, place)
        entry += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield entry
            entry = b""


def stored(folder: Path) -> list[Any]:
    """Return the records of the only offline run below a folder."""
    import wandb
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # ends its process, which writes the file
    (path,) = folder.rglob("run-*.wandb")
    return [wandb_internal_pb2.Record.FromString(entry) for entry in chunks(path.read_bytes())]


@pytest.mark.slow
def test_a_run_is_read_back_from_its_offline_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_ARTIFACT_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    result = simulate(small(tmp_path / "runs"), track=["wandb:trial"])
    assert f"tracked: {tmp_path / 'WANDB_DIR'}/wandb/offline-run-" in capsys.readouterr().err
    records = stored(tmp_path / "WANDB_DIR")
    run = next(record.run for record in records if record.HasField("run"))
    assert run.project == "trial" and run.display_name == result.folder.name
    config = {entry.key: json.loads(entry.value_json) for entry in run.config.update}
    assert config["method"] == "hogs" and config["parameters.epochs"] == "3"
    rows = [{item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for record in records if record.HasField("history")]  # fmt: skip
    assert [row["train/step"] for row in rows if "train/val_loss" in row] == [1, 2, 3]
    summary = {item.key or "/".join(item.nested_key): json.loads(item.value_json)
               for record in records if record.HasField("summary") for item in record.summary.update}  # fmt: skip
    for name, value in figures(result.record):
        assert summary[name] == pytest.approx(value), name
    artifacts = [record.artifact for record in records if record.HasField("artifact")]
    artifacts += [record.request.log_artifact.artifact for record in records if record.request.HasField("log_artifact")]
    assert [entry.path for entry in artifacts[0].manifest.contents] == ["result.json"]
    # nothing about the machine: no host, no command, no system figures, no output, no environment, no packages
    assert run.host == "ldpsim" and not run.git.commit and not run.git.remote_url
    kinds = {record.WhichOneof("record_type") for record in records}
    assert not kinds & {"stats", "output", "output_raw"}, kinds
    assert not any(record.request.HasField("python_packages") for record in records)
    assert not any(record.HasField("environment") for record in records)


def test_without_a_key_it_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needs("wandb")
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.raises(
        ValueError, match="^--track wandb: no API key: `wandb login`, or set WANDB_API_KEY, or WANDB_MODE=offline$"
    ):
        check_targets(["wandb"])

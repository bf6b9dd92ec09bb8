"""Runs in MLflow: a folder, and a real server on loopback that the test starts and stops."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from ldpsim.devices import NO_TELEMETRY
from ldpsim.strategies import RunResult, simulate
from ldpsim.strategies.results.figures import figures
from ldpsim.strategies.tracking.targets import check_targets
from tests.strategies.tracking.conftest import needs, small


@pytest.fixture(scope="module")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start ``mlflow server`` on loopback with SQLite, and stop it with all its workers."""
    needs("flask")  # of the whole of MLflow; the client alone has no server
    home = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"--host": "127.0.0.1", "--port": str(port), "--workers": "1", "--artifacts-destination": f"{home}/files",
               "--backend-store-uri": f"sqlite:///{home}/runs.db"}  # fmt: skip
    command = [sys.executable, "-m", "mlflow", "server", *(word for option in options.items() for word in option)]
    environment = {**os.environ, **NO_TELEMETRY, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    with (home / "log.txt").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=home, start_new_session=True, env=environment)
        try:
            while True:
                if server.poll() is not None:
                    pytest.fail((home / "log.txt").read_text()[-2000:])
                try:
                    urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def check_logged(client: Any, result: RunResult) -> None:
    """Read the only run back through a client, and compare it with the result."""
    (experiment,) = [found for found in client.search_experiments() if found.name == "ldpsim"]
    (run,) = client.search_runs([experiment.experiment_id])
    assert result.folder is not None
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


def test_a_run_is_read_back_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("mlflow")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    result = simulate(small(tmp_path / "runs"), track=[f"mlflow:{tmp_path / 'tracked'}"])
    from mlflow import MlflowClient

    check_logged(MlflowClient((tmp_path / "tracked").as_uri()), result)


def test_a_run_is_read_back_from_a_server(tmp_path: Path, mlflow_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    result = simulate(small(tmp_path), track=[f"mlflow:{mlflow_server}"])
    from mlflow import MlflowClient

    check_logged(MlflowClient(mlflow_server), result)


def test_a_run_without_a_result_is_failed_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("mlflow")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "another")
    with pytest.raises(KeyboardInterrupt):
        simulate(small(tmp_path / "runs"), track=[f"mlflow:{tmp_path / 'tracked'}"], on_metric=interrupt)
    from mlflow import MlflowClient

    client = MlflowClient((tmp_path / "tracked").as_uri())
    experiment = client.get_experiment_by_name("another")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FAILED" and "train/val_loss" in run.data.metrics


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

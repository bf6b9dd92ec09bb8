"""Runs in MLflow, through ``mlflow.MlflowClient``: a server, a database (``sqlite:///runs.db``) or a folder.

The client's usage telemetry is switched off (:data:`devices.NO_TELEMETRY`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ldpsim.strategies.tracking.tracker import PROJECT, RESULT, TrackedRun, Tracker

_MOST_METRICS, _MOST_PARAMETERS = 1000, 100  # of one batch, by MLflow's interface
_PATIENCE = 5.0  # seconds between two batches of a training
_MOST_TEXT = 5000  # characters of a tag or a parameter
_SQLITE = "sqlite:///"
# The client's own defaults wait for minutes before they say that a server does not answer, and print the address
# of every run. One that is set stays.
_QUICK = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
          "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}  # fmt: skip


class MLflowTracker(Tracker):
    """One run in MLflow.

    Args:
        place: URI of a server or a database, or a folder; empty: ``MLFLOW_TRACKING_URI``. Runs are filed under
            the experiment ``ldpsim``, or the one that ``MLFLOW_EXPERIMENT_NAME`` names.

    Raises:
        ValueError: without a place.
    """

    module = extra = "mlflow"

    def __init__(self, place: str) -> None:
        super().__init__(_absolute(place or os.environ.get("MLFLOW_TRACKING_URI", "")))
        if not self.place:
            raise ValueError("give a URI or a folder, mlflow:URI, or set MLFLOW_TRACKING_URI")
        self._client: Any = None
        self._run = ""
        self._waiting: list[Any] = []
        self._sent = time.monotonic()

    def _connect(self) -> Any:
        """Return the client; for a folder the person has chosen MLflow's file store, which it would else refuse."""
        if self._client is None:
            for name, value in _QUICK.items():
                os.environ.setdefault(name, value)
            if self.place.startswith("file:"):
                os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
            from mlflow import MlflowClient

            self._client = MlflowClient(tracking_uri=self.place)
        return self._client

    def check(self) -> None:
        """Ask for one experiment.

        Raises:
            ValueError: if the server cannot be reached.
        """
        client = self._connect()
        from mlflow.exceptions import MlflowException

        try:
            client.search_experiments(max_results=1)
        except MlflowException as error:
            if "Max retries exceeded" in str(error):  # several lines about urllib3 follow
                raise ValueError("the server does not answer") from None
            raise

    def start(self, run: TrackedRun) -> None:
        """Create the run in its experiment."""
        from mlflow.entities import Param

        client = self._connect()
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        found = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if found is None else found.experiment_id
        self._run = client.create_run(experiment, run_name=run.name, tags=_short(run.tags)).info.run_id
        parameters = [Param(key, value) for key, value in _short(run.parameters).items()]
        for first in range(0, len(parameters), _MOST_PARAMETERS):
            client.log_batch(self._run, params=parameters[first : first + _MOST_PARAMETERS], synchronous=True)

    def metric(self, name: str, value: float, step: int) -> None:
        """Keep a figure for the next batch."""
        from mlflow.entities import Metric

        self._waiting.append(Metric(name, value, int(time.time() * 1000), step))
        if len(self._waiting) >= _MOST_METRICS or time.monotonic() - self._sent > _PATIENCE:
            self._send()

    def finish(self, figures: Iterable[tuple[str, float]], tags: Mapping[str, str], result: str) -> None:
        """Log the rest, result.json as an artifact, and end the run."""
        for name, value in figures:
            self.metric(name, value, 0)
        self._send()
        for name, text in _short(tags).items():
            self._client.set_tag(self._run, name, text)
        self._client.log_text(self._run, result, RESULT)
        self._client.set_terminated(self._run, "FINISHED")

    def fail(self) -> None:
        """Log the figures that are kept, and end the run as failed."""
        self._send()
        self._client.set_terminated(self._run, "FAILED")

    def _send(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_MOST_METRICS], self._waiting[_MOST_METRICS:]
            self._client.log_batch(self._run, metrics=batch, synchronous=True)
        self._sent = time.monotonic()


def _absolute(place: str) -> str:
    """Return a URI as it is, but with the whole path of a folder or of a file of SQLite."""
    if place.startswith(_SQLITE):
        return _SQLITE + str(Path(place.removeprefix(_SQLITE)).absolute())
    if not place or "://" in place or place.startswith("databricks"):
        return place
    return Path(place.removeprefix("file:")).absolute().as_uri()


def _short(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text[:_MOST_TEXT] for name, text in texts.items()}

"""Clients of the trackers: MLflow, TensorBoard, Weights & Biases, each three callbacks of a run.

``start`` gets its name, options and tags in words, ``metric`` a figure, ``finish`` tags and the text of result.json; a
run without a result ends as failed. ``check`` logs nothing. A client's own errors are made one line by
:mod:`ldpsim.strategies.tracking.error_line`.

A tracker gets options, figures and the text of result.json. It never gets records, reports, edges, a graph, keys, or
the paths and addresses of the person who runs it. The clients' usage telemetry and error reports are switched off
(:data:`devices.NO_TELEMETRY`). The clients are optional (``pip install 'ldpsim[mlflow]'``), imported on first use.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ldpsim.devices.atomic_files import write_atomically

PROJECT = "ldpsim"  # experiment or project that runs are filed under
RESULT = "result.json"
Texts = Mapping[str, str]
# The client's own defaults wait for minutes before they say that a server does not answer, and print the address
# of every run. One that is set stays.
_QUICK = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}  # fmt: skip
_PRIVATE: Mapping[str, Any] = {
    "console": "off", "disable_code": True, "disable_git": True, "disable_job_creation": True, "save_code": False,
    "x_disable_stats": True, "x_disable_meta": True, "x_disable_machine_info": True, "x_save_requirements": False,
    "host": PROJECT, "program": PROJECT, "silent": True, "init_timeout": 30,
}  # fmt: skip


class Tracker(Protocol):
    """One tracker, for one run.

    ``place`` is the text after its name: a URI, a folder, or nothing. ``where`` is that of the begun run, in words.
    """

    place: str
    where: str

    def check(self) -> None: ...
    def start(self, name: str, options: Texts, tags: Texts) -> None: ...
    def metric(self, name: str, value: float, step: int) -> None: ...
    def finish(self, tags: Texts, result: str | None) -> None: ...


class MLflowTracker:
    """A run in MLflow: a server, a database (``sqlite:///runs.db``) or a folder; empty: ``MLFLOW_TRACKING_URI``."""

    most_metrics, most_options, most_text = 1000, 100, 5000  # of one batch, and letters of a text

    def __init__(self, place: str) -> None:
        place = place or os.environ.get("MLFLOW_TRACKING_URI", "")
        if not place:
            raise ValueError("give a URI or a folder, mlflow:URI, or set MLFLOW_TRACKING_URI")
        if place.startswith("sqlite:///"):
            place = f"sqlite:///{Path(place.removeprefix('sqlite:///')).absolute()}"
        elif "://" not in place and not place.startswith("databricks"):
            place = Path(place.removeprefix("file:")).absolute().as_uri()
        self.place, self.where, self._run, self._waiting = place, place, "", list[Any]()

    @property
    def _client(self) -> Any:
        """The client; for a folder the person has chosen MLflow's file store, which it would else refuse."""
        for name, value in _QUICK.items():
            os.environ.setdefault(name, value)
        if self.place.startswith("file:"):
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self.place)

    def check(self) -> None:
        """Ask for one experiment."""
        self._client.search_experiments(max_results=1)

    def start(self, name: str, options: Texts, tags: Texts) -> None:
        """Create the run in the experiment ``ldpsim``, or the one that ``MLFLOW_EXPERIMENT_NAME`` names."""
        client = self._client
        from mlflow.entities import Param

        title = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        experiment = client.get_experiment_by_name(title)
        number = client.create_experiment(title) if experiment is None else experiment.experiment_id
        self._run = client.create_run(number, run_name=name, tags=dict(tags)).info.run_id
        self.where = f"{self.place}, experiment {title}, run {self._run}"
        if self.place.startswith("http"):
            self.where = f"{self.place.rstrip('/')}/#/experiments/{number}/runs/{self._run}"
        params = [Param(key, text[: self.most_text]) for key, text in options.items()]
        for first in range(0, len(params), self.most_options):
            client.log_batch(self._run, params=params[first : first + self.most_options], synchronous=True)

    def metric(self, name: str, value: float, step: int) -> None:
        """Keep a figure for the next batch."""
        from mlflow.entities import Metric

        self._waiting.append(Metric(name, value, int(time.time() * 1000), step))
        if len(self._waiting) >= self.most_metrics:
            self._send()

    def finish(self, tags: Texts, result: str | None) -> None:
        """Log the rest, result.json as an artifact, and end the run."""
        self._send()
        client = self._client
        for name, text in tags.items():
            client.set_tag(self._run, name, text[: self.most_text])
        if result is not None:
            client.log_text(self._run, result, RESULT)
        client.set_terminated(self._run, "FAILED" if result is None else "FINISHED")

    def _send(self) -> None:
        batch, self._waiting = self._waiting, []
        if batch:
            self._client.log_batch(self._run, metrics=batch, synchronous=True)


class TensorBoardTracker:
    """A run in TensorBoard: an event file and result.json in a folder of its own below ``place``."""

    def __init__(self, place: str) -> None:
        if not place:
            raise ValueError("give the folder: tensorboard:DIR")
        self.place = str(Path(place).absolute())
        self._folder, self.where = Path(self.place), self.place
        self._writer: Any = None

    def check(self) -> None:
        """Make the folder, and a file in it that is removed."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._folder / ".writable", b"", durable=False)
        (self._folder / ".writable").unlink()

    def start(self, name: str, options: Texts, tags: Texts) -> None:
        """Open an event file in a new folder, and write options and tags as text."""
        from torch.utils.tensorboard import SummaryWriter

        names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
        self._folder = next(folder for each in names if not (folder := Path(self.place) / each).exists())
        self.where = str(self._folder)
        self._writer = SummaryWriter(self.where)
        self._text("options", options)
        self._text("run", tags)

    def metric(self, name: str, value: float, step: int) -> None:
        """Add a scalar."""
        self._writer.add_scalar(name, value, step)

    def finish(self, tags: Texts, result: str | None) -> None:
        """Write the tags, and result.json beside the event file."""
        self._text("result", tags)
        self._writer.close()
        if result is not None:
            write_atomically(self._folder / RESULT, result)

    def _text(self, name: str, entries: Texts) -> None:
        """Write entries as a table in Markdown, which TensorBoard shows."""
        rows = (f"| {key} | {value.replace('|', '/')} |" for key, value in entries.items())
        self._writer.add_text(name, "\n".join(["| name | value |", "|---|---|", *rows]), 0)


class WandbTracker:
    """A run in Weights & Biases; ``WANDB_MODE=offline`` writes it to a folder.

    ``place`` is ``PROJECT`` or ``ENTITY/PROJECT``; empty: ``WANDB_PROJECT``, else ``ldpsim``. The client gets nothing
    about this machine: no system figures, host, command, code, git, packages or output.
    """

    def __init__(self, place: str) -> None:
        self.place, self.where, self._phases = place, place, set[str]()
        self._run: Any = None

    def check(self) -> None:
        """Check that there is a key for the server; a key is only tried where it is used."""
        import wandb

        if os.environ.get("WANDB_MODE", "online") == "online" and not wandb.login(prompt=False):
            raise ValueError("no API key: `wandb login`, or set WANDB_API_KEY, or WANDB_MODE=offline")

    def start(self, name: str, options: Texts, tags: Texts) -> None:
        """Begin the run; its server has to answer within half a minute."""
        import wandb

        entity, _, project = self.place.rpartition("/")
        self._run = wandb.init(
            project=project or os.environ.get("WANDB_PROJECT", PROJECT), entity=entity or None, name=name,
            config={**options, **{f"run.{key}": text for key, text in tags.items()}}, reinit="create_new",
            settings=wandb.Settings(**_PRIVATE),
        )  # fmt: skip
        self.where = self._run.url or str(Path(self._run.dir).parent)

    def metric(self, name: str, value: float, step: int) -> None:
        """Log a figure; each phase has an axis of its own, and a figure of the result has none."""
        phase = name.rpartition("/")[0]
        if not phase:
            self._run.summary.update({name: value})
            return
        if phase not in self._phases:
            self._phases.add(phase)
            self._run.define_metric(f"{phase}/*", step_metric=f"{phase}/step")
        self._run.log({f"{phase}/step": step, name: value})

    def finish(self, tags: Texts, result: str | None) -> None:
        """Log tags and result.json as an artifact, and end the run."""
        import wandb

        if result is not None:
            self._run.summary.update(dict(tags))
            self._run.notes = tags.get("verdict")
            artifact = wandb.Artifact(f"result-{self._run.id}", "result")
            with artifact.new_file(RESULT) as file:
                file.write(result)
            self._run.log_artifact(artifact)
        self._run.finish(exit_code=int(result is None))


TRACKERS: Mapping[str, Callable[[str], Tracker]] = {
    "mlflow": MLflowTracker, "tensorboard": TensorBoardTracker, "wandb": WandbTracker
}  # fmt: skip

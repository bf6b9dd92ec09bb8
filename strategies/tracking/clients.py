"""Clients of the trackers: MLflow, TensorBoard, Weights & Biases, each three callbacks of a run.

A tracker gets options, figures and the text of result.json. It never gets records, reports, edges, a graph, keys, or
the paths and addresses of the person who runs it. The clients' usage telemetry and error reports are switched off
(:data:`devices.NO_TELEMETRY`). The clients are optional (``pip install 'ldpsim[mlflow]'``), imported on first use.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from ldpsim.devices.atomic_files import write_atomically

PROJECT = "ldpsim"  # experiment or project that runs are filed under
RESULT = "result.json"


@dataclass(frozen=True)
class TrackedRun:
    """A run as a tracker shows it.

    Args:
        name: Name of the run, that of its folder.
        parameters: Options and parameters by dotted name, in words.
        tags: Short texts by name.
    """

    name: str
    parameters: Mapping[str, str] = field(repr=False)
    tags: Mapping[str, str] = field(repr=False)


class Tracker:
    """One tracker, for one run.

    A method may raise the client's own errors. :mod:`ldpsim.strategies.tracking.targets` turns them into one line.

    Args:
        place: Text after the tracker's name on the command line: a URI, a folder, or nothing.
    """

    module: ClassVar[str]  # the client, and the extra of ldpsim that installs it

    def __init__(self, place: str) -> None:
        self.place = place

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether the client can be imported."""
        return find_spec(cls.module) is not None

    def check(self) -> None:
        """Check that runs can be logged there; nothing is logged."""
        raise NotImplementedError

    def start(self, run: TrackedRun) -> None:
        """Begin the run, with its parameters and tags."""
        raise NotImplementedError

    def metric(self, name: str, value: float, step: int) -> None:
        """Log a figure; it may be sent later, together with others."""
        raise NotImplementedError

    def finish(self, tags: Mapping[str, str], result: str | None) -> None:
        """Log tags and the text of result.json, and end the run; without a result it ends as failed."""
        raise NotImplementedError


class MLflowTracker(Tracker):
    """One run in MLflow: a server, a database (``sqlite:///runs.db``) or a folder.

    Args:
        place: Its URI, or a folder; empty: ``MLFLOW_TRACKING_URI``. Runs are filed under the experiment ``ldpsim``, or
            the one that ``MLFLOW_EXPERIMENT_NAME`` names.

    Raises:
        ValueError: without a place.
    """

    module = "mlflow"
    # The client's own defaults wait for minutes before they say that a server does not answer, and print the address
    # of every run. One that is set stays.
    quick: ClassVar[Mapping[str, str]] = {
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
        "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    }  # fmt: skip
    most_metrics, most_parameters, most_text = 1000, 100, 5000  # of one batch, and letters of a text

    def __init__(self, place: str) -> None:
        place = place or os.environ.get("MLFLOW_TRACKING_URI", "")
        if not place:
            raise ValueError("give a URI or a folder, mlflow:URI, or set MLFLOW_TRACKING_URI")
        if place.startswith("sqlite:///"):
            place = f"sqlite:///{Path(place.removeprefix('sqlite:///')).absolute()}"
        elif "://" not in place and not place.startswith("databricks"):
            place = Path(place.removeprefix("file:")).absolute().as_uri()
        super().__init__(place)
        self._run = ""
        self._waiting: list[Any] = []

    @property
    def _client(self) -> Any:
        """The client; for a folder the person has chosen MLflow's file store, which it would else refuse."""
        for name, value in self.quick.items():
            os.environ.setdefault(name, value)
        if self.place.startswith("file:"):
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self.place)

    def check(self) -> None:
        """Ask for one experiment.

        Raises:
            ValueError: if the server cannot be reached.
        """
        client = self._client
        from mlflow.exceptions import MlflowException

        try:
            client.search_experiments(max_results=1)
        except MlflowException as error:
            if "Max retries exceeded" in str(error):  # several lines about urllib3 follow
                raise ValueError("the server does not answer") from None
            raise

    def start(self, run: TrackedRun) -> None:
        """Create the run in its experiment."""
        client = self._client
        from mlflow.entities import Param

        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        found = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if found is None else found.experiment_id
        self._run = client.create_run(experiment, run_name=run.name, tags=dict(run.tags)).info.run_id
        parameters = [Param(key, value[: self.most_text]) for key, value in run.parameters.items()]
        for first in range(0, len(parameters), self.most_parameters):
            client.log_batch(self._run, params=parameters[first : first + self.most_parameters], synchronous=True)

    def metric(self, name: str, value: float, step: int) -> None:
        """Keep a figure for the next batch."""
        from mlflow.entities import Metric

        self._waiting.append(Metric(name, value, int(time.time() * 1000), step))
        if len(self._waiting) >= self.most_metrics:
            self._send()

    def finish(self, tags: Mapping[str, str], result: str | None) -> None:
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


class TensorBoardTracker(Tracker):
    """One run in TensorBoard: an event file in a folder of its own below ``place``, beside result.json.

    Args:
        place: The folder that ``tensorboard --logdir`` gets.

    Raises:
        ValueError: without a folder.
    """

    module = "tensorboard"

    def __init__(self, place: str) -> None:
        if not place:
            raise ValueError("give the folder: tensorboard:DIR")
        super().__init__(str(Path(place).absolute()))
        self._writer: Any = None
        self._folder = Path(self.place)

    def check(self) -> None:
        """Make the folder, and a file in it that is removed."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._folder / ".writable", b"", durable=False)
        (self._folder / ".writable").unlink()

    def start(self, run: TrackedRun) -> None:
        """Open an event file in a new folder, and write options and tags as text."""
        from torch.utils.tensorboard import SummaryWriter

        names = itertools.chain([run.name], (f"{run.name}-{number}" for number in itertools.count(2)))
        self._folder = next(folder for name in names if not (folder := Path(self.place) / name).exists())
        made: Any = SummaryWriter  # untyped in torch
        self._writer = made(str(self._folder))
        self._text("options", run.parameters)
        self._text("run", run.tags)

    def metric(self, name: str, value: float, step: int) -> None:
        """Add a scalar."""
        self._writer.add_scalar(name, value, step)

    def finish(self, tags: Mapping[str, str], result: str | None) -> None:
        """Write the tags, and result.json beside the event file."""
        self._text("result", tags)
        self._writer.close()
        if result is not None:
            write_atomically(self._folder / RESULT, result)

    def _text(self, name: str, entries: Mapping[str, str]) -> None:
        """Write entries as a table in Markdown, which TensorBoard shows."""
        rows = (f"| {key} | {value.replace('|', '/')} |" for key, value in entries.items())
        self._writer.add_text(name, "\n".join(["| name | value |", "|---|---|", *rows]), 0)


class WandbTracker(Tracker):
    """One run in Weights & Biases; ``WANDB_MODE=offline`` writes it to a folder.

    The client gets nothing about this machine: no system figures, host, command, code, git, packages or output.

    Args:
        place: The project, ``PROJECT`` or ``ENTITY/PROJECT``; empty: ``WANDB_PROJECT``, else ``ldpsim``.
    """

    module = "wandb"
    seconds = 30  # of waiting for the server
    private: ClassVar[Mapping[str, Any]] = {
        "console": "off", "disable_code": True, "disable_git": True, "disable_job_creation": True, "save_code": False,
        "x_disable_stats": True, "x_disable_meta": True, "x_disable_machine_info": True, "x_save_requirements": False,
        "host": PROJECT, "program": PROJECT, "silent": True,
    }  # fmt: skip

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self._run: Any = None
        self._phases: set[str] = set()

    def check(self) -> None:
        """Check that there is a key for the server; a key is only tried where it is used.

        Raises:
            ValueError: without a key.
        """
        import wandb

        if os.environ.get("WANDB_MODE", "online") == "online" and not wandb.login(prompt=False):
            raise ValueError("no API key: `wandb login`, or set WANDB_API_KEY, or WANDB_MODE=offline")

    def start(self, run: TrackedRun) -> None:
        """Begin the run; its server has to answer within half a minute."""
        import wandb

        entity, _, project = self.place.rpartition("/")
        self._run = wandb.init(
            project=project or os.environ.get("WANDB_PROJECT", PROJECT), entity=entity or None, name=run.name,
            config={**run.parameters, **{f"run.{name}": text for name, text in run.tags.items()}},
            reinit="create_new", settings=wandb.Settings(**self.private, init_timeout=self.seconds),
        )  # fmt: skip

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

    def finish(self, tags: Mapping[str, str], result: str | None) -> None:
        """Log the tags and result.json as an artifact, and end the run."""
        import wandb

        if result is not None:
            self._run.summary.update(dict(tags))
            self._run.notes = tags.get("verdict")
            artifact = wandb.Artifact(f"result-{self._run.id}", "result")
            with artifact.new_file(RESULT) as file:
                file.write(result)
            self._run.log_artifact(artifact)
        self._run.finish(exit_code=int(result is None))


TRACKERS: Mapping[str, type[Tracker]] = {
    "mlflow": MLflowTracker, "tensorboard": TensorBoardTracker, "wandb": WandbTracker
}  # fmt: skip

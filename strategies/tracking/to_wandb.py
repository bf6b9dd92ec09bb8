"""Runs in Weights & Biases, through ``wandb.init``; ``WANDB_MODE=offline`` writes them to a folder.

The client gets nothing about this machine: no system figures, host, command, code, git, installed packages or
output. Its error reports are switched off (:data:`devices.NO_TELEMETRY`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ldpsim.strategies.tracking.tracker import PROJECT, RESULT, TrackedRun, Tracker

_SECONDS = 30  # of waiting for the server
_PRIVATE: Mapping[str, Any] = {
    "console": "off", "disable_code": True, "disable_git": True, "disable_job_creation": True, "save_code": False,
    "x_disable_stats": True, "x_disable_meta": True, "x_disable_machine_info": True, "x_save_requirements": False,
    "host": PROJECT, "program": PROJECT, "silent": True,
}  # fmt: skip


class WandbTracker(Tracker):
    """One run in Weights & Biases.

    Args:
        place: The project, ``PROJECT`` or ``ENTITY/PROJECT``; empty: ``WANDB_PROJECT``, else ``ldpsim``.
    """

    module = extra = "wandb"

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self._run: Any = None
        self._together: dict[str, float] = {}
        self._at: tuple[str, int] | None = None
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
            reinit="create_new", settings=wandb.Settings(**_PRIVATE, init_timeout=_SECONDS),
        )  # fmt: skip

    def metric(self, name: str, value: float, step: int) -> None:
        """Log a figure, with the others of its phase and step; each phase has an axis of its own."""
        phase = name.rpartition("/")[0]
        if (phase, step) != self._at:
            self._send()
            self._at = (phase, step)
            self._together = {f"{phase}/step": step}
        self._together[name] = value

    def finish(self, figures: Iterable[tuple[str, float]], tags: Mapping[str, str], result: str) -> None:
        """Log the rest, result.json as an artifact, and end the run."""
        import wandb

        self._send()
        self._run.summary.update({**dict(figures), **tags})
        self._run.notes = tags.get("verdict")
        artifact = wandb.Artifact(f"result-{self._run.id}", "result")
        with artifact.new_file(RESULT) as file:
            file.write(result)
        self._run.log_artifact(artifact)
        self._run.finish()

    def fail(self) -> None:
        """End the run as failed."""
        self._send()
        self._run.finish(exit_code=1)

    def _send(self) -> None:
        if self._together:
            phase = self._at[0] if self._at is not None else ""
            if phase not in self._phases:
                self._phases.add(phase)
                self._run.define_metric(f"{phase}/*", step_metric=f"{phase}/step")
            self._run.log(self._together)
            self._together = {}

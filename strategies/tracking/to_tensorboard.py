"""Runs in TensorBoard: an event file, written by ``torch.utils.tensorboard``. Nothing is sent anywhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.tracking.tracker import RESULT, TrackedRun, Tracker

_HEADLINE = "accuracy.test"  # figure beside the options in TensorBoard's table


class TensorBoardTracker(Tracker):
    """One run in TensorBoard: a folder of its own below ``place``, with result.json beside the event file.

    Args:
        place: The folder that ``tensorboard --logdir`` gets.

    Raises:
        ValueError: without a folder.
    """

    module = extra = "tensorboard"

    def __init__(self, place: str) -> None:
        super().__init__(str(Path(place).absolute()))
        if not place:
            raise ValueError("give the folder: tensorboard:DIR")
        self._writer: Any = None
        self._folder = Path(self.place)
        self._parameters: Mapping[str, str] = {}

    def check(self) -> None:
        """Make the folder, and a file in it that is removed."""
        home = Path(self.place)
        home.mkdir(parents=True, exist_ok=True)
        write_atomically(home / ".writable", b"", durable=False)
        (home / ".writable").unlink()

    def start(self, run: TrackedRun) -> None:
        """Open an event file in a new folder, and write options and tags as text."""
        names = itertools.chain([run.name], (f"{run.name}-{number}" for number in itertools.count(2)))
        self._folder = next(Path(self.place) / name for name in names if not (Path(self.place) / name).exists())
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(self._folder))
        self._parameters = run.parameters
        self._text("options", run.parameters)
        self._text("run", run.tags)

    def metric(self, name: str, value: float, step: int) -> None:
        """Add a scalar."""
        self._writer.add_scalar(name, value, step)

    def finish(self, figures: Iterable[tuple[str, float]], tags: Mapping[str, str], result: str) -> None:
        """Write the rest, and result.json beside the event file."""
        from torch.utils.tensorboard.summary import hparams

        found = dict(figures)
        for name, value in found.items():
            self.metric(name, value, 0)
        made: Any = hparams  # untyped in torch
        for summary in made(dict(self._parameters), {_HEADLINE: found.get(_HEADLINE)}):
            self._writer.file_writer.add_summary(summary)
        self._text("result", tags)
        self._writer.close()
        write_atomically(self._folder / RESULT, result)

    def fail(self) -> None:
        """Close the event file."""
        self._writer.close()

    def _text(self, name: str, entries: Mapping[str, str]) -> None:
        """Write entries as a table in Markdown, which TensorBoard shows."""
        rows = (f"| {key} | {value.replace('|', '/')} |" for key, value in entries.items())
        self._writer.add_text(name, "\n".join(["| name | value |", "|---|---|", *rows]), 0)

"""Figures of a run while it goes on: to the caller's ``on_metric`` and to the trackers.

=================  =====================================================  =======================================
phase              names                                                  step
=================  =====================================================  =======================================
``train``          ``train_accuracy``, ``train_loss``, ``val_accuracy``,  epoch, from 1
                   ``val_loss``
``rounds``         ``val_accuracy``                                       round, from 1, where devices evaluate
``repeat``         ``test``, ``val``, ``macro_f1``                        repeat, from 0
``result``         those of :func:`ldpsim.strategies.results.rows.figures`       0
=================  =====================================================  =======================================

Later repeats train in the phases ``train-1``, ``train-2``, ... The labels of an epoch's figures are those that the
curator has, reported ones under noise included; losses are the mean cross-entropy, without dropout. In rounds the
curator hears no loss and no training accuracy: each would be one more release of a device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsim.curator.observer import Observer
from ldpsim.strategies.progress import OnMetric, tell, warn
from ldpsim.strategies.results.folder import text_of
from ldpsim.strategies.results.rows import figures
from ldpsim.strategies.tracking.clients import Tracker
from ldpsim.strategies.tracking.error_line import error_line, without_password
from ldpsim.strategies.tracking.run_tags import tags_of, without_places


class CallbackFailed(Exception):
    """Error of the caller's ``on_metric``, in one line."""


class Metrics:
    """Figures of a run for whoever wants them. A tracker that fails is warned about once and left alone.

    Args:
        on_metric: Called with name, value, step and phase; None: nobody wants them.
        trackers: Tracker by its text on the command line.
    """

    def __init__(self, on_metric: OnMetric | None, trackers: dict[str, Tracker]) -> None:
        self._on_metric, self._trackers = on_metric, trackers

    def observer(self, phase: str, repeat: int) -> Observer | None:
        """Return what watches the training of a repeat; None if nobody wants figures."""
        if self._on_metric is None and not self._trackers:
            return None
        phase = phase if repeat == 0 else f"{phase}-{repeat}"
        return lambda name, value, step: self.tell(name, value, step, phase)

    def repeat(self, number: int, accuracy: Mapping[str, float | None]) -> None:
        """Tell the accuracy of a repeat."""
        for name, value in accuracy.items():
            if value is not None:
                self.tell(name, float(value), number, "repeat")

    def finish(self, record: Mapping[str, Any]) -> None:
        """Tell the final figures and end the run."""
        final = figures(record)
        for name, value in final:
            self._each("metric", name, value, 0)
        self._each("finish", tags_of(record), text_of(without_places(record)))
        for tracker in self._trackers.values():  # those that did not fail
            tell(f"tracked: {without_password(tracker.where)}")
        for name, value in final:
            self._call(name, value, 0, "result")

    def fail(self) -> None:
        """End the run as failed."""
        self._each("finish", {}, None)

    def tell(self, name: str, value: float, step: int, phase: str) -> None:
        """Tell one figure; CallbackFailed if ``on_metric`` raised an error."""
        self._each("metric", f"{phase}/{name}", value, step)
        self._call(name, value, step, phase)

    def _call(self, *figure: Any) -> None:
        try:
            if self._on_metric is not None:
                self._on_metric(*figure)
        except Exception as error:
            raise CallbackFailed(f"on_metric: {type(error).__name__}: {' '.join(str(error).split())}") from error

    def _each(self, name: str, *values: Any) -> None:
        for text, tracker in list(self._trackers.items()):
            try:
                getattr(tracker, name)(*values)
            except Exception as error:
                del self._trackers[text]
                warn(f"--track {without_password(text)}: {error_line(error)}; the run goes on without it")

"""Figures of a run while it goes on: to the caller's ``on_metric`` and to the trackers.

=================  =====================================================  =======================================
phase              names                                                  step
=================  =====================================================  =======================================
``train``          ``train_accuracy``, ``train_loss``, ``val_accuracy``,  epoch, from 1
                   ``val_loss``
``rounds``         ``val_accuracy``                                       round, from 1, where devices evaluate
``repeat``         ``test``, ``val``, ``macro_f1``                        repeat, from 0
``result``         those of :func:`ldpsim.strategies.results.figures.figures`    0
=================  =====================================================  =======================================

Later repeats train in the phases ``train-1``, ``train-2``, ... The labels of an epoch's figures are those that the
curator has, reported ones under noise included; losses are the mean cross-entropy, without dropout. In rounds the
curator hears no loss and no training accuracy: each would be one more release of a device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsim.curator.observer import Observer
from ldpsim.strategies.progress import OnMetric
from ldpsim.strategies.results.figures import figures
from ldpsim.strategies.tracking.targets import Trackers


class CallbackFailed(Exception):
    """Error of the caller's ``on_metric``, in one line."""


class Metrics:
    """Figures of a run for whoever wants them.

    Args:
        on_metric: Called with name, value, step and phase; None: nobody wants them.
        trackers: The trackers of the run.
    """

    def __init__(self, on_metric: OnMetric | None, trackers: Trackers) -> None:
        self._on_metric, self._trackers = on_metric, trackers

    def observer(self, phase: str, repeat: int) -> Observer | None:
        """Return what watches the training of a repeat; None if nobody wants figures."""
        if self._on_metric is None and not self._trackers:
            return None
        name_of_phase = phase if repeat == 0 else f"{phase}-{repeat}"
        return lambda name, value, step: self.tell(name, value, step, name_of_phase)

    def repeat(self, number: int, accuracy: Mapping[str, float | None]) -> None:
        """Tell the accuracy of a repeat."""
        for name, value in accuracy.items():
            if value is not None:
                self.tell(name, float(value), number, "repeat")

    def result(self, record: Mapping[str, Any]) -> None:
        """Tell the final figures to ``on_metric``; the trackers get them with the result."""
        for name, value in figures(record):
            self._call(name, value, 0, "result")

    def tell(self, name: str, value: float, step: int, phase: str) -> None:
        """Tell one figure.

        Raises:
            CallbackFailed: if ``on_metric`` raised an error.
        """
        self._trackers.metric(f"{phase}/{name}", value, step)
        self._call(name, value, step, phase)

    def _call(self, name: str, value: float, step: int, phase: str) -> None:
        if self._on_metric is None:
            return
        try:
            self._on_metric(name, value, step, phase)
        except Exception as error:
            raise CallbackFailed(f"on_metric: {type(error).__name__}: {' '.join(str(error).split())}") from error

"""Name, parameters and tags of a run for the trackers.

Figures of a run while it goes on: to the caller's ``on_metric`` and to the trackers.

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

Trackers named on the command line (``--track mlflow:URI``): checked before anybody is asked, guarded afterwards.

A missing client or an unreachable server is one line before the run. A tracker that fails later gets a warning and is
left alone: the run goes on, and its result is kept.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

from ldpsim.curator.names import nearest
from ldpsim.curator.observer import Observer
from ldpsim.strategies.progress import OnMetric, tell, warn
from ldpsim.strategies.results.folder import name_of, name_of_data, text_of
from ldpsim.strategies.results.rows import figures
from ldpsim.strategies.results.verdict import shown_verdict
from ldpsim.strategies.setup.fingerprint import ldpsim_version
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import Setup
from ldpsim.strategies.tracking.clients import TRACKERS, Texts, Tracker


def texts_of(setup: Setup) -> tuple[str, Texts, Texts]:
    """Return name, options and tags of a run, before anybody is asked.

    Personal options (folders, files, addresses, engine) are left out. A data set is named, without its path.
    """
    options, people = setup.options, setup.population
    data = name_of_data(people.name)
    values = {name: getattr(options, name) for name, spec in declared(RunOptions).items() if not spec.local}
    values |= {"dataset": data, "nodes": len(people), "parameters": setup.settings.parameters(),
               "budget": asdict(setup.budget)}  # fmt: skip
    tags = {"ldpsim_version": ldpsim_version(), "method": options.method, "dataset": data,
            "trust": setup.method.spec.trust, "config_hash": setup.digest}  # fmt: skip
    name = name_of(method=options.method, dataset=people.name, digest=setup.digest, seed=options.seed)
    return name, dotted(values), tags


def tags_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the verdict's text, the status of each level of privacy, and the digest of the reports."""
    verdict = shown_verdict(record)
    return {
        **({} if verdict is None else {"verdict": verdict["text"], "standing": verdict["standing"]}),
        **{f"holds.{level}": entry["status"] for level, entry in record["privacy"]["holds"].items()},
        "reports_sha256": record["devices"]["reports_sha256"],
    }


def without_places(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return result.json's content without the folders, files and addresses of the person who ran it."""
    config = {**record["config"], "dataset": name_of_data(record["config"]["dataset"])}
    config |= {name: None for name, spec in declared(RunOptions).items() if spec.is_path and name in config}
    return {**record, "config": config, "dataset": {**record["dataset"], "name": config["dataset"]}}


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the entries of nested mappings as text, by dotted name.

    >>> dotted({"seed": 0, "settings": {"lr": 0.1}})
    {'seed': '0', 'settings.lr': '0.1'}
    """
    flat: dict[str, str] = {}
    for name, value in values.items():
        flat |= dotted(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": str(value)}
    return flat


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
                warn(f"--track {without_password(text)}: {reason(error)}; the run goes on without it")


def tracker_of(text: str) -> Tracker:
    """Return the tracker that a text names; nothing is contacted. ValueError, one line, where it cannot be."""
    kind, _, place = text.partition(":")
    with _one_line(text):
        if kind not in TRACKERS:
            raise ValueError(f"{kind} is no tracker{nearest(kind, TRACKERS)} (known: {', '.join(TRACKERS)})")
        if find_spec(kind) is None:
            raise ValueError(f"{kind} is not installed: pip install 'ldpsim[{kind}]'")
        return TRACKERS[kind](place)


def check_targets(texts: Sequence[str]) -> tuple[str, ...]:
    """Check that runs can be logged to all trackers; nothing is logged.

    Returns:
        The texts with absolute paths: a worker may have another folder.

    Raises:
        ValueError: as :func:`tracker_of`, or one line for a place that does not answer or cannot be written.
    """
    trackers = {text: tracker_of(text) for text in texts}
    for text, tracker in trackers.items():
        with _one_line(text):
            tracker.check()
    return tuple(f"{text.partition(':')[0]}:{tracker.place}" for text, tracker in trackers.items())


@contextmanager
def tracked(texts: Sequence[str], setup: Setup, on_metric: OnMetric | None) -> Iterator[Metrics]:
    """Begin a run on all trackers, which were checked; if the block ends with an error, the run fails there.

    Raises:
        ValueError: one line for a tracker on which it cannot begin.
    """
    trackers: dict[str, Tracker] = {}
    metrics = Metrics(on_metric, trackers)
    try:
        for text in texts:
            tracker = tracker_of(text)
            with _one_line(text):
                tracker.start(*texts_of(setup))
            trackers[text] = tracker
        yield metrics
    except BaseException:
        metrics.fail()
        raise


def without_password(text: str) -> str:
    """Return a target without the name and password that a URI may carry.

    >>> without_password("mlflow:https://me:secret@example.org/x")
    'mlflow:https://...@example.org/x'
    """
    return re.sub(r"//[^/@]*@", "//...@", text)


def reason(error: Exception) -> str:
    """Return an error of a client as one short line, without passwords."""
    line = without_password(" ".join(str(error).split())) or type(error).__name__
    if "Max retries exceeded" in line:  # MLflow's, with several lines about urllib3
        return "the server does not answer"
    return line if len(line) <= 200 else f"{line[:200].rstrip()} ..."


@contextmanager
def _one_line(text: str) -> Iterator[None]:
    """Turn the errors of a client into one line."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except Exception as error:
        raise ValueError(f"--track {without_password(text)}: {reason(error)}") from None

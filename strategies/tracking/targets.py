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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ldpsim.curator.names import nearest
from ldpsim.curator.observer import Observer
from ldpsim.strategies.progress import OnMetric, warn
from ldpsim.strategies.results.folder import name_of, name_of_data
from ldpsim.strategies.results.rows import figures
from ldpsim.strategies.results.verdict import shown_verdict
from ldpsim.strategies.setup.fingerprint import ldpsim_version
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import RunSetup
from ldpsim.strategies.tracking.clients import TRACKERS, TrackedRun, Tracker


def tracked_run(setup: RunSetup) -> TrackedRun:
    """Return a run as trackers show it, before anybody is asked.

    Personal options (folders, files, addresses, engine) are left out. A data set is named, without its path.
    """
    options, people = setup.options, setup.population
    data = name_of_data(people.name)
    given = {name: getattr(options, name) for name, spec in declared(type(options)).items() if not spec.personal}
    parameters = {
        **given,
        "dataset": data,
        "nodes": len(people),
        "parameters": setup.settings.parameters(),
        "budget": asdict(setup.budget),
    }
    tags = {"ldpsim_version": ldpsim_version(), "method": options.method, "dataset": data,
            "trust": setup.method.spec.trust, "config_hash": setup.digest}  # fmt: skip
    name = name_of(method=options.method, dataset=people.name, digest=setup.digest, seed=options.seed)
    return TrackedRun(name, dotted(parameters), tags)


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
    hidden = {name for name, spec in declared(RunOptions).items() if Path in spec.types or name == "ray_address"}
    config: dict[str, Any] = {name: None if name in hidden else value for name, value in record["config"].items()}
    config["dataset"] = name_of_data(config["dataset"])
    data = {**record["dataset"], "name": name_of_data(record["dataset"]["name"])}
    return {**record, "config": config, "dataset": data}


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the entries of nested mappings as text, by dotted name.

    >>> dotted({"seed": 0, "settings": {"lr": 0.1}})
    {'seed': '0', 'settings.lr': '0.1'}
    """
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= dotted(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = str(value)
    return found


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


class TargetError(ValueError):
    """A target that is refused, in one line without its password."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(text, why)

    def __str__(self) -> str:
        text, why = self.args
        return f"--track {without_password(text)}: {why}"


def tracker_of(text: str) -> Tracker:
    """Return the tracker that a text names; nothing is imported or contacted.

    Raises:
        ValueError: one line: an unknown tracker, a place that is missing, or a client that is not installed.
    """
    kind, _, place = text.partition(":")
    if kind not in TRACKERS:
        raise TargetError(text, f"{kind} is no tracker{nearest(kind, TRACKERS)} (known: {', '.join(TRACKERS)})")
    client = TRACKERS[kind]
    if not client.is_installed():
        raise TargetError(text, f"{client.module} is not installed: pip install 'ldpsim[{kind}]'")
    try:
        return client(place)
    except ValueError as error:
        raise TargetError(text, str(error)) from None


def check_targets(texts: Sequence[str]) -> tuple[str, ...]:
    """Check that runs can be logged to all of them; nothing is logged.

    Returns:
        The texts with absolute paths: a worker may have another folder.

    Raises:
        ValueError: as :func:`tracker_of`, or one line for a place that does not answer or cannot be written.
    """
    found = []
    for text in texts:
        with _one_line(text):
            tracker = tracker_of(text)
            tracker.check()
            found.append(f"{text.partition(':')[0]}:{tracker.place}")
    return tuple(found)


@contextmanager
def tracked(texts: Sequence[str], run: Callable[[], TrackedRun]) -> Iterator[Trackers]:
    """Begin a run on all trackers, which were checked; if the block ends with an error, the run fails there.

    Raises:
        ValueError: one line for a tracker on which it cannot begin.
    """
    made = {text: tracker_of(text) for text in texts}
    begun: dict[str, Tracker] = {}
    trackers = Trackers(begun)
    try:
        for text, tracker in made.items():
            with _one_line(text):
                tracker.start(run())
            begun[text] = tracker
        yield trackers
    except BaseException:
        trackers.each("finish", {}, None)
        raise


class Trackers:
    """Trackers of one run. One that fails is warned about once and left alone.

    Args:
        begun: Tracker by its text on the command line.
    """

    def __init__(self, begun: dict[str, Tracker]) -> None:
        self._begun = begun

    def __bool__(self) -> bool:
        return bool(self._begun)

    def metric(self, name: str, value: float, step: int) -> None:
        """Log a figure."""
        self.each("metric", name, value, step)

    def finish(self, figures: Iterable[tuple[str, float]], tags: Mapping[str, str], result: str) -> None:
        """Log the result, and end the run."""
        for name, value in figures:
            self.metric(name, value, 0)
        self.each("finish", tags, result)

    def each(self, name: str, *given: Any) -> None:
        """Call a method of every tracker."""
        for text, tracker in list(self._begun.items()):
            try:
                getattr(tracker, name)(*given)
            except Exception as error:
                del self._begun[text]
                warn(f"--track {without_password(text)}: {reason(error)}; the run goes on without it")


def without_password(text: str) -> str:
    """Return a target without the name and password that a URI may carry.

    >>> without_password("mlflow:https://me:secret@example.org/x")
    'mlflow:https://...@example.org/x'
    """
    return re.sub(r"//[^/@]*@", "//...@", text)


def reason(error: Exception) -> str:
    """Return an error of a client as one short line, without passwords."""
    line = without_password(" ".join(str(error).split())) or type(error).__name__
    return line if len(line) <= 200 else f"{line[:200].rstrip()} ..."


@contextmanager
def _one_line(text: str) -> Iterator[None]:
    """Turn the errors of a client into one line."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except Exception as error:
        raise error if isinstance(error, TargetError) else TargetError(text, reason(error)) from None

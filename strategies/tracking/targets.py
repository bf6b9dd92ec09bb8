"""Trackers named on the command line (``--track mlflow:URI``): checked before anybody is asked, guarded afterwards.

A missing client or an unreachable server is one line before the run. A tracker that fails later gets a warning and is
left alone: the run goes on, and its result is kept.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from ldpsim.curator.names import nearest
from ldpsim.strategies.progress import OnMetric
from ldpsim.strategies.setup.run_setup import Setup
from ldpsim.strategies.tracking.clients import TRACKERS, Tracker
from ldpsim.strategies.tracking.error_line import error_line, without_password
from ldpsim.strategies.tracking.metrics import Metrics
from ldpsim.strategies.tracking.run_tags import texts_of


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


@contextmanager
def _one_line(text: str) -> Iterator[None]:
    """Turn the errors of a client into one line."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except Exception as error:
        raise ValueError(f"--track {without_password(text)}: {error_line(error)}") from None

"""Trackers named on the command line (``--track mlflow:URI``): checked before anybody is asked, guarded afterwards.

A missing client or an unreachable server is one line before the run. A tracker that fails later gets a warning and is
left alone: the run goes on, and its result is kept.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ldpsim.curator.names import nearest
from ldpsim.strategies.progress import warn
from ldpsim.strategies.tracking.clients import TRACKERS, TrackedRun, Tracker


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

"""Base of the trackers, and what all of them log.

A tracker gets options, figures and the text of result.json. It never gets records, reports, edges, a graph,
keys, or the paths and addresses of the person who runs it: options that are personal stay here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, ClassVar

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

    module: ClassVar[str]  # the client
    extra: ClassVar[str]  # extra of ldpsim that installs it

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

    def finish(self, figures: Iterable[tuple[str, float]], tags: Mapping[str, str], result: str) -> None:
        """Log final figures, tags and the text of result.json, and end the run."""
        raise NotImplementedError

    def fail(self) -> None:
        """End the run as one without a result."""
        raise NotImplementedError


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

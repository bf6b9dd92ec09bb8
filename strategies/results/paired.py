"""Differences between methods that read the same reports, paired by repeat and by test person.

The folder of a run that shares its reports has ``same-reports.npz``: the collection's name, and for each
repeat the test people whose class was right. Nothing in it is new to somebody who has the people's data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from devices.array_types import checked_array
from strategies.results.averages import Interval, gain
from strategies.results.outcome import Score

FILE = "same-reports.npz"


@dataclass(frozen=True, eq=False)
class SharedScores:
    """Scores of a run on the reports of a shared collection.

    Args:
        collection: Name of the collection.
        scores: One a repeat.
    """

    collection: str
    scores: Sequence[Score]


def write_scores(folder: Path, shared: SharedScores) -> None:
    """Write the scores into a run's folder."""
    right = {f"right_{number}": score.right for number, score in enumerate(shared.scores) if score.right is not None}
    np.savez_compressed(folder / FILE, allow_pickle=False, collection=np.array(shared.collection), **right)


def read_scores(folder: Path) -> SharedScores | None:
    """Return the scores of a run; None if it did not share its reports."""
    if not (folder / FILE).is_file():
        return None
    with np.load(folder / FILE, allow_pickle=False) as found:
        names = [f"right_{number}" for number in range(len(found.files) - 1)]
        people = [checked_array(name, found[name], "bf", (None,)) for name in names]
        scores = [Score(float(np.mean(right)) if len(right) else None, right) for right in people]
        return SharedScores(str(found["collection"]), scores)


def paired_gain(model: SharedScores, other: SharedScores) -> Interval | None:
    """Return how much better a model is than another one on the same reports; None without an interval.

    Raises:
        ValueError: for scores on two collections.
    """
    if model.collection != other.collection:
        raise ValueError(f"scores on two collections, {model.collection} and {other.collection}")
    return gain(model.scores, other.scores)

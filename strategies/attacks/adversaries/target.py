"""Target of an attack: enrolled devices, and the ways to reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ldpsim.devices.collector import CollectorKey, SignedTerms
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.query import Query
from ldpsim.strategies.engines.collect import quiet_flower
from ldpsim.strategies.engines.grids import DirectGrid, LocalGrid


@dataclass(frozen=True, eq=False)
class Target:
    """Enrolled devices as a curator sees them, with more rights for a stress test.

    Args:
        query: The honest question, for which the devices are enrolled.
        facts: The public facts.
        devices: Number of devices.
        connect: Makes the Grid of a new run. It is sent to other processes, so it must be
            picklable: ``functools.partial(LocalGrid, folder, devices)``.
        folder: The state folder, for attacks that need several SuperNodes or changed data.
        collector: The key that the devices pin; the curator who attacks is this collector, with
            the exception of questions that it sends unsigned.
    """

    query: Query
    facts: PublicFacts
    devices: int
    connect: Callable[[], DirectGrid]
    folder: Path | None = None
    collector: CollectorKey | None = None

    @classmethod
    def of(cls, folder: Path, query: Query, collector: CollectorKey | None = None) -> Target:
        """Return the devices of a state folder, reached through the local Grid.

        Raises:
            ValueError: if the folder has no devices.
        """
        state = State(folder)
        return cls(query, state.policy.facts, len(state), partial(LocalGrid, folder, len(state)), folder, collector)

    @contextmanager
    def run(self) -> Iterator[DirectGrid]:
        """Open a run with a new Grid; nothing of earlier runs is in memory."""
        with quiet_flower(), closing(self.connect()) as grid:
            yield grid

    def terms_for(self, query: Query) -> SignedTerms | None:
        """Return the terms that the devices' collector signs for a question to everybody; None without a key."""
        return None if self.collector is None else self.collector.sign(terms_of([(query, None)], self.devices))

    @property
    def home(self) -> Path:
        """The state folder; ValueError if the devices are elsewhere."""
        if self.folder is None:
            raise ValueError("this attack needs the devices' state folder")
        return self.folder

    def change_data(self) -> None:
        """Change everybody's data: another label, one feature and one neighbour less."""
        folder = self.home / "population"
        old = Population.load(folder)
        features = np.setdiff1d(np.arange(len(old.feature_indices)), old.feature_indptr[:-1])
        neighbours = np.setdiff1d(np.arange(len(old.neighbour_indices)), old.neighbour_indptr[:-1])
        changed = {
            "feature_indptr": _without_first(old.feature_indptr),
            "feature_indices": old.feature_indices[features],
            "feature_values": old.feature_values[features],
            "neighbour_indptr": _without_first(old.neighbour_indptr),
            "neighbour_indices": old.neighbour_indices[neighbours],
            "labels": np.where(old.labels < 0, old.labels, (old.labels + 1) % max(1, self.facts.classes)),
        }
        for name, array in changed.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)


def _without_first(indptr: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.maximum(np.diff(indptr) - 1, 0))])

"""Division of the scored people into groups, from the truth of a simulation.

Nobody uses the label of a scored person. A person is therefore not grouped by an own label that is known, but by
whether a neighbour has one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import Split

EVERYBODY, CLASS, DEGREE, LABELLED_NEIGHBOUR = "everybody", "class", "degree", "labelled_neighbour"


KINDS = (CLASS, DEGREE, LABELLED_NEIGHBOUR)


_DEGREES = ((0, "0"), (1, "1-2"), (3, "3-5"), (6, "6+"))  # the smallest degree of each group, and its name


@dataclass(frozen=True, eq=False)
class PeopleGroup:
    """One group of the scored people.

    Args:
        by: Property that divides the people: :data:`CLASS`, :data:`DEGREE` or :data:`LABELLED_NEIGHBOUR`.
        place: Place of the group among those of this property, from 0.
        name: Name of the group: a class's name, or its number without names; degrees; ``yes`` or ``no``.
        members: bool (scored people,), in the order of ``split.test``.
    """

    by: str
    place: int
    name: str
    members: NDArray[np.bool_] = field(repr=False)


def people_groups(population: Population, split: Split) -> list[PeopleGroup]:
    """Return the groups of the scored people that have members, without those that hold everybody.

    A degree is the number of neighbours in the population's own graph. A labelled neighbour is one whose label the
    training or the validation reads, from whatever source (``Setup.labelled_split``). Time and memory are linear
    in people and edges.
    """
    scored = split.test
    degree = np.diff(population.neighbour_indptr)[scored]
    bins = np.searchsorted([least for least, _ in _DEGREES], degree, side="right") - 1
    near_label = _labelled_neighbours(population, split)[scored] > 0
    labels, names = population.labels[scored], population.facts.class_names
    groups = [
        *(PeopleGroup(CLASS, label, names[label] if names else str(label), labels == label)
          for label in np.unique(labels).tolist()),
        *(PeopleGroup(DEGREE, place, name, bins == place) for place, (_, name) in enumerate(_DEGREES)),
        PeopleGroup(LABELLED_NEIGHBOUR, 0, "yes", near_label),
        PeopleGroup(LABELLED_NEIGHBOUR, 1, "no", ~near_label),
    ]  # fmt: skip
    return [group for group in groups if group.members.any() and not group.members.all()]


def _labelled_neighbours(population: Population, split: Split) -> IntArray:
    """Return the number of labelled neighbours of each person, int64 (n,)."""
    n = len(population)
    labelled = np.zeros(n, np.int64)
    labelled[split.labelled] = 1
    ones = np.ones(len(population.neighbour_indices), np.int64)
    lists = csr_array((ones, population.neighbour_indices, population.neighbour_indptr), shape=(n, n))
    counts: IntArray = lists @ labelled
    return counts

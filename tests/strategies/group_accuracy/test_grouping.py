"""Groups of the scored people on a graph that can be read with the eye."""

from __future__ import annotations

import numpy as np

from ldpsim.devices.data.population import build_population
from ldpsim.devices.facts import Split
from ldpsim.strategies.group_accuracy.section import people_groups


def test_people_are_divided_by_class_degree_and_labelled_neighbours() -> None:
    """Person 0 has 7 friends, 1 to 3 of them are a triangle beside; 8 has nobody."""
    edges = np.array([[0, 0, 0, 0, 0, 0, 0, 1, 1, 2], [1, 2, 3, 4, 5, 6, 7, 2, 3, 3]])
    people = build_population(
        "friends", n=9, d=1, edges=edges, feature_indptr=np.zeros(10, np.int64),
        feature_indices=np.zeros(0, np.int64), feature_values=None, labels=np.array([0, 1, 1, 0, 1, 0, 0, 0, 1]),
        classes=2,
    )  # fmt: skip
    split = Split(np.array([4]), np.array([5]), np.array([0, 1, 3, 7, 8]))
    found = {(group.by, group.name): split.test[group.members].tolist() for group in people_groups(people, split)}
    assert found == {
        ("class", "0"): [0, 3, 7],
        ("class", "1"): [1, 8],
        ("degree", "0"): [8],
        ("degree", "1-2"): [7],
        ("degree", "3-5"): [1, 3],
        ("degree", "6+"): [0],
        ("labelled_neighbour", "yes"): [0],
        ("labelled_neighbour", "no"): [1, 3, 7, 8],
    }


def test_a_group_of_everybody_is_left_out() -> None:
    people = build_population(
        "pairs", n=4, d=1, edges=np.array([[0, 2], [1, 3]]), feature_indptr=np.zeros(5, np.int64),
        feature_indices=np.zeros(0, np.int64), feature_values=None, labels=np.array([0, 1, 0, 1]), classes=2,
    )  # fmt: skip
    found = people_groups(people, Split(np.array([1]), np.array([3]), np.array([0, 2])))
    assert found == []

"""Division of the people into training, validation and test: ``--split``, ``--label-rate`` and ``--volunteers``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.split_kinds import FORMS, is_kind, people_of_each_class, percentages
from ldpsim.devices.facts import Split

LEAST_VOLUNTEERS = 3  # two train, one validates


def make_split(
    kind: str, population: Population, seed: int, label_rate: float | None = None, volunteers: float | None = None
) -> Split:
    """Divide the people who have a label. People without a label are in no part.

    Args:
        kind: ``random``: 50/25/25 drawn by ``seed``. ``split42``: the one split of Blink's
            published code, whatever the seed: two unstratified halvings with scikit-learn's
            ``train_test_split`` at ``random_state`` 42, first into training and rest, then
            the rest into validation and test. ``file``: the data set's own. ``75/10/15``: such percentages, drawn by
            ``seed``, with sum 100. ``20-each/500``: 20 people of each class train (all of a smaller class), 500 of
            the others validate, the rest test (PyG's ``Planetoid`` with ``split="random"``), drawn by ``seed``.
        population: Whom to divide.
        seed: Seed of the random split and of the choice under ``label_rate``.
        label_rate: Training nodes as a share of all nodes (LPGNN, Section 5, RQ4); None
            keeps all of them. Validation and test stay. For one seed a smaller rate's
            nodes are among a larger one's.
        volunteers: Share of all people who give label and features in clear, drawn among training and validation
            people. Two thirds of them train, a third validates; the others are ``ordinary`` people. The
            test people stay. For one seed a smaller share's volunteers are among a larger one's.

    Raises:
        ValueError: for an unknown kind, a data set without a split of its own, fewer than
            four people with a label, or a rate or share that the split cannot give.
    """
    if not is_kind(kind):
        raise ValueError(f"--split {kind}: allowed are {FORMS}")
    rng = np.random.Generator(np.random.PCG64(seed))
    if kind == "file":
        if population.own_split is None:
            raise ValueError(f"--split file: {population.name} brings no split of its own; use random or split42")
        split = population.own_split
    else:
        labelled = np.flatnonzero(population.labels >= 0)
        if len(labelled) < 4:
            raise ValueError(f"{population.name}: {len(labelled)} people with a label are too few to split; 4 is least")
        parts = _split42(labelled) if kind == "split42" else _drawn(kind, rng.permutation(labelled), population.labels)
        split = Split(*(np.sort(part) for part in parts))
    if volunteers is not None:
        return _of_volunteers(split, len(population), rng, volunteers)
    return split if label_rate is None else _limit(split, len(population), rng, label_rate)


def _drawn(kind: str, order: IntArray, labels: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the parts of people in a random order."""
    if (shares := percentages(kind)) is not None:
        ends = np.round(np.cumsum(shares)[:2] * len(order) / 100).astype(np.int64)
        return order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] :]
    sizes = people_of_each_class(kind)
    if sizes is None:
        return _halve_twice(order)
    number, validation = sizes
    classes = labels[order]
    train = np.concatenate([order[classes == label][:number] for label in np.unique(classes)])
    rest = order[~np.isin(order, train)]
    if len(rest) <= validation:
        raise ValueError(
            f"--split {kind}: {len(train)} of {len(order)} people train; the {len(rest)} others must be more than "
            f"{validation}"
        )
    return train, rest[:validation], rest[validation:]


def _halve_twice(order: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    half = len(order) // 2
    quarter = (len(order) - half) // 2
    return order[:half], order[half : half + quarter], order[half + quarter :]


def _split42(nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    train, rest = _train_test(nodes)
    val, test = _train_test(rest)
    return train, val, test


def _train_test(nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Do as ``train_test_split(nodes, test_size=.5, random_state=42)``: the test half comes first."""
    order: NDArray[np.int64] = np.random.RandomState(42).permutation(len(nodes))
    half = (len(nodes) + 1) // 2
    return nodes[order[half:]], nodes[order[:half]]


def _limit(split: Split, n: int, rng: np.random.Generator, rate: float) -> Split:
    people = rate * n if np.isfinite(rate) else 0.0
    wanted = min(round(people), len(split.train))  # half of an odd number of people is half a person too many
    if wanted < 1 or people >= len(split.train) + 1:
        raise ValueError(
            f"--label-rate {rate}: training nodes may be up to {len(split.train) / n:.3g} of all nodes in this split, "
            "and at least one"
        )
    return replace(split, train=np.sort(rng.permutation(split.train)[:wanted]))


def _of_volunteers(split: Split, n: int, rng: np.random.Generator, share: float) -> Split:
    possible = split.labelled
    wanted = round(share * n) if np.isfinite(share) else 0
    if not LEAST_VOLUNTEERS <= wanted <= len(possible):
        raise ValueError(
            f"--volunteers {share}: {LEAST_VOLUNTEERS} to {len(possible)} of these {n} people can volunteer in this "
            f"split, so the share is {LEAST_VOLUNTEERS / n:.3g} to {len(possible) / n:.3g}"
        )
    drawn = rng.permutation(possible)[:wanted]
    train, val = train_and_validate(drawn)
    return replace(split, train=train, val=val, ordinary=np.setdiff1d(possible, drawn))


def train_and_validate(drawn: IntArray) -> tuple[IntArray, IntArray]:
    """Divide volunteers in the order in which they were drawn: of three, two train and the next one validates.

    >>> [part.tolist() for part in train_and_validate(np.array([7, 4, 9, 1]))]
    [[1, 4, 7], [9]]
    """
    return np.sort(np.delete(drawn, np.s_[2::3])), np.sort(drawn[2::3])

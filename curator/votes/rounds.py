"""Batches of votes: everybody is asked in one of them, and each has labelled people of its own.

The people without a label are asked in falling order of certainty: the later ones, about whom less is known,
vote on what the earlier ones have said. The labelled people are dealt to the batches, so that each batch has a law of
its own. In a batch the training people are dealt to folds, because their labels stand in the published table: the
table of a fold does not tell its own labels.
"""

from __future__ import annotations

import numpy as np

from ldpsim.curator.learning.naive_bayes import folds_of
from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray
from ldpsim.devices.facts import Split

FOLDS = 10


TRAINING, LABELLED = "training", "labelled"  # people whose labels stand in the published table


def told_split(split: Split, told: str) -> Split:
    """Return the division in which all people whose labels stand in the table are training people."""
    if told == TRAINING:
        return split
    return Split(np.sort(split.labelled), split.val[:0], split.test)


def people_of_batch(
    split: Split, certainty: FloatArray, asked: BoolArray, *, batches: int, number: int, seed: int = 0
) -> tuple[tuple[IntArray, ...], IntArray]:
    """Return the folds of training people of a batch, and everybody else who is asked in it.

    Args:
        split: Division of the people.
        certainty: float (n,): the more is known, the earlier a person without a label is asked; ties by number.
        asked: bool (n,): people of earlier batches.
        batches: Number of batches.
        number: The batch, from 0.
        seed: Seed of the order in which labelled people are dealt.
    """
    train, val = (nodes[folds_of(len(nodes), batches, seed) == number] for nodes in (split.train, split.val))
    fold = folds_of(len(train), FOLDS, seed)
    folds = tuple(train[fold == place] for place in range(int(fold.max(initial=-1)) + 1))
    unlabelled = ~asked
    unlabelled[split.labelled] = False
    waiting = np.flatnonzero(unlabelled)
    now = -(-len(waiting) // (batches - number))
    first = waiting[np.argsort(-certainty[waiting], kind="stable")[:now]]
    return folds, np.sort(np.concatenate([val, first]))

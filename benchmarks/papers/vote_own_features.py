"""Vote with private features that the device reads itself, ``vote --set own_features=true``, beside other votes.

    python -m benchmarks.papers.vote_own_features [--datasets cora,citeseer] [--seeds 100,101,102]

Features of labelled people are public. Those of everybody else never leave the device. The curator fits ridge
regression on training people, turns it into whole numbers (:mod:`curator.votes.own_words`) and publishes it with the
question. Device i adds what the model says of its own words, e_i(c), to the scores of the vote, and sends the best
class by generalised randomised response (GRR) over all classes:

    s_c = e_i(c) + sum over j in N_i of ln((1 - h) / C + h Q_j(c))

Everything that the device reads, list and features, is inside the one epsilon. The trial compares, at this epsilon:

    nothing   the vote without features
    donated   the same, and rows of labelled people in the table come from their public features
    model     no list: the class of e_i alone, by GRR
    own       the vote above, with the table of ``donated``
    public    the vote where everybody's features are public

In three batches the posterior of the earlier ones is published. Model, tables, scores, batches, law and pool are the
product's. All vote with h = .8. The answers are drawn with the exact probabilities of GRR, and every arm of a seed
gets the same draws. Writes vote-own-features.csv in docs/results, and prints a table of ``own`` and its paired
differences, in points, with standard errors over the seeds.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks import RESULTS
from benchmarks.markdown import table_row
from curator.evidence.labels import LabelEvidence
from curator.learning.node_evidence import bits_of, node_evidence
from curator.learning.pool import pooled
from curator.votes.design import all_classes, designed_widths
from curator.votes.knowledge import CLASS, FEATURES, VOTE, Knowledge, posterior
from curator.votes.law import Ballots, by_class, log_likelihood, places_of
from curator.votes.own_words import own_words
from curator.votes.rounds import people_of_batch
from devices import datasets
from devices.array_types import DoubleArray, IntArray
from devices.data.population import Population
from devices.data.splits import make_split
from devices.facts import PublicKnowledge, Split
from devices.mechanisms import GRR, NeighbourhoodVote
from devices.mechanisms.class_table import ClassTable, from_text
from devices.mechanisms.word_model import UNIT
from strategies.people.owned_graph import sparse_features

BUDGETS, BATCHES, HOMOPHILY = (2.0, 4.0, 8.0), (1, 3), 0.8
NOTHING, DONATED, MODEL, OWN, PUBLIC = ARMS = ("nothing", "donated", "model", "own", "public")
COLUMNS = ("dataset", "seed", "epsilon", "batches", "arm", "accuracy")


@dataclass(frozen=True, eq=False)
class People:
    """One population and split, with what its arms share.

    Args:
        population: The people; their features are words.
        split: Division of the people.
    """

    population: Population
    split: Split

    @cached_property
    def labels(self) -> IntArray:
        """int64 (n,), -1 for people without a public label."""
        labels = np.full(len(self.population), -1, np.int64)
        labels[self.split.labelled] = self.population.labels[self.split.labelled]
        return labels

    @cached_property
    def links(self) -> csr_array:
        """CSR (n, n) of zeros and ones: the lists."""
        near = [self.population.record(i).neighbours for i in range(len(self.population))]
        ends = np.cumsum([0, *map(len, near)])
        return csr_array((np.ones(ends[-1], np.int64), np.concatenate(near), ends), shape=(len(near), len(near)))

    @cached_property
    def evidence(self) -> IntArray:
        """int64 (n, classes): e, in units; a row of an unlabelled person is computed on its device alone."""
        features = sparse_features(self.population)
        own = own_words(PublicKnowledge(self.population.facts, self.split, self.labels, donated=features))
        found = own.model.evidence(own.model.shares(csr_array(bits_of(features), dtype=np.int64)))
        found[own.people] = own.evidence
        return found

    @cached_property
    def public(self) -> DoubleArray:
        """float64 (n, classes): the curator's evidence where everybody's features are public."""
        features, classes = sparse_features(self.population), self.population.facts.classes
        return node_evidence(features, LabelEvidence(self.labels, classes), self.split).log_probability

    @cached_property
    def shares(self) -> DoubleArray:
        """float64 (n, classes): its evidence where features are private."""
        told = LabelEvidence(self.labels, self.population.facts.classes)
        return node_evidence(None, told, self.split).log_probability


def accuracy(people: People, arm: str, epsilon: float, batches: int, chance: DoubleArray) -> float:
    """Ask everybody once, and return the accuracy on test people.

    Args:
        people: The people.
        arm: One of :data:`ARMS`.
        epsilon: Loss of an answer.
        batches: Number of batches.
        chance: float (n, 2): uniform draws: whether a person lies, and with which value.
    """
    split, (n, classes) = people.split, people.shares.shape
    told = np.zeros((n, classes))
    told[split.labelled] = np.eye(classes)[people.labels[split.labelled]]
    asked, base = np.zeros(n, np.bool_), people.public if arm == PUBLIC else people.shares
    votes, named = np.zeros((n, classes)), np.zeros((n, classes))
    labels = LabelEvidence(people.labels, classes)
    known = Knowledge(labels, told, {FEATURES: base}, asked)
    for number in range(batches):
        guess = posterior(known, split.labelled)[0]
        folds, others = people_of_batch(split, guess.max(axis=1), asked, batches=batches, number=number)
        cast = [_asked(people, arm, epsilon, np.exp(guess), asked, some, chance) for some in (*folds, others)]
        person, values, reports, places = (np.concatenate(part) for part in zip(*cast, strict=True))
        for count in np.unique(values).tolist():
            width, chosen = count - (arm in (NOTHING, DONATED)), values == count
            ballots = Ballots(person[chosen], np.minimum(places[chosen], width), reports[chosen], width, count)
            votes[ballots.people] = log_likelihood(ballots, told[ballots.people])
            named[ballots.people] = log_likelihood(by_class(ballots), told[ballots.people])
        asked = asked.copy()
        asked[person] = True
        known = Knowledge(labels, told, {FEATURES: base, VOTE: votes, CLASS: named}, asked)
    right = posterior(known, split.labelled)[0].argmax(axis=1) == people.population.labels
    return float(right[split.test].mean())


def _asked(
    people: People, arm: str, epsilon: float, guess: DoubleArray, voted: Any, some: IntArray, chance: DoubleArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return these people, their numbers of values, their reports and the places of the classes."""
    rows = _table(people, arm, guess, voted, some)
    classes, unseen, private = rows.shape[1], arm in (NOTHING, DONATED), arm != PUBLIC
    width: int | IntArray = classes
    if not private and not all_classes(epsilon, classes):
        width = designed_widths(rows, epsilon)
    vote = NeighbourhoodVote.from_probabilities(rows, epsilon, homophily=HOMOPHILY, candidates=width,
                                                unseen=unseen, own=not private)  # fmt: skip
    scores, seen = sums(people, vote, some, own=not private, links=arm != MODEL)
    ranked = np.tile(np.arange(classes, dtype=np.uint8), (len(some), 1)) if private else vote.ranked[some]
    if arm in (MODEL, OWN):
        scores = scores + people.evidence[some]
    values = np.array([vote.values_of(i) for i in some.tolist()], np.int64)
    placed = np.take_along_axis(scores, ranked.astype(np.int64), axis=1)
    placed[np.arange(classes) >= (values - unseen)[:, None]] = np.iinfo(np.int64).min  # no candidates
    best = placed.argmax(axis=1)
    if unseen:
        best[seen == 0] = classes
    counts = np.unique(values).tolist()
    truth = {count: GRR.from_epsilon(epsilon, categories=count).truth_probability for count in counts}
    wrong = (chance[some, 1] * (values - 1)).astype(np.int64)
    lies = chance[some, 0] >= np.array([truth[count] for count in values.tolist()])
    return some, values, np.where(lies, wrong + (wrong >= best), best), places_of(ranked, classes)


def sums(
    people: People, vote: NeighbourhoodVote, some: IntArray, *, own: bool, links: bool = True
) -> tuple[IntArray, IntArray]:
    """Return what the device's own code finds (``vote.scores``), of all these people at once: a test compares them."""
    affinity = np.array(vote.affinity, np.int64).reshape(vote.classes, vote.classes)
    read = ClassTable(from_text(vote.table, vote.people * vote.classes).reshape(vote.people, -1), affinity)
    rows = people.links[some] if links else csr_array((len(some), vote.people), dtype=np.int64)
    scores = rows @ read.evidence.T
    return scores + read.own[some] if own else scores, rows @ (~read.unknown).astype(np.int64)


def _table(people: People, arm: str, guess: DoubleArray, voted: Any, some: IntArray) -> DoubleArray:
    """float64 (n, classes): the published table for these people; it does not tell their own labels."""
    rows, split = np.array(guess), people.split
    if arm != PUBLIC:
        rows[~voted] = 0
    if arm in (DONATED, OWN):
        rows[split.labelled] = np.exp(pooled({"": people.evidence[split.labelled] / UNIT}, np.ones(1)))
    told = split.train[~np.isin(split.train, some)]
    rows[told] = np.eye(rows.shape[1])[people.labels[told]]
    return rows


def measured(name: str, seed: int, data_dir: Path | None) -> Iterator[tuple[str, int, float, int, str, float]]:
    """Yield the rows of one data set and seed; two rows at epsilon 0 say how good the models alone are."""
    population = datasets.load(name, data_dir=data_dir)
    people = People(population, make_split("random", population, seed))
    test = people.split.test
    for arm, scores in ((MODEL, people.evidence), (PUBLIC, people.public)):
        right = scores[test].argmax(axis=1) == population.labels[test]
        yield name, seed, 0.0, 0, arm, float(right.mean())
    chance = np.random.default_rng(seed).random((len(population), 2))
    for epsilon in BUDGETS:
        for batches in BATCHES:
            for arm in ARMS:
                if arm != MODEL or batches == 1:
                    yield name, seed, epsilon, batches, arm, accuracy(people, arm, epsilon, batches, chance)


def table(found: Sequence[Mapping[str, str]]) -> str:
    """Return accuracies of ``own`` and paired differences as a Markdown table."""
    cells: dict[tuple[str, str, str], dict[str, dict[str, float]]] = {}
    for row in found:
        if row["batches"] != "0":
            cell = cells.setdefault((row["dataset"], row["epsilon"], row["batches"]), {})
            cell.setdefault(row["arm"], {})[row["seed"]] = 100 * float(row["accuracy"])
    others = (NOTHING, DONATED, MODEL, PUBLIC)
    lines = [["data set", "epsilon", "batches", OWN, *(f"minus {arm}" for arm in others)], ["---"] * 8]
    for place, arms in cells.items():
        shown = []
        for arm in others:
            apart = [arms[OWN][seed] - value for seed, value in arms.get(arm, {}).items()]
            error = np.std(apart, ddof=1) / math.sqrt(len(apart)) if len(apart) > 1 else math.nan
            shown.append(f"{np.mean(apart):+.1f} ({error:.1f})" if apart else "")
        lines.append([*place, f"{np.mean(list(arms[OWN].values())):.1f}", *shown])
    return "\n".join(map(table_row, lines))


def main() -> None:
    """Measure and write the rows, after each data set and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--seeds", default="100,101,102")
    parser.add_argument("--data-dir", type=Path, default=None)
    given = parser.parse_args()
    path = RESULTS / "vote-own-features.csv"
    rows: list[dict[str, str]] = []
    for seed in given.seeds.split(","):
        for dataset in given.datasets.split(","):
            for name, _, epsilon, batches, arm, value in measured(dataset, int(seed), given.data_dir):
                made = (name, seed, f"{epsilon:g}", str(batches), arm, f"{value:.4f}")
                rows.append(dict(zip(COLUMNS, made, strict=True)))
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(sorted(rows, key=lambda row: row["dataset"]))
    print(table(rows))


if __name__ == "__main__":
    main()

"""Answers of the vote's family beside each other: what a device might send in place of a plain vote.

    python -m benchmarks.papers.vote_family [--dataset cora] [--seeds 1000,1001,1002]

All of them cost epsilon for everything that a person reports:

    grr         the best of w candidates by GRR (``neighbourhood_vote``)
    subset      a set of k of w candidates (Ye and Barg 2018), which holds the best one more often than others
    counts      how many of at most m neighbours, the most certain ones, are of each class, with discrete Laplace noise
    identity    the most certain neighbour's number by GRR over all people
    graded      one of two candidates, with log-odds by the difference of the scores (``graded_vote``)

The winners are those of the device's own code. Accuracy of ``grr``, ``subset`` and ``graded`` is an expectation over
the noise, from the exact law, so little of it is chance; ``counts`` and ``identity`` are means of four draws. The
curator guesses argmax ln Q + ln M, M counted on training people without their noise. w, k and m are chosen on
validation people. Public features, half of the people labelled. Writes vote-family.csv in docs/results, and
prints a table of mean gains over the features alone, in points.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import RESULTS
from benchmarks.markdown import table_row
from curator.evidence.labels import LabelEvidence
from curator.learning.node_evidence import node_evidence
from devices import datasets
from devices.array_types import DoubleArray, IntArray
from devices.data.population import Population
from devices.data.splits import make_split
from devices.facts import Split
from devices.mechanisms import NeighbourhoodVote
from devices.mechanisms.discrete_laplace import sample, scale_for
from devices.noise import NoiseStream
from strategies.people.owned_graph import sparse_features

BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
BITS = (0.5, 1.0, 2.0)  # of graded: loss of one entry
HOMOPHILY, MOST_WIDTH, CLIPS, DRAWS, PRIOR = 0.8, 7, (1, 2, 4), 4, 10.0
COLUMNS = ("dataset", "seed", "epsilon", "answer", "setting", "accuracy", "gain")


@dataclass(frozen=True, eq=False)
class Voters:
    """People, with classes in the order of their own evidence.

    Args:
        own: float (n, classes): ln Q of each place, falling.
        scores: float (n, classes): scores of the places, in nats.
        truth: int (n,): place of the true class.
        split: Training, validation and test people.
        ranked: int (n, classes): class at each place.
        known: float (n, classes): published probabilities, one-hot for training people.
    """

    own: DoubleArray
    scores: DoubleArray
    truth: IntArray
    split: Split
    ranked: IntArray
    known: DoubleArray


def voters(population: Population, seed: int) -> Voters:
    """Return the people of a population; the scores are the device's own."""
    split = make_split("random", population, seed)
    classes, labels = population.facts.classes, np.full(len(population), -1, np.int64)
    labels[split.labelled] = population.labels[split.labelled]
    evidence = node_evidence(sparse_features(population), LabelEvidence(labels, classes), split).log_probability
    known = np.exp(evidence)
    known[split.train] = np.eye(classes)[population.labels[split.train]]
    vote = NeighbourhoodVote.from_probabilities(known, 1.0, homophily=HOMOPHILY, candidates=classes, own=False)
    told = [vote.scores(population.record(i).neighbours, i)[0] for i in range(len(population))]
    ranked = np.argsort(-evidence, axis=1, kind="stable")
    scores = np.array(told) / (1 << 16) + evidence
    own, placed = (np.take_along_axis(a, ranked, axis=1) for a in (evidence, scores))
    truth = np.argmax(ranked == population.labels[:, None], axis=1)
    return Voters(own, placed, truth, split, ranked, known)


def expected(people: Voters, chance: DoubleArray, nodes: IntArray) -> float:
    """Return the accuracy over the noise; ``chance`` is float (n, reports), the law of each person's report."""
    train, places = people.split.train, people.own.shape[1]
    base = chance[train].mean(axis=0)
    law = np.array([chance[train][people.truth[train] == t].sum(axis=0) + PRIOR * base for t in range(places)])
    law /= law.sum(axis=1, keepdims=True)
    guess = (people.own[nodes][:, :, None] + np.log(law)[None]).argmax(axis=1)
    return float((chance[nodes] * (guess == people.truth[nodes][:, None])).sum(axis=1).mean())


def subsets(width: int, size: int, epsilon: float) -> DoubleArray:
    """float (width, sets): the law of a set of ``size`` given the best candidate; size 1 is GRR."""
    odds = size * math.exp(epsilon)
    held = odds / (odds + width - size) / math.comb(width - 1, size - 1)
    missed = (1 - odds / (odds + width - size)) / math.comb(width - 1, size)
    return np.array([[held if v in s else missed for s in itertools.combinations(range(width), size)]
                     for v in range(width)])  # fmt: skip


def graded(people: Voters, epsilon: float, bit: float) -> DoubleArray:
    """float (n, 2): the law of a graded vote whose entry loses ``bit``."""
    classes = people.own.shape[1]
    slope = bit / math.log(1 + HOMOPHILY * classes / (1 - HOMOPHILY))
    second = 1 / (1 + np.exp(np.clip(slope * (people.scores[:, 0] - people.scores[:, 1]), -epsilon, epsilon)))
    return np.stack([1 - second, second], axis=1)


def of_counts(people: Voters, population: Population, epsilon: float, seed: int, clip: int, nodes: IntArray) -> float:
    """Return the accuracy of noisy class counts: Gaussian class means in place of M."""
    counts, hard = np.zeros_like(people.own), people.known.argmax(axis=1)
    for i in range(len(population)):
        near = population.record(i).neighbours
        best = near[np.argsort(-people.known[near].max(axis=1), kind="stable")[:clip]]
        np.add.at(counts[i], hard[best], 1)
    counts = np.take_along_axis(counts, people.ranked, axis=1)
    t, s = scale_for(epsilon, sensitivity=2 * clip)  # other neighbours may move all of them
    found = []
    for draw in range(DRAWS):
        noise = sample(NoiseStream(bytes([seed % 256, draw]) * 16), t, s, counts.size).reshape(counts.shape)
        seen, train = counts + noise, people.split.train
        overall = seen[train].mean(axis=0)
        rows = [seen[train][people.truth[train] == place] for place in range(counts.shape[1])]
        means = np.array([(r.sum(axis=0) + PRIOR * overall) / (len(r) + PRIOR) for r in rows])
        spread = sum(((r - m) ** 2).sum(axis=0) for r, m in zip(rows, means, strict=True)) / len(train)
        fit = -((seen[nodes][:, None] - means) ** 2 / (2 * spread)).sum(axis=2)
        found.append(np.mean((people.own[nodes] + fit).argmax(axis=1) == people.truth[nodes]))
    return float(np.mean(found))


def of_identity(people: Voters, population: Population, epsilon: float, seed: int, nodes: IntArray) -> float:
    """Return the accuracy of the most certain neighbour's number under GRR over all people."""
    rng, (n, classes) = np.random.default_rng(seed), people.own.shape
    told = math.exp(epsilon) / (math.exp(epsilon) + n - 1)
    near = [population.record(i).neighbours for i in range(n)]
    best = np.array([j[people.known[j].max(axis=1).argmax()] if len(j) else i for i, j in enumerate(near)])
    found = []
    for _ in range(DRAWS):
        seen = np.where(rng.random(n) < told, best, rng.integers(0, n, n))[nodes]
        kin = (HOMOPHILY * people.known[seen] + (1 - HOMOPHILY) / classes) * classes / n
        fit = np.take_along_axis(np.log(told * kin + (1 - told) / n), people.ranked[nodes], axis=1)
        found.append(np.mean((people.own[nodes] + fit).argmax(axis=1) == people.truth[nodes]))
    return float(np.mean(found))


def rows(name: str, seed: int, data_dir: Path | None) -> Iterator[tuple[str, int, float, str, str, float, float]]:
    """Yield the rows of one data set and seed."""
    population = datasets.load(name, data_dir=data_dir)
    people = voters(population, seed)
    val, test = people.split.val, people.split.test
    alone = float((people.truth[test] == 0).mean())
    widths = range(2, min(people.own.shape[1], MOST_WIDTH) + 1)
    winner = {w: people.scores[:, :w].argmax(axis=1) for w in widths}
    for epsilon in BUDGETS:
        laws = {(w, k): subsets(w, k, epsilon)[winner[w]] for w in widths for k in range(1, w // 2 + 1)}
        for answer, some in (("grr", [k for k in laws if k[1] == 1]), ("subset", [k for k in laws if k[1] > 1])):
            best = max(some, key=lambda key: expected(people, laws[key], val), default=None)
            if best is not None:
                setting = f"w={best[0]}" + (f" k={best[1]}" if answer == "subset" else "")
                yield name, seed, epsilon, answer, setting, expected(people, laws[best], test), alone
        counted = partial(of_counts, people, population, epsilon, seed)
        clip = max(CLIPS, key=lambda m: counted(m, val))
        yield name, seed, epsilon, "counts", f"m={clip}", counted(clip, test), alone
        yield name, seed, epsilon, "identity", "", of_identity(people, population, epsilon, seed, test), alone
        for bit in (b for b in BITS if b < epsilon):
            law = graded(people, epsilon, bit)
            yield name, seed, epsilon, "graded", f"entry={bit:g}", expected(people, law, test), alone


def table(found: Sequence[Mapping[str, str]]) -> str:
    """Return the mean gains in points as a Markdown table, one row for each data set and epsilon."""
    gains: dict[tuple[str, float], dict[str, list[float]]] = {}
    for row in found:
        answer = f"graded, {row['setting']}" if row["answer"] == "graded" else row["answer"]
        cell = gains.setdefault((row["dataset"], float(row["epsilon"])), {}).setdefault(answer, [])
        cell.append(100 * float(row["gain"]))
    answers = list(dict.fromkeys(answer for cells in gains.values() for answer in cells))
    lines = [["data set", "epsilon", *answers], ["---"] * (2 + len(answers))]
    for (name, epsilon), cells in gains.items():
        shown = [f"{np.mean(cells[answer]):+.1f}" if answer in cells else "" for answer in answers]
        lines.append([name, f"{epsilon:g}", *shown])
    return "\n".join(map(table_row, lines))


def main() -> None:
    """Measure one data set and write its rows in place of earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--seeds", default="1000,1001,1002")
    parser.add_argument("--data-dir", type=Path, default=None)
    given = parser.parse_args()
    path = RESULTS / "vote-family.csv"
    kept: list[dict[str, str]] = []
    if path.is_file():
        with path.open() as file:
            kept = [row for row in csv.DictReader(file) if row["dataset"] != given.dataset]
    for seed in map(int, given.seeds.split(",")):
        for name, _, epsilon, answer, setting, accuracy, alone in rows(given.dataset, seed, given.data_dir):
            kept.append(dict(zip(COLUMNS, (name, str(seed), f"{epsilon:g}", answer, setting, f"{accuracy:.4f}",
                                           f"{accuracy - alone:+.4f}"), strict=True)))  # fmt: skip
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(kept)
    print(table(kept))


if __name__ == "__main__":
    main()

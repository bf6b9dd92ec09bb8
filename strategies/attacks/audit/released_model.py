"""Attacks on the model that a run publishes, with shadow runs (``ldpsim audit METHOD --released-model``).

Published are the weights and everybody's predicted probabilities. On generated people every shadow run has devices of
its own, fresh noise and a fresh training. A coin decides for each target, and each level has targets of its own:

=================  ==========================================  ==============================================
level              in / out                                    signal, from the published probabilities p
=================  ==========================================  ==============================================
``label``          own class / another one                     ln p(own class) - ln p(other), of the person
``vector``         own features / those of a stranger          the same, the other class is the stranger's
``relationship``   an edge / none                              sum over the classes of p of both ends
``node``           own data / a stranger's features and        as ``vector``
                   class, and no edge at either end; what is
                   public stays, if the rest has a bound
=================  ==========================================  ==============================================

On other data there is one run and no shadow: a threshold attack (Yeom et al. 2018, https://arxiv.org/abs/1709.01604) on
the probability of the true class. In are training people, out are test people: nobody used their class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from curator.attacks.audit_row import CONFIDENCE, TRIALS, Effort, check_effort
from curator.attacks.released_model import InferenceRow, inference_row, true_positives
from curator.methods import find
from curator.pairs.ranking import auc_between
from curator.privacy.guarantee import Guarantee
from devices.data.population import Population
from devices.facts import IntArray, Split
from strategies.attacks.audit.published import published_probabilities, run_once
from strategies.experiments.compare import cells_of
from strategies.people.owned_graph import sparse_features
from strategies.progress import Progress, quiet
from strategies.results.outcome import Outcome
from strategies.runs.set_up import run_of, set_up
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import load_population

LEVELS = ("label", "vector", "relationship", "node")
GENERATED = "generated"  # the names of data that shadow runs can draw anew
PARTS = ("label", "vector")  # of a whole person, besides the edges
MOST_SHADOWS = 10_000
_MOST_TARGETS = 24  # of one level


@dataclass(frozen=True, kw_only=True)
class ReleasedOptions:
    """Options of the audit.

    Args:
        methods: Names.
        shadows: Number of runs of each method on generated people; half of them are attacked.
        dataset, clients, epsilon, settings: As of a run.
        confidence: Confidence of all bounds together.
        seed: Seed of people, coins, noise and trainings.

    Raises:
        ValueError: for no method, or numbers outside their range.
    """

    methods: tuple[str, ...]
    shadows: int = 32
    dataset: str = "generated"
    clients: int | None = None
    epsilon: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    confidence: float = CONFIDENCE
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.methods:
            raise ValueError("--released-model needs the names of methods")
        if not 8 <= self.shadows <= MOST_SHADOWS or self.shadows % 2:
            raise ValueError(f"--shadows {self.shadows}: must be an even number of 8 to {MOST_SHADOWS:,}")
        check_effort(TRIALS, self.confidence, self.seed)
        for name in self.methods:
            find(name)


def audit_released(options: ReleasedOptions, *, progress: Progress = quiet) -> list[InferenceRow]:
    """Return the rows of all methods; a ValueError of one line for options that do not fit."""
    effort = Effort(confidence=options.confidence, rows=len(LEVELS) * len(options.methods), seed=options.seed)
    rows: list[InferenceRow] = []
    cells = cells_of(options.methods, _options(options), {})
    for number, run in enumerate(cell.options for cell in cells):
        people = load_population(run)

        def tell(share: float, before: int = number) -> None:
            progress("shadow runs", (before + share) / len(options.methods))

        if options.dataset.startswith(GENERATED):
            rows += _with_shadows(run, people, options, effort, tell)
        else:
            rows.append(_threshold(run, people, effort))
    return rows


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of the levels, none of them in two.

    Args:
        people: Level -> int64 (k,): the people; for ``relationship`` the left ends.
        strangers: int64 (n,): a person of another class, for each.
        ends: int64 (k,): right ends of ``relationship``.
    """

    people: Mapping[str, IntArray]
    strangers: IntArray
    ends: IntArray


def draw_targets(people: Population, split: Split, seed: int) -> Targets:
    """Choose training people, as many for each level, and edges between other people."""
    rng = np.random.default_rng([seed, *b"targets"])
    each = min(_MOST_TARGETS, len(split.train) // 6)
    order = rng.permutation(split.train[people.labels[split.train] >= 0])
    chosen = {level: np.sort(order[place * each : (place + 1) * each])
              for place, level in enumerate(("label", "vector", "node"))}  # fmt: skip
    free = ~np.isin(np.arange(len(people)), np.concatenate(list(chosen.values())))
    edges = rng.permutation(people.edges.T[np.all(free[people.edges.T], axis=1)])
    ends: list[tuple[int, int]] = []
    for left, right in edges.tolist():
        if len(ends) < each and free[left] and free[right]:
            free[left] = free[right] = False
            ends.append((left, right))
    left, right = np.array(ends, np.int64).reshape(-1, 2).T
    strangers = np.zeros(len(people), np.int64)
    for person in range(len(people)):
        strangers[person] = rng.choice(np.flatnonzero((people.labels != people.labels[person]) & (people.labels >= 0)))
    return Targets({**chosen, "relationship": left}, strangers, right)


def altered(
    people: Population, targets: Targets, coins: Mapping[str, np.ndarray], node: Sequence[str] = PARTS
) -> Population:
    """Return the people in whose data the targets with coin False have the other value.

    Args:
        people: The people as they are.
        targets: The targets.
        coins: Level -> bool (k,): whether a target has its own value.
        node: What changes of a whole person, besides its edges: ``label``, ``vector`` or both.
    """
    out = {level: targets.people[level][~coins[level]] for level in LEVELS}
    source, labels = np.arange(len(people)), people.labels.copy()
    changed = [("label", "label"), ("vector", "vector"), *(("node", part) for part in node)]
    for level, part in changed:
        other = targets.strangers[out[level]]
        if part == "label":
            labels[out[level]] = people.labels[other]
        else:
            source[out[level]] = other
    rows = sparse_features(people)[source]
    ones = np.ones(len(people.neighbour_indices), np.int8)
    links = csr_array((ones, people.neighbour_indices, people.neighbour_indptr), shape=(len(people),) * 2).tocoo()
    gone = np.isin(links.row, out["node"]) | np.isin(links.col, out["node"])
    n, left, right = len(people), out["relationship"], targets.ends[~coins["relationship"]]
    gone |= np.isin(links.row.astype(np.int64) * n + links.col, np.concatenate([left * n + right, right * n + left]))
    ends = np.concatenate([[0], np.cumsum(np.bincount(links.row[~gone], minlength=n))]).astype(np.int64)
    return replace(
        people, labels=labels, feature_indptr=rows.indptr.astype(np.int64), feature_values=rows.data,
        feature_indices=rows.indices.astype(np.int32), neighbour_indptr=ends,
        neighbour_indices=links.col[~gone].astype(np.int32),
    )  # fmt: skip


def signals_of(people: Population, targets: Targets, published: np.ndarray) -> dict[str, np.ndarray]:
    """Return the signal of each target, float64 (k,), by level.

    Args:
        people: The people as they are.
        targets: The targets.
        published: float64 (n, classes), logarithms of everybody's probabilities.
    """
    found = {}
    for level in ("label", "vector", "node"):
        who = targets.people[level]
        other = people.labels[targets.strangers[who]]
        found[level] = published[who, people.labels[who]] - published[who, other]
    left, right = targets.people["relationship"], targets.ends
    found["relationship"] = np.exp(published[left] + published[right]).sum(axis=1)
    return found


def _with_shadows(
    options: RunOptions, people: Population, asked: ReleasedOptions, effort: Effort, tell: Any
) -> Iterator[InferenceRow]:
    first = set_up(options, population=people)
    split = first.repeats[0].split
    targets = draw_targets(people, split, asked.seed)
    node = parts_of_node(run_of(first.method).guarantee_before(first, split))
    rng = np.random.default_rng([asked.seed, *b"coins"])
    coins: dict[str, list[np.ndarray]] = {level: [] for level in LEVELS}
    signals: dict[str, list[np.ndarray]] = {level: [] for level in LEVELS}
    outcome: Outcome | None = None
    for number in range(asked.shadows):
        tell(number / asked.shadows)
        drawn = {level: rng.random(len(targets.people[level])) < 0.5 for level in LEVELS}
        seeds = {"noise": asked.seed * 1_000_003 + number, "training": asked.seed * 1_000_003 + number}
        setup = set_up(
            replace(options, seeds={**options.seeds, **seeds}), population=altered(people, targets, drawn, node)
        )
        outcome = run_once(setup, split).outcome
        found = signals_of(people, targets, published_probabilities(outcome, setup, people))
        for level in LEVELS:
            coins[level].append(drawn[level])
            signals[level].append(found[level])
    assert outcome is not None
    for level in LEVELS:
        held = outcome.guarantee.holds[level]
        if held.status == "not asked" or not len(targets.people[level]):
            continue
        words = f"{asked.shadows} shadow runs, {len(targets.people[level])} targets"
        if held.status == "unprotected":
            words += "; unprotected: nothing bounds the attack"
        elif held.delta:
            words += f"; delta {held.delta:g}: the lower bound is not compared"
        yield inference_row(
            options.method, level, np.array(signals[level]), np.array(coins[level]), effort,
            claimed=held.value if held.status == "bounded" else None, delta=held.delta, detail=words,
        )  # fmt: skip


def parts_of_node(guarantee: Guarantee) -> tuple[str, ...]:
    """Return what the guarantee of a whole person is about: a bound does not count what is public."""
    if guarantee.holds["node"].status != "bounded":
        return PARTS
    return tuple(part for part in PARTS if guarantee.holds[part].status != "unprotected")


def _threshold(options: RunOptions, people: Population, effort: Effort) -> InferenceRow:
    """Attack one run: is a person with a large probability of the true class a training person?"""
    setup = set_up(options, population=people)
    split = setup.repeats[0].split
    published = published_probabilities(run_once(setup, split).outcome, setup, people)
    inside, outside = (published[who, people.labels[who]] for who in (split.train, split.test))
    return InferenceRow(
        options.method, "label", None, None, None, effort.confidence, len(inside) + len(outside), None,
        "threshold attack on one run, training people against test people; a guarantee is about one person's data, "
        "not about who trains, so nothing is compared",
        auc_between(inside, outside), true_positives(inside, outside),
    )  # fmt: skip


def _options(asked: ReleasedOptions) -> RunOptions:
    clients = asked.clients or (120 if asked.dataset.startswith(GENERATED) else None)
    return RunOptions(dataset=asked.dataset, clients=clients, epsilon=asked.epsilon, seed=asked.seed,
                      settings=asked.settings, reference=False, nulls=False, device="cpu", engine="local",
                      out=None)  # fmt: skip

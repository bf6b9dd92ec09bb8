"""Rebuilding the graph from what a run publishes (``ldpsim audit METHOD --rebuild``).

Every run draws two lists of pairs whose left ends are few people, so that a model need not be asked about everybody:

- *real pairs*: edges, and as many pairs without one. They say what an attacker finds in practice.
- *edges of coins*: a fair coin decides for each of some other edges whether the run sees it. Public data say nothing
  about a coin, so what the attacker finds there comes from the edge itself, and the guarantee bounds it.

Lists, coins, noise and training are new in each run. The work grows with the edges and with the pairs asked for; no
table of all pairs is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from curator.attacks.audit_row import CONFIDENCE, TRIALS, Effort, check_effort
from curator.attacks.rebuild import (
    INFLUENCE,
    PUBLIC,
    SIMILAR,
    RebuildRow,
    ScoredPairs,
    public_signals,
    rebuild_row,
    similarity,
)
from curator.methods import find
from curator.privacy.guarantee import Guarantee
from curator.privacy.level import Level
from devices.array_types import BoolArray
from devices.data.population import Population
from devices.facts import IntArray, Split
from strategies.attacks.audit.published import Publication, influences, published_probabilities, run_once
from strategies.experiments.compare import cells_of
from strategies.progress import Progress, quiet
from strategies.runs.set_up import set_up
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import load_population

LEVEL = "relationship"
FEWEST = 16  # edges between people who can be attacked
_TRIES = 20  # draws of a pair without an edge


@dataclass(frozen=True, kw_only=True)
class RebuildOptions:
    """Options of the attack.

    Args:
        methods: Names.
        runs: Number of runs of each method.
        pairs: Largest number of edges, of pairs without one, and of edges of coins, in a run.
        dataset, clients, epsilon, settings: As of a run.
        confidence: Confidence of all lower bounds together.
        seed: Seed of people, pairs, coins, noise and trainings.

    Raises:
        ValueError: for no method, an unknown one, or numbers outside their range.
    """

    methods: tuple[str, ...]
    runs: int = 5
    pairs: int = 400
    dataset: str = "generated"
    clients: int | None = None
    epsilon: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    confidence: float = CONFIDENCE
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.methods:
            raise ValueError("--rebuild needs the names of methods")
        if self.runs < 1:
            raise ValueError(f"--runs {self.runs}: must be 1 or more")
        if self.pairs < 8:
            raise ValueError(f"--pairs {self.pairs}: must be 8 or more")
        check_effort(TRIALS, self.confidence, self.seed)
        for name in self.methods:
            find(name)


def audit_rebuild(options: RebuildOptions, *, progress: Progress = quiet) -> list[RebuildRow]:
    """Return one row a method; a ValueError of one line for options that do not fit."""
    effort = Effort(confidence=options.confidence, rows=len(options.methods), seed=options.seed)
    clients = options.clients or (300 if options.dataset == "generated" else None)
    run = RunOptions(dataset=options.dataset, clients=clients, epsilon=options.epsilon, seed=options.seed,
                     settings=options.settings, reference=False, nulls=False, device="cpu", engine="local",
                     out=None)  # fmt: skip
    rows = []
    for number, cell in enumerate(cells_of(options.methods, run, {})):
        people = load_population(cell.options)

        def tell(share: float, before: int = number) -> None:
            progress("runs", (before + share) / len(options.methods))

        rows.append(_row(cell.options, people, options, effort, tell))
    return rows


def _row(
    options: RunOptions, people: Population, asked: RebuildOptions, effort: Effort, tell: Callable[[float], None]
) -> RebuildRow:
    split = set_up(options, population=people).repeats[0].split
    found: list[tuple[ScoredPairs, ScoredPairs]] = []
    level = Level("unprotected")
    words = ""
    for number in range(asked.runs):
        tell(number / asked.runs)
        drawn = draw_pairs(people, attacked_people(split, len(people)), asked.pairs, (asked.seed, number))
        coins = np.random.default_rng([asked.seed, number, *b"coins"]).random(len(drawn.coins)) < 0.5
        seeds = {"noise": asked.seed * 1_000_003 + number, "training": asked.seed * 1_000_003 + number}
        seen = without_edges(people, drawn.coins[~coins])
        release = run_once(set_up(replace(options, seeds={**options.seeds, **seeds}), population=seen), split)
        found.append(pair_signals(release, seen, drawn, coins))
        level = level_of_readers(release.outcome.guarantee)
        words = _words(release, asked.runs)
    return rebuild_row(options.method, found, level, effort, detail=words)


def level_of_readers(guarantee: Guarantee) -> Level:
    """Return what holds for an edge towards those who read what is published.

    An owner has every edge in clear; the guarantee of its release names the readers' loss as a figure.
    """
    edge, person = guarantee.holds[LEVEL], guarantee.holds["central_node"]
    if edge.status == "unprotected" and "published" in edge.figures:
        return Level("bounded", edge.figures["published"], edge.figures["delta"])
    if edge.status == "unprotected" and "edge" in person.figures:
        return Level("bounded", person.figures["edge"], person.delta)
    return edge


@dataclass(frozen=True, eq=False)
class Drawn:
    """Pairs of one run; no pair is in two lists.

    Args:
        edges: int64 (k, 2), edges that the run sees.
        others: int64 (k, 2), pairs without an edge.
        coins: int64 (c, 2), edges that coins decide about.
    """

    edges: IntArray
    others: IntArray
    coins: IntArray


def attacked_people(split: Split, n: int) -> BoolArray:
    """bool (n,): people between whom edges are attacked: an owner's private people, or everybody."""
    private = getattr(split, "private", None)
    found = np.full(n, private is None)
    if private is not None:
        found[private] = True
    return found


def draw_pairs(people: Population, who: BoolArray, most: int, seed: tuple[int, int]) -> Drawn:
    """Draw the pairs of a run: edges of people in random order, until there are enough.

    At most a quarter of the edges are real pairs, and at most an eighth are edges of coins: the run still sees the
    graph.

    Args:
        people: The people as they are.
        who: bool (n,), both ends of a pair are among them.
        most: Largest number of pairs of each list.
        seed: Seeds of the draw.

    Raises:
        ValueError: for fewer than :data:`FEWEST` edges.
    """
    rng = np.random.default_rng([*seed, *b"pairs"])
    edges = people.edges.T[who[people.edges].all(axis=0)].astype(np.int64)
    if len(edges) < FEWEST:
        raise ValueError(f"{people.name}: {len(edges)} edges can be attacked; {FEWEST} are needed")
    place = np.empty(len(people), np.int64)
    place[rng.permutation(len(people))] = np.arange(len(people))
    edges = np.where((place[edges[:, :1]] > place[edges[:, 1:]]), edges[:, ::-1], edges)
    edges = edges[np.lexsort((rng.random(len(edges)), place[edges[:, 0]]))]
    real, coins = min(most, len(edges) // 4), min(most, len(edges) // 8)
    chosen = rng.permutation(edges[: real + coins])
    return Drawn(chosen[:real], _without_an_edge(people, who, chosen[:real], rng), chosen[real:])


def _without_an_edge(people: Population, who: BoolArray, edges: IntArray, rng: np.random.Generator) -> IntArray:
    """Return for each edge a pair of its left end with a random stranger, (k, 2); fewer where none is found."""
    n, candidates = len(people), np.flatnonzero(who)
    ends = people.edges.astype(np.int64)
    linked = np.sort(np.concatenate([ends[0] * n + ends[1], ends[1] * n + ends[0]]))
    left, found = edges[:, 0], np.zeros(0, np.int64)
    for _ in range(_TRIES):
        right = rng.choice(candidates, len(left))
        code = left * n + right
        free = (right != left) & (linked[np.searchsorted(linked, code) % len(linked)] != code)
        found, left = np.concatenate([found, code[free]]), left[~free]
    found = np.unique(found)
    return np.stack(np.divmod(rng.permutation(found), n), axis=1)


def without_edges(people: Population, gone: IntArray) -> Population:
    """Return the people without some edges, int64 (k, 2), in the lists of both ends."""
    n = len(people)
    rows = np.repeat(np.arange(n), np.diff(people.neighbour_indptr))
    code = rows * n + people.neighbour_indices
    kept = ~np.isin(code, np.concatenate([gone[:, 0] * n + gone[:, 1], gone[:, 1] * n + gone[:, 0]]))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=n))]).astype(np.int64)
    return replace(people, neighbour_indptr=starts, neighbour_indices=people.neighbour_indices[kept])


def pair_signals(
    release: Publication, seen: Population, drawn: Drawn, coins: BoolArray
) -> tuple[ScoredPairs, ScoredPairs]:
    """Return the real pairs and the edges of coins, with the signals of each; every second pair teaches.

    Args:
        release: The publication of a run on the people ``seen``.
        seen: The people without the edges whose coin fell so.
        drawn: The pairs.
        coins: bool (c,), whether the run saw an edge.
    """
    lists = drawn.edges, drawn.others, drawn.coins
    pairs = np.concatenate(lists)
    published = published_probabilities(release.outcome, release.setup, seen)
    signals = {PUBLIC: public_signals(release.labels, release.features, pairs), SIMILAR: similarity(published, pairs)}
    influence = influences(release, seen, pairs, published)
    if influence is not None:
        signals[INFLUENCE] = influence
    real = len(drawn.edges) + len(drawn.others)
    linked = np.concatenate([np.arange(real) < len(drawn.edges), coins])
    taught = np.concatenate([np.arange(len(each)) % 2 == 0 for each in lists])
    first, second = slice(real), slice(real, None)
    return tuple(  # type: ignore[return-value]
        ScoredPairs({name: rows[part] for name, rows in signals.items()}, linked[part], taught[part])
        for part in (first, second)
    )


def _words(release: Publication, runs: int) -> str:
    """Return what the attacker has, and how many runs there were."""
    known = [name for name, there in (("labels", (release.labels >= 0).any()),
                                      ("features", release.features is not None)) if there]  # fmt: skip
    words = f"{runs} runs; public: {' and '.join(known) or 'nothing about people'}"
    if release.setup.method.knows_graph():
        words += "; the edges are public too, and this attacker does not have them"
    return words

"""Stress test: every adversary against every protection, each on devices of its own.

The recovery is measured after each number of asks and compared with theory: the one-query
bound if the protection covers the adversary, else T independent answers. A row passes if they
agree within six standard deviations. If devices and adversaries are right, a run fails by chance
with probability below 1e-6.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from devices import datasets
from devices.client_app import release_states
from devices.collector import CollectorKey
from devices.data.population import Population
from devices.enrolment.state import enrol
from devices.mechanisms import GRR, OneBit, RandomizedResponse
from devices.noise import derive_key
from devices.policy.policy import policy_for
from devices.query import Ask, Query
from strategies.attacks.adversaries.varying import GhostFirst
from strategies.attacks.stress.cost import tell_cost
from strategies.attacks.stress.grids import UnguardedGrid
from strategies.attacks.stress.options import StressOptions, StressResult, adversaries
from strategies.attacks.stress.protections import PINNED, REAL, UnguardedApp
from strategies.attacks.stress.registered import STRIKING, run_attack
from strategies.attacks.stress.registered import covered as is_covered
from strategies.attacks.stress.repeating import PLAIN, attack
from strategies.attacks.stress.tallies import Recovery, Tally, Truth, milestones
from strategies.engines.collect import quiet_flower
from strategies.engines.grids import LocalGrid
from strategies.engines.pool import processes
from strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from strategies.setup.options import Seeds

# Guard kept between the messages of a run, and lost by the other two (flower.md's state table).
_GUARD_HOLDS = ("repeat",)
AFTER = "after-fault"  # asks another question after each strike
_EDGES = {
    "edge_precision": "precision", "edge_recall": "recall", "edge_top": "top",
    "prior_precision": "prior_precision", "prior_recall": "prior_recall",
}  # fmt: skip
_DEVIATIONS = 6.0  # a chance of 2e-9 a row, and a comparison has a few hundred rows


@dataclass(frozen=True)
class _Case:
    options: StressOptions
    protection: str
    adversary: str
    fault: str = "none"

    @property
    def name(self) -> str:
        return " ".join([self.protection, self.adversary, *([] if self.fault == "none" else [self.fault])])


def question(population: Population, epsilon_bit: float, collection: str = "stress") -> Query:
    """Return the question about all attributes of the population, with the same loss for each entry.

    Raises:
        ValueError: for a budget that no threshold can have.
    """
    facts = population.facts
    try:
        asks = [Ask("adjacency", (RandomizedResponse.from_epsilon(epsilon_bit, n=facts.n),))]
        if facts.d:
            one_bit = OneBit.from_epsilon(epsilon_bit, d=facts.d, low=facts.feature_low, high=facts.feature_high)
            asks.append(Ask("features", (one_bit,)))
        if facts.classes >= 2:
            asks.append(Ask("label", (GRR.from_epsilon(epsilon_bit, categories=facts.classes),)))
    except ValueError as error:
        raise ValueError(f"--epsilon-bit {epsilon_bit:g}: {error}") from None
    return Query(collection, (tuple(asks),))


@noted_if_interrupted(lambda: NOTHING_KEPT)
def stress(options: StressOptions, *, progress: Progress = quiet) -> StressResult:
    """Run the adversaries and return their recoveries.

    Raises:
        ValueError: one line, for options that do not fit or data that are missing.
    """
    started = time.perf_counter()
    progress("population", None)
    population = _load(options)
    question(population, options.epsilon_bit)
    Truth.of(population)
    cases = _cases(options)
    tell_cost(population.facts, len(cases), milestones(options.asks), options.workers)
    rows: list[dict[str, Any]] = []
    answers: dict[str, dict[str, int]] = {}
    for case, (found, counted) in zip(cases, _all(cases, population, progress), strict=True):
        rows += found
        answers[case.name] = counted
    settings = {
        "dataset": population.name, "digest": population.digest, "nodes": len(population),
        "edges": int(population.edges.shape[1]), "classes": population.facts.classes, "seed": options.seed,
        "epsilon_bit": options.epsilon_bit, "asks": list(milestones(options.asks)),
        "protections": list(dict.fromkeys(case.protection for case in cases)),
        "adversaries": sorted({case.adversary for case in cases if case.fault == "none"}),
        "faults": sorted({case.fault for case in cases if case.fault != "none"}),
    }  # fmt: skip
    return StressResult(rows, settings, time.perf_counter() - started, answers)


def _cases(options: StressOptions) -> list[_Case]:
    everything = not (options.adversaries or options.faults)
    asking = tuple(adversaries()) if everything else options.adversaries
    striking = tuple(STRIKING) if everything else options.faults
    cases = []
    for protection in options.protections:
        # plain adversaries suffice against unprotected devices; the others attack the real ones
        fitting = [name for name in asking if name in PLAIN or protection in REAL]
        if protection == PINNED:  # to their own collector they are the devices of "refuse": a stranger is new
            chosen = options.adversaries or (GhostFirst.name,)
            fitting = [name for name in asking if name in chosen and name not in PLAIN]
        cases += [_Case(options, protection, name) for name in fitting]
        if protection in REAL and (protection != PINNED or options.faults):
            cases += [_Case(options, protection, AFTER, fault) for fault in striking]
    if not cases:
        raise ValueError(
            f"--protection {' '.join(options.protections)}: only {', '.join(PLAIN)} attack devices without a ledger, "
            f"and only the others attack {PINNED} ones"
        )
    return cases


def _load(options: StressOptions) -> Population:
    seed = Seeds.derive(options.seed).population
    return datasets.load(options.dataset, data_dir=options.data_dir, clients=options.clients, seed=seed)


def _all(
    cases: Sequence[_Case], population: Population, tell: Progress
) -> Iterator[tuple[list[dict[str, Any]], dict[str, int]]]:
    workers = min(cases[0].options.workers, len(cases))
    if workers == 1:
        for number, case in enumerate(cases):
            done, phase = number / len(cases), case.protection
            tell(phase, done)
            yield _measure(case, population, lambda share, d=done, p=phase: tell(p, d + share / len(cases)))  # type: ignore[misc]
        return
    with processes(workers, prepare=None) as pool:
        for number, result in enumerate(pool.in_order(_measure_alone, cases)):
            tell("stress", (number + 1) / len(cases))
            yield result


def _measure_alone(case: _Case) -> tuple[list[dict[str, Any]], dict[str, int]]:
    return _measure(case, _load(case.options), lambda share: None)


def _measure(
    case: _Case, population: Population, tell: Callable[[float], None]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    marks = milestones(case.options.asks)
    query, truth = question(population, case.options.epsilon_bit), Truth.of(population)
    rows: list[dict[str, Any]] = []
    counted: Counter[str] = Counter()

    def once(asks: int, among: tuple[int, ...]) -> None:
        tally = Tally(population, truth, query)

        def heard(number: int) -> None:
            tell(number / marks[-1])
            if number in among:
                rows.extend(_rows(case, number, tally.recoveries(number)))

        if case.adversary in PLAIN:
            with _nodes(case, population, query) as grid:
                counted.update(attack(case.adversary, grid, query, tally, asks=asks, heard=heard))
        else:
            with _home(case, population, query) as home:
                key = _collector(case)
                outcome = run_attack(case.adversary, case.fault, home, query, tally, asks=asks, collector=key)
                counted.update(outcome.answers)
            heard(asks)

    if case.adversary in ("repeat", "new-run"):
        once(marks[-1], marks)
    else:
        for asks in marks:  # devices remember earlier asks, so each number of asks has devices of its own
            once(asks, (asks,))
    return rows, dict(counted)


@contextmanager
def _nodes(case: _Case, population: Population, query: Query) -> Iterator[LocalGrid]:
    """Make devices of one protection and the grid that reaches them."""
    seed = Seeds.derive(case.options.seed).noise or 0
    with quiet_flower():
        if case.protection not in REAL:
            app = UnguardedApp(population, seed=seed, guarded=case.protection == "context-state")
            order = "copy-then-write" if case.adversary == "at-once" else "serial"
            yield UnguardedGrid(app, len(population), order=order)  # type: ignore[arg-type]
            return
        with _home(case, population, query) as home:
            yield LocalGrid(home, len(population))


@contextmanager
def _home(case: _Case, population: Population, query: Query) -> Iterator[Path]:
    """Enrol real devices, with the loss of the question as their cap, in a folder of their own."""
    seed = Seeds.derive(case.options.seed).noise or 0
    on_requery: Literal["refuse", "replay"] = "replay" if case.protection == "replay" else "refuse"
    with tempfile.TemporaryDirectory(prefix="ldpsim-stress-") as folder:
        home = Path(folder) / "state"
        key = _collector(case)
        public = None if key is None else key.public
        policy = policy_for([query], population.facts, on_requery=on_requery, collector=public)
        enrol(home, population, policy, seed=seed).close()
        try:
            yield home
        finally:
            release_states()


def _collector(case: _Case) -> CollectorKey | None:
    """Return the key that the devices of a case pin."""
    if case.protection != PINNED:
        return None
    seed = case.options.seed.to_bytes(16, "little", signed=True)
    return CollectorKey(Path("stress"), derive_key(seed, b"ldpsim stress collector"))


def _rows(case: _Case, asks: int, recoveries: dict[str, Recovery]) -> list[dict[str, Any]]:
    plain = case.adversary in PLAIN
    if plain:
        covered = case.protection in REAL or (case.protection == "context-state" and case.adversary in _GUARD_HOLDS)
    else:
        covered = is_covered(case.adversary, case.fault)
    return [
        {
            "adversary": case.adversary, "fault": case.fault, "protection": case.protection, "covered": covered,
            "attribute": attribute, "asks": asks, "recovered": found.recovered, "one_query_bound": found.bound,
            "theory": found.theory, "distinct_releases": found.releases, "values": found.values,
            **{column: getattr(found.edges, name) if found.edges else None for column, name in _EDGES.items()},
            "passed": agrees(found, covered=covered, asks=asks, plain=plain),
        }
        for attribute, found in recoveries.items()
    ]  # fmt: skip


def agrees(found: Recovery, *, covered: bool, asks: int, plain: bool = True) -> bool:
    """Whether a recovery agrees with theory.

    Args:
        found: The recovery.
        covered: Whether one answer is expected; else ``asks`` independent ones.
        asks: Number of answers that an uncovered device gives.
        plain: Whether the adversary gets exactly the expected answers. The others may get less.
    """
    if not plain and not covered:
        return True  # the row shows its real loss
    expected, releases = (found.bound, 1) if covered else (found.theory, asks)
    slack = _DEVIATIONS * math.sqrt(expected * (1 - expected) / found.values) + 20 / found.values
    above = found.recovered - expected
    if not plain:
        return above <= slack and found.releases <= 1
    return abs(above) <= slack and found.releases == releases

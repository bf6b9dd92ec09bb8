"""Stress test: every adversary against every protection, each on devices of its own.

The recovery is measured after each number of asks and compared with theory: the one-query
bound if the protection covers the adversary, else T independent answers. A row passes if they
agree within six standard deviations. If devices and adversaries are right, a run fails by chance
with probability below 1e-6.

Each number of asks has devices of its own, unless the adversary asks everybody once a round. Only distinct answers
count. If the protection covers an adversary, it may learn less than one answer gives (a greedy first question is
refused), but not more.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ldpsim.curator.names import check_known
from ldpsim.devices import datasets
from ldpsim.devices.curator_key import CuratorKey
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import GRR, OneBit, RandomizedResponse
from ldpsim.devices.noise import derive_key
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries.curator import Curator, Target
from ldpsim.strategies.attacks.adversaries.table import ADVERSARIES, PLAIN, Adversary
from ldpsim.strategies.attacks.campaign import Campaign, CampaignResult
from ldpsim.strategies.attacks.stress.recovery import EDGES, Tally, Truth
from ldpsim.strategies.attacks.stress.unguarded import UnguardedApp, UnguardedGrid
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results.rows import Row
from ldpsim.strategies.setup.option_spec import declared, set_python_values
from ldpsim.strategies.setup.options import RunOptions, Seeds

SCHEMA = 2
GUARDED, PINNED = "context-state", "pinned"
REAL = ("refuse", "replay", PINNED)  # devices with a ledger; pinned ones refuse, and answer their curator alone
PROTECTIONS = ("none", GUARDED, *REAL)
EVERY: Mapping[str, Adversary] = {**PLAIN, **ADVERSARIES}
COLUMNS = (
    "protection", "adversary", "covered", "attribute", "asks", "found", "recovered", "one_query_bound", "theory",
    "constant_guess", "distinct_releases", *EDGES, "passed",
)  # fmt: skip
_AT_ONCE = "at-once"
_DEVIATIONS = 6.0  # a chance of 2e-9 a row, and a comparison has a few hundred rows


@dataclass(frozen=True, kw_only=True)
class StressOptions:
    """Options of a stress test.

    Args:
        dataset, clients, data_dir: The population, as in :class:`strategies.RunOptions`.
        seed: Seed of the population, of the devices' secrets and of the noise without a ledger.
        protections: Some of ``none``, ``context-state``, ``refuse``, ``replay``, ``pinned``.
        adversaries: Names; empty for all.
        asks: Numbers of asks after which recovery is measured; they are put in rising order.
        epsilon_bit: Loss of one bit of a list, of one feature, and of the label.
        workers: Number of comparisons that run at a time, each in a process.

    Raises:
        ValueError: one line, for options that do not fit.
    """

    dataset: str = "generated"
    clients: int | None = None
    data_dir: Path | None = None
    seed: int = 0
    protections: tuple[str, ...] = PROTECTIONS
    adversaries: tuple[str, ...] = ()
    asks: tuple[int, ...] = (1, 5, 25)
    epsilon_bit: float = 1.0
    workers: int = 1

    def __post_init__(self) -> None:
        set_python_values(self)
        for option, names, allowed in (
            ("protection", self.protections, PROTECTIONS), ("adversary", self.adversaries, EVERY),
        ):  # fmt: skip
            for name in names:
                check_known(option, name, allowed)
        for asked in self.asks or (0,):
            if not 1 <= asked <= 65535:
                raise ValueError(f"--asks {asked}: must be numbers of 1 to 65,535, joined by commas")
        object.__setattr__(self, "asks", tuple(sorted(set(self.asks))))
        if not (math.isfinite(self.epsilon_bit) and self.epsilon_bit > 0):
            raise ValueError(f"--epsilon-bit {self.epsilon_bit:g}: a budget must be a finite number above 0")
        for name in ("clients", "seed", "workers"):
            declared(RunOptions)[name].check(getattr(self, name))

    def load(self) -> Population:
        """Return the people.

        Raises:
            ValueError: one line, for data that are missing or do not fit.
        """
        seed = Seeds.derive(self.seed).population
        return datasets.load(self.dataset, data_dir=self.data_dir, clients=self.clients, seed=seed)


@dataclass(frozen=True)
class StressCase:
    """An adversary against one protection.

    Args:
        options: The whole test.
        protection, adversary: Their names.
    """

    options: StressOptions
    protection: str
    adversary: str

    @property
    def name(self) -> str:
        """Name in result.json."""
        return f"{self.protection} {self.adversary}"

    @property
    def plain(self) -> bool:
        """Whether the adversary gets exactly the expected answers. The others may get less."""
        return self.adversary in PLAIN

    @property
    def covered(self) -> bool:
        """Whether one answer is expected; else as many as there are asks."""
        # the guard is kept between the messages of a run
        return self.protection in REAL or (self.protection == GUARDED and self.adversary == "repeat")


def cases_of(options: StressOptions) -> list[StressCase]:
    """Return the cases.

    Raises:
        ValueError: where no adversary fits a protection.
    """
    cases = []
    for protection in options.protections:
        # plain adversaries suffice against unprotected devices; the others attack the real ones
        fitting = [name for name in options.adversaries or tuple(EVERY)
                   if name in PLAIN or protection in REAL]  # fmt: skip
        if protection == PINNED:  # to their own curator they are the devices of "refuse": a stranger is new
            fitting = [name for name in options.adversaries or ("ghost-first",) if name not in PLAIN]
        cases += [StressCase(options, protection, name) for name in fitting]
    if not cases:
        raise ValueError(
            f"--protection {' '.join(options.protections)}: only {', '.join(PLAIN)} attack devices without a ledger, "
            f"and only the others attack {PINNED} ones"
        )
    return cases


def question(population: Population, epsilon_bit: float) -> Query:
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
    return Query("stress", (tuple(asks),))


@contextmanager
def target_of(case: StressCase, population: Population, query: Query) -> Iterator[Target]:
    """Make the devices of a case, which nobody asked yet; they are gone at the end.

    Args:
        case: Its protection is that of the devices.
        population: The people.
        query: The question; its loss is the cap of devices with a ledger.
    """
    seed, facts = case.options.seed, population.facts
    noise = Seeds.derive(seed).noise or 0
    if case.protection not in REAL:
        app = UnguardedApp(population, seed=noise, guarded=case.protection == GUARDED)
        connect = partial(UnguardedGrid, app, len(population), at_once=case.adversary == _AT_ONCE)
        yield Target(query, facts, len(population), connect)
        return
    key = None
    if case.protection == PINNED:
        secret = derive_key(seed.to_bytes(16, "little", signed=True), b"ldpsim stress collector")
        key = CuratorKey(Path("stress"), secret)
    policy = policy_for(
        [query], facts, on_requery="replay" if case.protection == "replay" else "refuse",
        collector=None if key is None else key.public,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="ldpsim-stress-") as folder:
        home = Path(folder) / "state"
        enrol(home, population, policy, seed=noise).close()
        yield Target.of(home, query, key)


def measure_case(case: StressCase) -> dict[str, Any]:
    """Carry out a case; return its rows and the numbers of answers by kind (a worker's task)."""
    options = case.options
    population = options.load()
    truth, query = Truth.of(population), question(population, options.epsilon_bit)
    rows: list[Row] = []
    answers: Counter[str] = Counter()
    grows = case.plain and case.adversary != _AT_ONCE  # round t is the t-th ask of everybody
    for asks in options.asks[-1:] if grows else options.asks:
        tally = Tally(population, truth, query)

        def note(number: int, tally: Tally = tally) -> None:
            for row in tally.rows(number) if number in options.asks else ():
                passed = agrees(row, covered=case.covered, plain=case.plain)
                rows.append({"adversary": case.adversary, "protection": case.protection, "covered": case.covered,
                             **row, "passed": passed})  # fmt: skip

        with target_of(case, population, query) as target:
            if case.plain:  # too many reports to be kept: each is added when it comes
                curator = Curator(target, keep=tally.add, heard=note if grows else lambda number: None)
                result = curator.carry_out(PLAIN[case.adversary].runs(target, asks))
            else:
                result = ADVERSARIES[case.adversary].attack(target, asks=asks)
                tally.add_releases(result)
        answers.update(result.answers)
        if not grows:
            note(asks)
    return {"rows": rows, "answers": dict(answers)}


def agrees(row: Row, *, covered: bool, plain: bool = True) -> bool:
    """Whether a recovery agrees with theory.

    Args:
        row: A row of :meth:`Tally.rows`.
        covered: Whether one answer is expected; else as many independent ones as asks.
        plain: Whether the adversary gets exactly the expected answers. The others may get less.
    """
    expected, releases = (row["one_query_bound"], 1) if covered else (row["theory"], row["asks"])
    slack = _DEVIATIONS * math.sqrt(expected * (1 - expected) / row["values"]) + 20 / row["values"]
    above = row["recovered"] - expected
    if not plain:
        return bool(above <= slack and row["distinct_releases"] <= 1)
    return bool(abs(above) <= slack and row["distinct_releases"] == releases)


def campaign_of(options: StressOptions) -> Campaign:
    """Return the campaign of ``ldpsim stress``.

    Raises:
        ValueError: one line, for options that do not fit or data that are missing.
    """
    population, cases = options.load(), cases_of(options)
    question(population, options.epsilon_bit)
    Truth.of(population)
    settings = {
        "dataset": population.name, "digest": population.digest, "nodes": len(population),
        "edges": int(population.edges.shape[1]), "classes": population.facts.classes, "seed": options.seed,
        "epsilon_bit": options.epsilon_bit, "asks": list(options.asks),
        "protections": list(dict.fromkeys(case.protection for case in cases)),
        "adversaries": sorted({case.adversary for case in cases}),
    }  # fmt: skip
    return Campaign(
        "stress", {case.name: case for case in cases}, measure_case,
        lambda results: [row for result in results.values() for row in result["rows"]], COLUMNS, record_of, settings,
        population.digest, trains=False,
    )  # fmt: skip


def record_of(result: CampaignResult) -> dict[str, Any]:
    """Return the content of result.json."""
    return {
        "schema": SCHEMA, "rows": result.rows, "passed": result.passed, "settings": result.settings,
        "answers": {name: each["answers"] for name, each in result.results.items()}, "seconds": result.seconds,
    }  # fmt: skip


def stress(options: StressOptions, out: Path | None = None, *, progress: Progress = quiet) -> CampaignResult:
    """Let curators ask repeatedly, and measure what they recover (``ldpsim stress``).

    Args:
        options: The options.
        out: Folder below which table and result are written, and a stopped test is continued; None keeps nothing.
        progress: Function that is told the phase and the share of it that is done.

    Raises:
        ValueError: one line, for options that do not fit, data that are missing, or a folder that cannot be written.
    """
    progress("population", None)
    return campaign_of(options).run(out, workers=options.workers, progress=progress)

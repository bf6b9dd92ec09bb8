"""Stress test: every adversary against every protection, each on devices of its own.

The recovery is measured after each number of asks and compared with theory: the one-query
bound if the protection covers the adversary, else T independent answers. A row passes if they
agree within six standard deviations. If devices and adversaries are right, a run fails by chance
with probability below 1e-6.

Each number of asks has devices of its own, unless the adversary asks everybody once a round. Only distinct answers
count. If the protection covers an adversary, it may learn less than one answer gives (a greedy first question is
refused), but not more. A row that is not covered shows its real loss: a fault that strikes T - 1 times gives T answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpsim.strategies.attacks.adversaries import ADVERSARIES, AdversarialCurator, Target
from ldpsim.strategies.attacks.adversaries.faults import AfterFault
from ldpsim.strategies.attacks.adversaries.varying import GhostFirst
from ldpsim.strategies.attacks.campaign import AttackRow, Campaign, CampaignResult
from ldpsim.strategies.attacks.cells import Tell
from ldpsim.strategies.attacks.stress.figure import draw_campaign
from ldpsim.strategies.attacks.stress.known import EVERY, NO_FAULT, STRIKING
from ldpsim.strategies.attacks.stress.options import StressOptions
from ldpsim.strategies.attacks.stress.plain import PLAIN, PlainAtOnce, PlainRepeat
from ldpsim.strategies.attacks.stress.protections import GUARDED, PINNED, REAL
from ldpsim.strategies.attacks.stress.tallies import Recovery, Tally, Truth, milestones
from ldpsim.strategies.attacks.stress.targets import question, target_of

SCHEMA = 1
_EDGES = {
    "edge_precision": "precision", "edge_recall": "recall", "edge_top": "top",
    "prior_precision": "prior_precision", "prior_recall": "prior_recall",
}  # fmt: skip
_DEVIATIONS = 6.0  # a chance of 2e-9 a row, and a comparison has a few hundred rows


@dataclass(frozen=True)
class StressCase:
    """An adversary, or a fault of the devices' state, against one protection.

    Args:
        options: The whole test.
        protection, adversary, fault: Their names; a fault has the adversary ``after-fault``.
    """

    options: StressOptions
    protection: str
    adversary: str
    fault: str = NO_FAULT

    @property
    def name(self) -> str:
        """Name in result.json."""
        return " ".join([self.protection, self.adversary, *([] if self.fault == NO_FAULT else [self.fault])])

    @property
    def plain(self) -> bool:
        """Whether the adversary gets exactly the expected answers. The others may get less."""
        return self.adversary in PLAIN

    @property
    def covered(self) -> bool:
        """Whether one answer is expected; else as many as there are asks."""
        if self.plain:  # the guard is kept between the messages of a run (flower.md's state table)
            return self.protection in REAL or (self.protection == GUARDED and self.adversary == PlainRepeat.name)
        return (
            STRIKING[self.fault].covered if self.adversary == AfterFault.name else ADVERSARIES[self.adversary].covered
        )

    def curator(self, target: Target, tally: Tally, asks: int, heard: Callable[[int], None]) -> AdversarialCurator:
        """Return the adversary; a plain one tells each round."""
        if self.plain:
            return PLAIN[self.adversary](target, tally, asks=asks, heard=heard)
        if self.adversary == AfterFault.name:
            return STRIKING[self.fault].curator(target, asks=asks)
        return ADVERSARIES[self.adversary](target, asks=asks)


def cases_of(options: StressOptions) -> list[StressCase]:
    """Return the cases.

    Raises:
        ValueError: where no adversary fits a protection.
    """
    everything = not (options.adversaries or options.faults)
    asking = tuple(EVERY) if everything else options.adversaries
    striking = tuple(STRIKING) if everything else options.faults
    cases = []
    for protection in options.protections:
        # plain adversaries suffice against unprotected devices; the others attack the real ones
        fitting = [name for name in asking if name in PLAIN or protection in REAL]
        if protection == PINNED:  # to their own collector they are the devices of "refuse": a stranger is new
            chosen = options.adversaries or (GhostFirst.name,)
            fitting = [name for name in asking if name in chosen and name not in PLAIN]
        cases += [StressCase(options, protection, name) for name in fitting]
        if protection in REAL and (protection != PINNED or options.faults):
            cases += [StressCase(options, protection, AfterFault.name, fault) for fault in striking]
    if not cases:
        raise ValueError(
            f"--protection {' '.join(options.protections)}: only {', '.join(PLAIN)} attack devices without a ledger, "
            f"and only the others attack {PINNED} ones"
        )
    return cases


def measure_case(case: StressCase, tell: Tell = lambda share: None) -> dict[str, Any]:
    """Carry out a case; return its rows and the numbers of answers by kind (a worker's task)."""
    population = case.options.load()
    marks, truth = milestones(case.options.asks), Truth.of(population)
    query = question(population, case.options.epsilon_bit)
    rows: list[AttackRow] = []
    answers: Counter[str] = Counter()
    grows = case.plain and PLAIN[case.adversary].grows
    for asks, among in [(marks[-1], marks)] if grows else [(asks, (asks,)) for asks in marks]:
        tally = Tally(population, truth, query)

        def heard(number: int, tally: Tally = tally, among: Sequence[int] = among) -> None:
            tell(number / marks[-1])
            if number in among:
                rows.extend(_rows(case, number, tally.recoveries(number)))

        at_once = case.adversary == PlainAtOnce.name
        with target_of(case.protection, population, query, case.options.seed, at_once=at_once) as target:
            outcome = case.curator(target, tally, asks, heard if grows else lambda number: None).attack()
        tally.add_releases(outcome)
        answers.update(outcome.answers)
        if not grows:
            heard(asks)
    return {"rows": rows, "answers": dict(answers)}


def _rows(case: StressCase, asks: int, recoveries: Mapping[str, Recovery]) -> list[AttackRow]:
    return [
        {
            "adversary": case.adversary, "fault": case.fault, "protection": case.protection, "covered": case.covered,
            "attribute": attribute, "asks": asks, "recovered": found.recovered, "one_query_bound": found.bound,
            "theory": found.theory, "constant_guess": found.constant, "distinct_releases": found.releases,
            "values": found.values,
            **{column: getattr(found.edges, name) if found.edges else None for column, name in _EDGES.items()},
            "passed": agrees(found, covered=case.covered, asks=asks, plain=case.plain),
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


class StressCampaign(Campaign[StressCase]):
    """Campaign of ``ldpsim stress``.

    Args:
        options: The options.

    Raises:
        ValueError: one line, for options that do not fit or data that are missing.
    """

    command = "stress"
    columns = (
        "protection", "adversary", "fault", "covered", "attribute", "asks", "recovered", "one_query_bound", "theory",
        "constant_guess", "distinct_releases", "edge_precision", "edge_recall", "edge_top", "prior_precision",
        "prior_recall", "passed",
    )  # fmt: skip
    trains = False
    tells = True
    measure = measure_case

    def __init__(self, options: StressOptions) -> None:
        population = options.load()
        question(population, options.epsilon_bit)
        Truth.of(population)
        cases, marks = cases_of(options), milestones(options.asks)
        self.facts, self.marks = population.facts, marks
        settings = {
            "dataset": population.name, "digest": population.digest, "nodes": len(population),
            "edges": int(population.edges.shape[1]), "classes": population.facts.classes, "seed": options.seed,
            "epsilon_bit": options.epsilon_bit, "asks": list(marks),
            "protections": list(dict.fromkeys(case.protection for case in cases)),
            "adversaries": sorted({case.adversary for case in cases if case.fault == NO_FAULT}),
            "faults": sorted({case.fault for case in cases if case.fault != NO_FAULT}),
        }  # fmt: skip
        super().__init__(cases, settings, people=population.digest, workers=options.workers)

    def rows(self, results: Mapping[str, Any]) -> list[AttackRow]:
        """Return the rows of the cases that have a result."""
        return [row for case in self.cells if case.name in results for row in results[case.name]["rows"]]

    def record(self, result: CampaignResult) -> dict[str, Any]:
        """Return the content of result.json."""
        answers = {
            case.name: result.results[case.name]["answers"] for case in self.cells if case.name in result.results
        }
        return {
            "schema": SCHEMA, "rows": result.rows, "passed": result.passed, "settings": result.settings,
            "answers": answers, "seconds": result.seconds,
        }  # fmt: skip

    def draw(self, result: CampaignResult, path: Path) -> None:
        """Draw the recoveries beside theory."""
        draw_campaign(result, path)

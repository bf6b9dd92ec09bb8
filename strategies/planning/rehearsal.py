"""Worth of a plan's settings, by rehearsal: each one is run, with its null models, on people like those of the plan.

    all people, where all runs together are expected to take less than a minute     -> what `ldpsim run` does
    else a miniature: fewer of these people, with the noise of all of them          -> an estimate

A command that is printed beside a row is made from the options of this run, so it gives the same accuracy.
The people are those of ``--like``: data that are there, or people who are made up with the facts of the plan. An
accuracy on made-up people is measured on nobody, and that of a miniature has no interval that is promised to hold.
"""

from __future__ import annotations

import logging
import math
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import GENERATED
from ldpsim.strategies.engines.pool import available_cores, processes
from ldpsim.strategies.estimate.asked import questions_on_paper
from ldpsim.strategies.estimate.fits import load_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.experiments.failures import Failed, outcomes_of
from ldpsim.strategies.planning.information import LEAST_GAIN, most_gained
from ldpsim.strategies.planning.miniature import save, sizes_of, with_kept_noise
from ldpsim.strategies.planning.on_paper import OnPaper, fewer_queries
from ldpsim.strategies.planning.rows import PlanRow
from ldpsim.strategies.planning.wishes import Wishes, missed_on_paper
from ldpsim.strategies.planning.worth import Worth
from ldpsim.strategies.progress import Progress
from ldpsim.strategies.results.folder import name_of_data
from ldpsim.strategies.results.shown_nulls import asking_nobody, shown_nulls_of, shown_verdict
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone

SECONDS = 60.0  # expected, of all runs of a plan together, above which they are miniatures
LONGEST = 3600.0  # expected, above which there is no rehearsal
_UNKNOWN = 1.0  # seconds of a repeat of a method without constants, in the smallest miniature


@dataclass(frozen=True)
class Like:
    """People on whom a plan is rehearsed.

    Args:
        options: Options with their data set, split and seeds.
        size: Number of people who are there; None: any number can be made up.
        by_facts: Whether they are made up with the facts of the plan, in place of those of the data set.
        digest: Digest of the data; empty for people who are made up.
    """

    options: RunOptions
    size: int | None = None
    by_facts: bool = False
    digest: str = ""

    @property
    def name(self) -> str | None:
        """Name of the data; None for people who are made up."""
        return None if self.options.dataset in GENERATED else name_of_data(self.options.dataset)


@dataclass(frozen=True)
class Rehearsal:
    """Rehearsal of a plan.

    Args:
        people: Number of people of each run.
        planned: Number of people of the plan.
        like: Name of the data whose people they are; None for made-up people.
        seconds: Wall-clock time of all runs.
    """

    people: int
    planned: int
    like: str | None
    seconds: float = 0.0

    @property
    def miniature(self) -> bool:
        """Whether there were fewer people than are planned for."""
        return self.people < self.planned

    @property
    def kind(self) -> str:
        """Word for a run: ``miniature`` or ``rehearsal``."""
        return "miniature" if self.miniature else "rehearsal"

    @property
    def who(self) -> str:
        """The people whose accuracy it is."""
        return "made-up people" if self.like is None else f"people of {self.like}"

    @property
    def words(self) -> str:
        """All of it in words.

        >>> Rehearsal(600, 50_000, None).words, Rehearsal(2708, 2708, "cora").words
        ('miniature: 600 made-up people with the noise of 50,000', 'rehearsal: 2,708 people of cora')
        """
        noise = f" with the noise of {self.planned:,}" if self.miniature else ""
        return f"{self.kind}: {self.people:,} {self.who}{noise}"

    @property
    def note(self) -> str:
        """The words, and what the accuracy is not, in sentences."""
        estimate = " This is an estimate without an interval." if self.miniature else ""
        own = " It is not measured on your people." if self.like is None else ""
        return f"{self.words[:1].upper()}{self.words[1:]}.{estimate}{own}"

    @property
    def lacks(self) -> tuple[str, ...]:
        """Needs of its accuracy before it can be trusted, in words; empty for a rehearsal of all the plan's own people.

        >>> Rehearsal(600, 50_000, None).lacks
        ('people like yours (--like FILE.npz of `ldpsim import`, or a data set)', 'all 50,000 people, not 600')
        >>> Rehearsal(2708, 2708, "cora").lacks
        ()
        """
        yours = "people like yours (--like FILE.npz of `ldpsim import`, or a data set)"
        like = () if self.like is not None else (yours,)
        return (*like, *((f"all {self.planned:,} people, not {self.people:,}",) if self.miniature else ()))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {**vars(self), "miniature": self.miniature, "words": self.words}


def rehearse(
    paper: OnPaper, rows: Mapping[str, PlanRow], wishes: Wishes, like: Like, *, speed: float, people: int | None,
    progress: Progress,
) -> tuple[dict[str, PlanRow], Rehearsal | None]:  # fmt: skip
    """Return the rows with their worth, and how it was found; None if no row was run.

    A row that misses a wish on paper is not run, nor one whose reports say next to nothing.

    Args:
        paper: The people of the plan.
        rows: Method -> row.
        wishes: Wishes of the plan.
        like: The people of the rehearsal.
        speed: CPU time of this machine as a multiple of that of the measured one.
        people: Number of people of a miniature; None: as many as a minute allows, or all.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, where the smallest rehearsal is expected to take more than an hour.
    """
    started = time.perf_counter()
    kept = {name: row if row.why else _told_enough(paper, row) for name, row in rows.items()}
    able = {name: row.options for name, row in kept.items() if not row.why and not missed_on_paper(row, wishes)}
    if not able:
        return kept, None
    workers = min(like.options.workers or available_cores(), len(able))
    size, runs = _affordable(paper, able, like, people, speed / workers)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="ldpsim-plan-") as folder:
        graph = Path(folder) / "people.npz" if like.by_facts else None
        if graph is not None:
            save(made_up_people(paper.facts, like, size), graph)
        trials = {name: trial_of(options, like, size, graph) for name, options in runs.items()}
        with processes(workers, here=True) as pool:
            progress("rehearsing", 0.0)
            for place, outcome in outcomes_of(pool, run_trial, enumerate(trials.values())):
                found[list(trials)[place]] = outcome
                progress("rehearsing", len(found) / len(trials))
    for name, outcome in found.items():
        failed = outcome.line if isinstance(outcome, Failed) else None
        kept[name] = kept[name].with_reasons(f"its rehearsal failed: {failed}") if failed is not None else \
            replace(kept[name], worth=outcome, run=trials[name])  # fmt: skip
    return kept, Rehearsal(size, paper.facts.n, like.name, time.perf_counter() - started)


def _affordable(
    paper: OnPaper, able: Mapping[str, RunOptions], like: Like, people: int | None, speed: float
) -> tuple[int, dict[str, RunOptions]]:
    """Return the largest number of people on whom all runs together take less than a minute, and their options."""
    sizes = sizes_of(paper.facts, people, like.size)
    seconds = math.inf
    for size in sizes:
        runs = {name: at_size(paper, options, size) for name, options in able.items()}
        facts = replace(paper.facts, n=size)
        loads = [load_of(replace(options, clients=size, reference=False), facts, speed=speed)
                 for options in runs.values()]  # fmt: skip
        unknown = _UNKNOWN * like.options.repeats if size == sizes[-1] else math.inf
        seconds = sum(unknown if load is None else load.total for load in loads)
        if seconds < SECONDS:
            break
    if seconds > LONGEST:
        raise ValueError(
            f"the rehearsal on {size:,} people is expected to take more than an hour: fewer --repeats, a smaller "
            "--miniature or fewer METHODs take less, and --no-worth leaves it out"
        )
    return size, runs


def at_size(paper: OnPaper, options: RunOptions, size: int) -> RunOptions:
    """Return the options of a run among so many people: those of a miniature have the noise of all people.

    An owner asks as many queries as the public people of a miniature allow.
    """
    if size >= paper.facts.n:
        return options
    setup = paper.set_up(options)
    kept = with_kept_noise(options, setup, paper.facts.n, size)
    return replace(kept, settings={**kept.settings, **fewer_queries(setup.method, int(0.25 * size))})


def made_up_people(facts: GraphFacts, like: Like, size: int) -> Population:
    """Return the people who are made up with the facts of a plan."""
    return miniature(facts, size, seed=like.options.seeds_of(0).population)


def trial_of(options: RunOptions, like: Like, size: int, graph: Path | None = None) -> RunOptions:
    """Return the options of a run that writes nothing and trains no reference; what only a reference reads is left out.

    Args:
        options: Options of the setting.
        like: The people.
        size: Number of them.
        graph: File of the people who were made up with given facts; None: those of the data set.
    """
    people: dict[str, Any] = {"clients": size}
    if graph is not None:
        people = {"dataset": str(graph), "clients": None, "split": "random"}
    made = replace(options, **people, out=None, workers=None, engine="local", device="cpu", reference=False, force=True)
    return read_alone(made)[0]


def run_trial(options: RunOptions) -> Worth:
    """Run a rehearsal (a worker's task).

    Raises:
        ValueError: one line, if nobody was scored.
    """
    from ldpsim.strategies.runs.simulate import simulate

    logger = logging.getLogger("ldpsim")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        record = simulate(options, keep_graph=False).record
    finally:
        logger.setLevel(before)
    accuracy, name, verdict = record["accuracy"], asking_nobody(record), shown_verdict(record)
    if accuracy["test"] is None:
        raise ValueError("nobody was scored")
    if name is None or verdict is None:
        return Worth(accuracy["test"], accuracy["std"])
    return Worth(accuracy["test"], accuracy["std"], name, shown_nulls_of(record)[name]["test"], verdict["over"][name])


def _told_enough(paper: OnPaper, row: PlanRow) -> PlanRow:
    """Return the row, with a reason against it if its reports cannot raise the accuracy."""
    setup, facts = paper.set_up(row.options), paper.facts.public()
    asked = questions_on_paper(setup.method, facts, setup.budget, row.options)
    gain = most_gained(asked, paper.people[0])
    if not asked or setup.method.spec.trained_by in ("owner", "graph owner") or gain >= LEAST_GAIN:
        return row
    return row.with_reasons(f"reports say next to nothing (worth less than {100 * LEAST_GAIN:g} point): not rehearsed")

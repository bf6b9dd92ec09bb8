"""One cell: devices are enrolled, some of them lie, the curator trains, and everything is measured."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from curator.methods.federated.silos import Silos
from curator.reports.question import Question
from curator.reports.reports import Reports
from devices.array_types import IntArray
from devices.data.population import Population
from strategies.attacks.liars.attacks import EVERY
from strategies.attacks.liars.grid import Memory, among
from strategies.attacks.liars.plan import LyingPlan, agreed_columns, choose_targets, draw_liars
from strategies.attacks.poison.edges import edge_measures, rank_of
from strategies.attacks.poison.joined import Joined
from strategies.attacks.poison.laws import report_measures
from strategies.attacks.poison.options import NONE, PoisonCell
from strategies.engines.collect import collect
from strategies.results.outcome import Outcome
from strategies.rounds.collect_once import Collected
from strategies.runs.nulls import null_models
from strategies.runs.run import RepeatContext
from strategies.runs.set_up import run_of, set_up, temporary_scene
from strategies.setup.run_setup import RunSetup, load_population


@lru_cache(maxsize=2)
def load_people(dataset: str, data_dir: Path | None, clients: int | None, seed: int) -> Population:
    """Return the people of all cells; a process loads them once."""
    from strategies.setup.options import RunOptions

    options = RunOptions(dataset=dataset, data_dir=data_dir, clients=clients, seeds={"population": seed})
    return load_population(options)


def set_up_cell(cell: PoisonCell, heard: list[tuple[Sequence[Question], Collected]] | None = None) -> RunSetup:
    """Return the set-up of a cell's run; ``heard`` keeps the answers of each collection."""
    options, people = cell.options, honest_of(cell)

    def listen(folder: Path, questions: Sequence[Question], **given: Any) -> Collected:
        given.pop("facts", None)  # the measures need the bytes of the answers
        found = collect(folder, questions, engine=options.engine, ray_address=options.ray_address, **given)
        if heard is not None:
            heard.append((questions, replace(found, answers=dict(found.answers))))
        return found

    if cell.joins and cell.share:
        found = Joined(cell, people)
        return set_up(options, listen, population=found.population, divide=found.divide)
    return set_up(options, listen, population=people)


def honest_of(cell: PoisonCell) -> Population:
    """Return the people of a cell without the accounts that joined."""
    options = cell.options
    return load_people(options.dataset, options.data_dir, options.clients, options.seeds_of(0).population)


def liars_of(cell: PoisonCell, people: int, *, share: float | None = None) -> IntArray:
    """int64, sorted: the people who lie in a repeat, at the cell's share or another; or the accounts that joined."""
    if cell.joins:
        return np.arange(len(honest_of(cell)), people)
    return draw_liars(people, cell.share if share is None else share, cell.options.seeds_of(cell.number).split)


def targets_of(cell: PoisonCell, setup: RunSetup) -> IntArray:
    """int64, sorted: the chosen people of a repeat, who are honest at every share."""
    most = liars_of(cell, len(setup.population), share=None if cell.joins else max(cell.asked.shares))
    test = setup.repeats[cell.number].split.test
    return choose_targets(test, most, cell.asked.targets, setup.repeats[cell.number].seeds.population)


def plan_of(cell: PoisonCell, setup: RunSetup, liars: IntArray) -> LyingPlan | None:
    """Return the lies of a cell; None where nobody lies."""
    if cell.attack not in EVERY:
        return None
    method = setup.method
    return LyingPlan(
        EVERY[cell.attack], cell.lie, cell.goal, cell.asked.knowledge, setup.population, liars,
        targets_of(cell, setup), cell.asked.target_class, cell.asked.fakes,
        setup.repeats[cell.number].seeds.split, method.server_clip(),
    )  # fmt: skip


def silos_of(cell: PoisonCell, setup: RunSetup, plan: LyingPlan | None) -> LyingPlan | None:
    """Return the lies of the silos: where the attack is one of a party, the same share of the silos lies."""
    if plan is None or plan.attack.name != "same-direction" or setup.method.trained_by != "silos":
        return None
    return replace(
        plan, liars=draw_liars(cast(Silos, setup.method).silos, cell.share, setup.repeats[cell.number].seeds.split)
    )


def run_poison_cell(cell: PoisonCell) -> dict[str, Any]:
    """Run one cell and return its figures (a worker's task).

    Raises:
        ValueError, Refused, RunFailed: as a run.
    """
    started = time.process_time()
    heard: list[tuple[Sequence[Question], Collected]] = []
    setup = set_up_cell(cell, heard)
    people, run = setup.population, run_of(setup.method)
    liars = liars_of(cell, len(people))
    plan = plan_of(cell, setup, liars)
    silos = silos_of(cell, setup, plan)
    lying = plan if silos is None else None  # silos lie, and their members hand over the truth
    if cell.share and plan is None:
        parts = list(setup.repeats)
        parts[cell.number] = replace(parts[cell.number], silent=frozenset(liars.tolist()))
        setup = replace(setup, repeats=tuple(parts))
    memory = memory_of(setup, cell.number, accounts=liars if cell.joins and len(liars) else None)
    with temporary_scene(setup, cell.number) as scene:
        outcome = run.work(replace(scene, around=among(lying, silos, memory)))
        nulls = _nulls(scene, outcome) if setup.options.nulls else {}
    if outcome.predictions is None:
        raise ValueError(f"{setup.method.name} publishes no class of each person, so that nobody's accuracy is known")
    return {
        "cell": cell.name,
        "reports_sha256": outcome.collected.reports_sha256,
        "predictions": packed_classes(outcome.predictions),
        "nulls": nulls,
        "flagged": flagged_in(outcome),
        "seconds": time.process_time() - started,
        **_edges(cell, setup, outcome, liars),
        **_reports(cell, setup, heard, plan, liars),
    }


@lru_cache(maxsize=1)
def _memory(people: str, noise: int) -> Memory:
    """Return the honest reports of the devices of the latest repeat, which those who ask them add."""
    return {}


def memory_of(setup: RunSetup, number: int, *, accounts: IntArray | None = None) -> Memory | None:
    """Return the honest reports of these devices in this process; None where their secrets are no seed's.

    ``accounts`` that joined say something else in every cell: the honest devices alone tell which memory it is.
    """
    noise = setup.repeats[number].seeds.noise
    if noise is None:
        return None
    people = setup.population if accounts is None else setup.population.only(np.arange(accounts[0]))
    return _memory(people.digest, noise)


def _nulls(scene: RepeatContext, outcome: Outcome) -> dict[str, float]:
    """Return the null models that need no further devices: they read the reports of this run."""
    test, labels = scene.split.test, scene.setup.population.labels
    alone = null_models(replace(scene, state=None), outcome, None)
    made = {name: predict() for name, predict in alone}
    return {name: float(np.mean(found[test] == labels[test])) for name, found in made.items() if found is not None}


def flagged_in(outcome: Outcome) -> list[int] | None:
    """Return the people whom the defence flagged; None without a defence."""
    section = outcome.extra.get("defence")
    return None if section is None else [int(person) for person in section["flagged"]]


def _edges(cell: PoisonCell, setup: RunSetup, outcome: Outcome, liars: IntArray) -> dict[str, Any]:
    """Return the measures of the reconstructed graph; for share 0 those of the liars of every share."""
    if outcome.graph is None or setup.method.knows_graph() or setup.method.in_rounds:
        return {}
    people, targets, edges = setup.population, targets_of(cell, setup), outcome.graph.edge_index
    ranks = rank_of(edges, len(people), targets, among=len(honest_of(cell)))
    if cell.joins:
        return {"edges": {cell.amount: edge_measures(edges, people, liars, targets)}, "rank": ranks}
    shares = cell.asked.shares if cell.attack == NONE else (cell.share,)
    found = {f"{share:g}": edge_measures(edges, people, liars_of(cell, len(people), share=share), targets)
             for share in shares}  # fmt: skip
    return {"edges": found, "rank": ranks}


def _reports(
    cell: PoisonCell, setup: RunSetup, heard: Sequence[tuple[Sequence[Question], Collected]], plan: LyingPlan | None,
    liars: IntArray,
) -> dict[str, Any]:  # fmt: skip
    """Return the measures of the reports as they came; those of a collection in batches are not taken."""
    if len(heard) != 1 or setup.method.in_rounds:
        return {}
    questions, collected = heard[0]
    if any(len(question.query.plan) > 1 for question in questions):
        return {}
    reports = Reports.from_bytes(setup.population.facts, questions, collected.answers)
    d = setup.population.facts.d
    columns = agreed_columns(d, d // 2, setup.repeats[cell.number].seeds.split)
    return {"reports": report_measures(reports, setup.population, plan, liars, columns)}


def packed_classes(predictions: IntArray) -> str:
    """Return everybody's class as text."""
    return base64.b64encode(np.asarray(predictions, "<i2").tobytes()).decode("ascii")


def unpacked_classes(text: str) -> IntArray:
    """Read :func:`packed_classes` back."""
    return np.frombuffer(base64.b64decode(text), "<i2").astype(np.int64)

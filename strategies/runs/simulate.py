"""One run, from a population to a result: what ``ldpsim run`` does.

    options -> population -> devices (enrolled) -> collection -> reports -> graph -> GNN -> result

Repeats ask freshly enrolled devices each. Whatever the person got wrong is a
``ValueError`` of one line, raised before anything is written.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from curator.methods import Question, Reference
from curator.methods.federated.fedavg import Federated
from curator.methods.federated.silos import Silos
from curator.methods.local.lp_and import lp_and
from curator.methods.owner.owner import OwnerMethod
from curator.reports.reports import Reports
from devices.data.population import Population
from devices.data.splits import make_split
from devices.facts import PublicKnowledge, Split
from strategies.people.owned_graph import own
from strategies.results import evaluation
from strategies.results import folder as run_folder
from strategies.results.lifetime import lifetime, nothing_known
from strategies.results.record import Repeat, assemble
from strategies.rounds.checkpoint import remove_checkpoints
from strategies.rounds.collect_once import Collected
from strategies.runs.asking import Refused, RunFailed, ask_devices, public_knowledge, questions_of
from strategies.runs.federated import federated_repeat
from strategies.runs.owner import owner_repeat
from strategies.runs.reference import reference_accuracy
from strategies.runs.silos import silo_repeat
from strategies.setup.fingerprint import configuration
from strategies.setup.options import RunOptions, Seeds
from strategies.setup.run_setup import Collect, Plan, plan_run

log = logging.getLogger("ldpsim")
Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class RunResult:
    """What a run came to.

    Args:
        record: The content of result.json.
        folder: The run's folder, None where nothing was to be written.
        extra: What is printed beside and is no part of the record: ``lp_and_test``, the
            accuracy of label propagation on pairs whose two bits are both 1.
    """

    record: dict[str, Any]
    folder: Path | None
    extra: dict[str, Any] = field(default_factory=dict)


def simulate(options: RunOptions, *, progress: Progress | None = None, collect: Collect | None = None) -> RunResult:
    """Run a simulation and return (and write) its result.

    Args:
        options: What to do.
        progress: Called with a phase and the share done of it, None where unknown.
        collect: Takes the questions to the devices instead of :func:`engines.collect`; called
            with the state folder, the questions, ``devices`` and ``silent``.

    Raises:
        ValueError: for options that make no sense, data that are missing or damaged, or
            folders that cannot be used; one line each, with nothing written.
        Refused: where no device reported or replayed and at least one refused.
        RunFailed: where nobody answered at all.
    """
    tell = progress or (lambda phase, share: None)
    started = time.perf_counter()
    tell("population", None)
    plan = plan_run(options, collect)
    seconds = {"population": time.perf_counter() - started}
    with _folder_for(plan) as folder, run_folder.LogFile(folder if options.out is not None else None):
        log.info("%s on %s, %d devices, config %s", options.method, plan.population.name, len(plan.population),
                 plan.digest)  # fmt: skip
        repeats = []
        for number in range(options.repeats):
            seeds = options.seeds_of(number)
            repeats.append(_repeat(plan, seeds, number, folder, tell))
            log.info("repeat %d: test accuracy %s", number, repeats[-1].accuracy["test"])
        seconds["total"] = time.perf_counter() - started
        record = assemble(
            options, plan.population, plan.settings, plan.budget, repeats, digest=plan.digest, seconds=seconds
        )
        if options.out is not None:
            last = repeats[-1]
            if last.trained is not None:
                run_folder.write_model(folder, last.trained.model.state_dict())
            run_folder.write_result(folder, record)
            remove_checkpoints(folder)
            log.info("result written")
        for repeat in repeats:
            if repeat.state is not None:
                repeat.state.close_collection(plan.digest)
                repeat.state.close()
    extra = {"lp_and_test": _mean([repeat.lp_and_test for repeat in repeats])}
    return RunResult(record, folder if options.out is not None else None, extra)


@contextmanager
def _folder_for(plan: Plan) -> Iterator[Path]:
    """The run's folder; a temporary one with ``out`` None. What a refused run made is removed again."""
    options = plan.options
    if options.out is None:
        with tempfile.TemporaryDirectory(prefix="ldpsim-") as temporary:
            yield Path(temporary)
        return
    folder = run_folder.choose_folder(
        options.out, method=options.method, dataset=plan.population.name, digest=plan.digest, seed=options.seed
    )
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    run_folder.prepare(folder)
    run_folder.write_config(folder, configuration(options))
    try:
        yield folder
    except (Refused, ValueError):
        # Nobody answered in a folder made just now: there is nothing to continue.
        if folder in made:
            shutil.rmtree(folder)
            for parent in made[1:]:
                if not any(parent.iterdir()):
                    parent.rmdir()
        raise


def _repeat(plan: Plan, seeds: Seeds, number: int, folder: Path, tell: Progress) -> Repeat:
    options, population = plan.options, plan.population
    if isinstance(plan.settings.method, OwnerMethod):
        return owner_repeat(plan, seeds, number, folder, tell)
    if isinstance(plan.settings.method, Silos):
        return silo_repeat(plan, seeds, number, folder, tell)
    if isinstance(plan.settings.method, Federated):
        return federated_repeat(plan, seeds, number, folder, tell)
    split = make_split(options.split, population, seeds.split, options.label_rate)
    method, facts = plan.settings.method, population.facts
    seconds = dict.fromkeys(("collect", "reconstruct", "train"), 0.0)
    collected, state, null_model = Collected(), None, None
    questions: tuple[Question, ...] = ()
    reports: Reports | None = None
    if isinstance(method, Reference):
        tell("reconstruct", None)
        started = time.perf_counter()
        graph = method.from_owned(own(population, split, trust="none"))
        own_features = "features" in method.reads
    else:
        public = public_knowledge(population, split, options, method)
        tell("collect", None)
        if options.from_reports is not None:
            reports = Reports.load(options.from_reports)
            questions = questions_of(reports)
        else:
            home = options.state or folder / ("state" if number == 0 else f"state-{number}")
            state, questions, collected = ask_devices(plan, seeds, split, home)
            seconds["collect"] = collected.seconds
            reports = Reports.from_bytes(facts, questions, collected.answers)
            collected.answers.clear()
            if options.save_reports:
                reports.save(folder / ("reports" if number == 0 else f"reports-{number}"))
        tell("reconstruct", None)
        started = time.perf_counter()
        graph = method.reconstruct(reports, public)
        own_features = reports.features is None
        null_model = _null_model(reports, public, population, split)
    seconds["reconstruct"] = time.perf_counter() - started
    degrees = evaluation.degrees(graph, population, reports)
    del reports
    tell("train", None)
    trained = method.train(
        graph, settings=plan.settings.training, classes=facts.classes, seed=seeds.training, device=options.device
    )
    seconds["train"] = trained.seconds
    accuracy = evaluation.accuracy(trained.predictions, population, split)
    found = {**evaluation.reconstruction(graph, population, own_features=own_features), "degrees": degrees}
    del graph
    reference = None
    if options.reference:
        tell("reference", None)
        reference = reference_accuracy(plan, split, seeds.training)
    guarantee = method.guarantee(facts, questions, plan.budget)
    return Repeat(
        seeds=seeds, split=split, accuracy=accuracy, reference=reference, guarantee=guarantee, collected=collected,
        lifetime=lifetime(state) if state is not None else nothing_known(complete=not questions), state=state,
        reconstruction=found, seconds=seconds, trained=trained, lp_and_test=null_model,
        seeded=bool(state.head["simulation_seeded"]) if state is not None else None,
    )  # fmt: skip


def _null_model(reports: Reports, public: PublicKnowledge, population: Population, split: Split) -> float | None:
    if reports.adjacency is None:
        return None
    return evaluation.accuracy(lp_and(reports, public), population, split)["test"]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


__all__ = ["Refused", "RunFailed", "RunResult", "simulate"]

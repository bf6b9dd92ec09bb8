"""One run, from a population to a result (``ldpsim run``).

    prepare -> for each repeat: ask, work, judge -> record -> folder

Each repeat enrols devices of its own. A mistake of the user is a ``ValueError`` of one line,
raised before anything is written.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from ldpsim.curator.linear.threads import threads_for
from ldpsim.curator.steps import on_progress
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, is_enrolled, used_alone
from ldpsim.devices.ledger.rows import LedgerDamaged
from ldpsim.strategies.engines.collect import Connect
from ldpsim.strategies.engines.usage import cpu_seconds
from ldpsim.strategies.group_accuracy.section import groups_section
from ldpsim.strategies.outputs.deployment import DEPLOYMENT, deployment
from ldpsim.strategies.outputs.graph import ResultGraph, UnwrittenGraph, check_graph_file, is_form
from ldpsim.strategies.outputs.run_result import RunResult
from ldpsim.strategies.progress import OnMetric, Progress, SteppedProgress, noted_if_interrupted, quiet
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.results.outcome import Outcome, Predictions, scores_of
from ldpsim.strategies.results.record import assemble, stored_options
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.errors import Refused, RunFailed
from ldpsim.strategies.runs.judging import judge, models_at_once, references, side_by_side
from ldpsim.strategies.runs.kind import RunKind, kind_of, no_graph_reason
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import Repeat, start_repeat
from ldpsim.strategies.runs.spent import spent
from ldpsim.strategies.setup.disk_space import naming_full_disk
from ldpsim.strategies.setup.fingerprint import configuration
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import Setup
from ldpsim.strategies.tracking.metrics import CallbackFailed
from ldpsim.strategies.tracking.targets import check_targets, tracked

AGAIN = "the same command goes on"
_OF_NO_RESULT = ("out", "data_dir", "workers", "force")  # options that may differ where one result serves two commands
log = logging.getLogger("ldpsim")


def simulate(
    options: RunOptions,
    *,
    progress: Progress | None = None,
    connect: Connect | None = None,
    on_metric: OnMetric | None = None,
    track: Sequence[str] = (),
    keep_graph: bool = True,
    save_graph: str | Path | None = None,
    population: Population | None = None,
    again: bool = True,
    on_accuracy: Callable[[float], None] | None = None,
) -> RunResult:
    """Run a simulation and return (and write) its result.

    Args:
        options: The run.
        progress: Called with a phase and the share of it that is done; None if unknown.
        connect: Opens the Grid of the devices, in place of that of the engine of the options.
        on_metric: Called with name, value, step and phase of every figure (:mod:`ldpsim.strategies.tracking.metrics`).
        track: Trackers, as ``ldpsim run --track`` has them: ``mlflow:URI``, ``wandb``, ``tensorboard:DIR``.
        keep_graph: Whether the result has its ``graph``, which takes memory.
        save_graph: File for this graph; a suffix alone (``npz``) is a file in the run's folder.
        population: The people, in place of those of the options' data set.
        again: Whether to run what has a result already; else that is returned, without its graph. Devices of
            ``options.state``, a tracker and a file for the graph always run.
        on_accuracy: Called with the method's test accuracy in the first repeat as soon as that is known: before what
            devices predict from is made, and before null models and references are waited for.

    Raises:
        ValueError: for options that do not fit, data that are missing or damaged, folders that
            cannot be used, or trackers that do not answer; one line each, with nothing written.
        Refused: if no device reported or replayed and at least one refused.
        RunFailed: if no device answered, if ``on_metric`` raised an error, or if the graph cannot be saved.
    """
    tell = SteppedProgress(progress or quiet)
    started, cpu = time.perf_counter(), cpu_seconds()
    check_targets(track)
    tell("population", None)
    setup = prepare(options, population=population)
    if not again and not track and save_graph is None and options.out is not None and options.state is None:
        name = run_folder.name_of(
            method=options.method, dataset=setup.population.name, digest=setup.digest, seed=options.seed
        )
        same = {key: value for key, value in stored_options(options).items() if key not in _OF_NO_RESULT}
        if done := run_folder.finished(options.out / name, same, stored_options(RunOptions())):
            return RunResult(done[1], done[0], earlier=True)
    kind, without_graph = kind_of(setup.method), no_graph_reason(setup.method)
    keep_graph = keep_graph or save_graph is not None
    check_graph_file(save_graph, without_graph, options)
    seconds = {"population": time.perf_counter() - started}
    with ExitStack() as stack:
        if options.state is not None:
            stack.enter_context(used_alone(options.state))
        folder = stack.enter_context(_folder_for(setup))
        homes = _homes(options, folder)
        stack.enter_context(noted_if_interrupted(lambda: _kept(setup, folder, homes)))
        stack.enter_context(naming_full_disk(folder, but=(RunFailed,)))
        stack.enter_context(_failures_in_one_line())
        stack.enter_context(on_progress(tell.step))
        stack.enter_context(run_folder.log_file(folder if options.out is not None else None))
        metrics = stack.enter_context(tracked(track, setup, on_metric))
        people = setup.population
        log.info("%s on %s, %d devices, config %s", options.method, people.name, len(people), setup.digest)
        training, repeats, outcomes = "rounds" if setup.method.spec.in_rounds else "train", [], []
        for number in range(options.repeats):
            repeat = start_repeat(setup, number, folder, homes[number], tell,
                                  watch=metrics.observer(training, number), connect=connect)  # fmt: skip
            repeats.append(stack.enter_context(closing(repeat)))
            first, last = on_accuracy if number == 0 else None, number == options.repeats - 1
            outcomes.append(_outcome(kind, repeat, first, keep_graph=keep_graph and last))
            accuracy = scores_of(outcomes[-1:])[0].accuracy
            metrics.repeat(number, accuracy)
            log.info("repeat %d: test accuracy %s", number, accuracy["test"])
        seconds |= {"total": time.perf_counter() - started, "cpu": cpu_seconds() - cpu}
        record = assemble(setup, outcomes, seconds, *spent(kind, setup, outcomes))
        record["groups"] = groups_section(setup, scores_of(outcomes), record["verdict"]) if options.groups else None
        if options.out is not None:
            run_folder.write_outcome(folder, outcomes[-1])
            if (text := deployment(setup, record)) is not None:
                write_atomically(folder / DEPLOYMENT, text)
            run_folder.write_result(folder, record)
            run_folder.remove_unfinished(folder)
            log.info("result written")
        for repeat in repeats:
            repeat.end_collection()
        graph = graph_or_reason(setup, outcomes[-1])
        if isinstance(graph, ResultGraph) and save_graph is not None:
            graph.save(folder / f"graph.{save_graph}" if is_form(save_graph) else save_graph)
        metrics.finish(record)
    return RunResult(record, folder if options.out is not None else None, graph, _scorer(repeats[-1]))


def _outcome(
    kind: RunKind, repeat: Repeat, on_accuracy: Callable[[float], None] | None, *, keep_graph: bool
) -> Outcome:
    """Ask, work and judge in one repeat."""
    workers, facts = models_at_once(repeat.setup), repeat.setup.facts
    with threads_for(facts.n * facts.d), side_by_side(workers) as start:
        # References need no report. While this thread asks and trains, one core is left: they are one piece of work.
        # A null model beside them would bring the run's end no nearer, and its first figure later.
        reference = start(partial(references, kind, repeat, aloud=False)) if workers > 1 else None
        outcome = kind.work(repeat, ask(repeat))
        getattr(outcome.model, "forget_graph", lambda: None)()  # its matrices are as large as the features
        outcome = judge(kind, repeat, outcome, start, reference, on_accuracy)
    return outcome if keep_graph else replace(outcome, graph=None)


@contextmanager
def _failures_in_one_line() -> Iterator[None]:
    """Turn errors after the collection into RunFailed: what was collected is kept, and so is a written result."""
    try:
        yield
    except (CallbackFailed, UnwrittenGraph) as error:
        raise RunFailed(str(error)) from error


def _scorer(repeat: Repeat) -> Callable[[Predictions], float] | None:
    """Return what scores everybody's classes on the test people of a repeat; None without test people."""
    test = repeat.split.test
    if not len(test):
        return None
    truth = np.array(repeat.setup.population.labels[test])
    return lambda predictions: float(np.mean(predictions[test] == truth))


def graph_or_reason(setup: Setup, outcome: Outcome) -> ResultGraph | str:
    """Return the graph of a repeat with its predictions, or one sentence that says why there is none."""
    if outcome.graph is None or outcome.predictions is None:
        return no_graph_reason(setup.method) or "this run kept no graph (keep_graph=False)"
    about = {
        "method": setup.method.spec.name,
        "dataset": run_folder.name_of_data(setup.people.name),
        "config_hash": setup.digest,
        "reports_sha256": outcome.collected.reports_sha256,
        "edges": "public" if setup.method.effective_spec().public_graph else "reconstructed",
    }
    return ResultGraph(outcome.graph, outcome.predictions, setup.plans[-1].split.test, setup.facts.classes, about)


@contextmanager
def _folder_for(setup: Setup) -> Iterator[Path]:
    """Open the run's folder, a temporary one if ``out`` is None; remove a new folder of a refused run."""
    options = setup.options
    if options.out is None:
        with tempfile.TemporaryDirectory(prefix="ldpsim-") as temporary:
            yield Path(temporary)
        return
    people, existed = setup.population.name, options.out.exists()
    with run_folder.hold_folder(
        options.out, method=options.method, dataset=people, digest=setup.digest, seed=options.seed
    ) as folder:
        new = not any(folder.iterdir())
        run_folder.write_config(folder, configuration(options))
        try:
            yield folder
        except (Refused, ValueError):
            if new and not _may_have_answered(setup, _homes(replace(options, state=None), folder)):
                shutil.rmtree(folder)
                if not existed and not any(options.out.iterdir()):
                    options.out.rmdir()
            raise


def _homes(options: RunOptions, folder: Path) -> list[Path]:
    """Return the folder of each repeat's devices."""
    return [options.state or folder / ("state" if n == 0 else f"state-{n}") for n in range(options.repeats)]


def _may_have_answered(setup: Setup, homes: Sequence[Path]) -> bool:
    """Return whether a device may have answered in the present collections of a run: then its folder has to stay."""
    try:
        return any(State(home).answered(setup.digest) for home in homes if is_enrolled(home))
    except (LedgerDamaged, ValueError):
        return True  # nobody can say


def _kept(setup: Setup, folder: Path, homes: Sequence[Path]) -> str:
    """Return the line about an interrupted run; it is read from the ledgers and the checkpoint."""
    options = setup.options
    if options.out is None and options.state is None:
        return "nothing is kept: the run has no folder of its own"
    if options.from_reports is not None:
        return f"the reports in {options.from_reports} are as before; {AGAIN} with them"
    rounds = run_folder.finished_rounds(folder)
    if rounds:
        return f"{rounds:,} rounds are finished and kept in {folder}; {AGAIN} after them"
    try:
        answered = sum(State(home).answered(setup.digest) for home in homes if is_enrolled(home))
    except (LedgerDamaged, ValueError) as error:
        return f"{error}; see {folder}"
    if not answered:
        return f"no device has answered yet; {AGAIN} in {folder}"
    devices = len(setup.population) * len(homes)
    return f"{answered:,} of {devices:,} devices have answered and their answers are kept; {AGAIN} in {folder}"


__all__ = ["Refused", "RunFailed", "RunResult", "simulate"]

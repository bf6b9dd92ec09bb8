"""From a plan to reports: enrol the devices, or find them, and ask them once."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from curator.methods import Method, Question, find
from curator.reports.reports import Reports
from devices.data.population import Population
from devices.enrolment.state import State, enrol, is_enrolled
from devices.facts import PublicKnowledge, Split
from devices.policy.policy import Mode, policy_for
from strategies.engines.flower_processes import FlowerFailed
from strategies.people.owned_graph import sparse_features
from strategies.rounds.collect_once import Collected
from strategies.rounds.stages import Stages, at_stage, stages_of
from strategies.setup.options import RunOptions, Seeds
from strategies.setup.run_setup import Plan


class Refused(Exception):
    """Nobody reported and somebody refused; the text is one line with the codes."""


class RunFailed(Exception):
    """The run could not be finished; the text is one line."""


def public_knowledge(
    population: Population, split: Split, options: RunOptions, method: Method | None = None
) -> PublicKnowledge:
    """Return what the curator knows before anybody is asked; test labels are never in it.

    ``method`` has the parameters of the run, on which it may depend what is public; None
    is the one of the options with its defaults.
    """
    method = method or find(options.method)()
    labels = np.full(len(population), -1, np.int64)
    if not (options.private_labels or method.asks_for_labels()):
        labels[split.labelled] = population.labels[split.labelled]
    features = sparse_features(population) if options.public_features or method.public_features else None
    edges = population.edges if method.knows_graph() else None
    return PublicKnowledge(population.facts, split, labels, features, edges)


def ask_devices(
    plan: Plan,
    seeds: Seeds,
    split: Split,
    home: Path,
    *,
    ask: Callable[[str], tuple[Question, ...]] | None = None,
    mode: Mode = "report",
) -> tuple[State, tuple[Question, ...], Collected]:
    """Enrol the devices of a folder where none are, and ask them the method's questions.

    ``ask`` makes other questions for a collection id, and ``mode`` is what devices that
    answer them are enrolled in.

    A collection that was interrupted is continued: devices that answered give the stored bytes.
    The questions that are returned stand at the last stage of their plan.

    Raises:
        ValueError: for devices with the data of another population, or a folder that cannot be written.
        Refused: where no device reported or replayed and at least one refused.
        RunFailed: where nobody answered at all, or Flower's runtime failed.
    """
    options, population, method = plan.options, plan.population, plan.settings.method
    fresh = uuid.uuid4().hex
    if ask is None:
        ask = partial(method.questions, population.facts, split, plan.budget)
    if is_enrolled(home):
        state = State(home)
        if state.head["population_digest"] != population.digest:
            raise ValueError(f"{home}: the devices there hold the data of another population")
    else:
        asked = ask(fresh)
        policy = policy_for(
            [question.query for question in asked], population.facts, reporting=plan.budget.reporting,
            on_requery="replay" if options.on_requery == "replay" else "refuse", caps=options.caps, mode=mode,
        )  # fmt: skip
        try:
            state = enrol(home, population, policy, seed=seeds.noise)
        except OSError as error:
            raise ValueError(f"{home} cannot be written: {error.strerror}") from None
    collection = state.open_collection(plan.digest, fresh)
    questions = ask(collection)
    silent = _silent(options, seeds, len(population))
    try:
        staged = {"stages": Stages(method, population.facts, home)} if stages_of(questions) > 1 else {}
        collected = plan.collect(home, questions, devices=len(population), silent=silent, **staged)
    except FlowerFailed as error:
        raise RunFailed(str(error)) from error
    if not collected.reported + collected.replayed:
        if collected.refused:
            state.close_collection(plan.digest)
            state.close()
            codes = ", ".join(f"{code} {count:,}" for code, count in sorted(collected.refused.items()))
            raise Refused(f"refused: none of {collected.asked:,} devices reported ({codes})")
        raise RunFailed(f"none of {collected.asked:,} devices answered")
    return state, at_stage(questions, stages_of(questions) - 1, collected.grouping), collected


def _silent(options: RunOptions, seeds: Seeds, n: int) -> frozenset[int]:
    if not options.dropout:
        return frozenset()
    rng = np.random.default_rng([seeds.population, seeds.split, seeds.noise or 0, seeds.training])
    return frozenset(rng.choice(n, round(options.dropout * n), replace=False).tolist())


def questions_of(reports: Reports) -> tuple[Question, ...]:
    """Return the questions that kept reports are the answers to."""
    return (Question(reports.query()),)

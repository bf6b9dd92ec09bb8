"""One collection: ask the enrolled devices of a scene once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ldpsim.curator.methods import Method, Question, find
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.facts import PublicKnowledge, Split
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.wire import REASONS
from ldpsim.strategies.engines.flower_processes import FlowerFailed
from ldpsim.strategies.people.owned_graph import sparse_features
from ldpsim.strategies.rounds.batches import ask_in_batches
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.reading import read_reports
from ldpsim.strategies.rounds.stages import Stages, at_stage, stages_of
from ldpsim.strategies.runs.run import Refused, RepeatContext, RunFailed
from ldpsim.strategies.setup.disk_space import check_refused
from ldpsim.strategies.setup.options import RunOptions


def public_knowledge(
    population: Population, split: Split, options: RunOptions, method: Method | None = None
) -> PublicKnowledge:
    """Return the curator's knowledge before anybody is asked; it never has test labels.

    ``method`` has the parameters of the run, and they may decide what is public. None is the
    method of the options with its defaults.
    """
    method = method or find(options.method)()
    labels = np.full(len(population), -1, np.int64)
    volunteers = options.volunteers is not None and method.spec.asks_volunteers  # they are asked in clear
    if not (options.private_labels or volunteers or method.in_force().asks_labels):
        labels[split.labelled] = population.labels[split.labelled]
    features = sparse_features(population) if options.public_features or method.spec.public_features else None
    edges = population.edges if method.in_force().public_graph else None
    return PublicKnowledge(population.facts, split, labels, features, edges)


def known_to_curator(scene: RepeatContext) -> PublicKnowledge:
    """Return the curator's knowledge in a repeat, before anybody is asked."""
    setup = scene.setup
    return public_knowledge(setup.population, scene.split, setup.options, setup.method)


def gather_reports(scene: RepeatContext) -> tuple[tuple[Question, ...], Collected, Reports]:
    """Ask the devices of a scene, and return the decoded reports too; their bytes are not kept.

    Raises:
        Refused, RunFailed, OSError: as :func:`ask_devices`.
    """
    questions, collected = ask_devices(scene, decode=True)
    reports, collected.decoded = collected.decoded, None
    if reports is None:
        reports = read_reports(scene.setup.population.facts, questions, collected)
        collected.answers.clear()
    return questions, collected, reports


def ask_devices(scene: RepeatContext, *, decode: bool = False) -> tuple[tuple[Question, ...], Collected]:
    """Ask the devices of a scene its questions, or those that its method makes of public knowledge, in batches.

    Args:
        scene: The scene.
        decode: Whether the reports may be decoded as they come, in place of their bytes.

    Returns:
        The questions at the last stage, of all batches, and the result of the collection.

    Raises:
        Refused: if no device reported or replayed and at least one refused.
        RunFailed: if no device answered, or Flower's runtime failed.
        OSError: if devices could not answer because the disk is full.
    """
    setup, questions = scene.setup, scene.questions
    people = setup.population
    last = stages_of(questions) - 1
    more: dict[str, Any] = {"stages": Stages(setup.method, people.facts, scene.home)} if last else {}
    if setup.collector is not None:
        asked = [(question.query, question.devices) for question in questions]
        more["terms"] = setup.collector.sign(terms_of(asked, len(people)))
    if decode and not setup.method.spec.in_batches:  # the next batch's question is made of the bytes so far
        more["facts"] = people.facts

    def ask(asked: Sequence[Question]) -> Collected:
        return setup.collect(scene.home, asked, devices=len(people), silent=scene.silent, **more)

    try:
        if setup.method.spec.in_batches:
            public = known_to_curator(scene)
            questions, collected = ask_in_batches(setup.method, public, setup.budget, questions, scene.home, ask)
        else:
            collected = ask(questions)
    except FlowerFailed as error:
        raise RunFailed(str(error)) from error
    check_refused(scene.home, collected.refused["LEDGER_DAMAGED"])
    if not collected.reported + collected.replayed:
        if collected.refused:
            scene.end_collection()
            codes = ", ".join(f"{code} {count:,}" for code, count in sorted(collected.refused.items()))
            why = "; ".join(REASONS[code] for code in Refusal if code.name in collected.refused)
            if collected.refused["REPORT_COLLECTED"]:
                why += "; a run without --state, or with a new folder there, enrols other devices"
            raise Refused(f"refused: none of {collected.asked:,} devices reported ({codes}): {why}")
        raise RunFailed(f"none of {collected.asked:,} devices answered")
    return at_stage(questions, last, collected.grouping), collected

"""Run of a local method (one private report a device, a graph, a network) or of a reference (no report).

devices -> reports -> defences -> graph -> network
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ldpsim.curator.defences import Defended, defend
from ldpsim.curator.device_model import DeviceModelInputs, device_model_inputs
from ldpsim.curator.methods import Method, Question
from ldpsim.curator.methods.base import Graph, GraphMethod, LocalMethod, questions_asked
from ldpsim.curator.methods.references.references import Reference as ReferenceMethod
from ldpsim.curator.nulls.inputs import NullInputs, known_from_graph, known_from_reports
from ldpsim.curator.observer import watched
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.reports.exclusion import silenced
from ldpsim.curator.reports.question import keys_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import IntArray
from ldpsim.devices.prediction import DeviceModel
from ldpsim.strategies.people.owner_graphs import owned_graph
from ldpsim.strategies.results import evaluation
from ldpsim.strategies.results.outcome import NO_GRAPH, Outcome, Predict, Predictions
from ldpsim.strategies.results.verdict import FEATURES_ALONE, GRAPH_ALONE, SHUFFLED
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.kind import (
    ANY,
    SHUFFLED_ALL,
    Others,
    ReferenceTraining,
    RunKind,
    no_graph_reason,
    policy_of,
    without_noise,
)
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.setup.run_setup import RepeatPlan, Setup

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork


def plan(setup: Setup, draft: RepeatPlan) -> RepeatPlan:
    """Return the plan: one question to every device, unless reports are kept from an earlier run."""
    if setup.options.from_reports is not None:
        return draft
    questions = questions_asked(setup.method, setup.facts, draft.split, setup.budget, ANY)
    return replace(draft, questions=questions, policy=policy_of(setup, questions), released=questions)


def guarantee(setup: Setup, released: Sequence[Sequence[Question]]) -> Guarantee:
    """Return the guarantee of the questions of collections, or of one where all ask the same, as often as they do."""
    method, facts, times = setup.method, setup.facts, len(released)
    if times == 1 or len({keys_of(questions) for questions in released}) == 1:
        return method.guarantee(facts, released[0], setup.budget, collections=times).over(times)
    together = [question for questions in released for question in questions]
    return method.guarantee(facts, together, setup.budget).over(times)


def work(repeat: Repeat, collected: Collected) -> Outcome:
    """Reconstruct the graph from the reports and train on it; a reference has the true graph."""
    setup, nulls = repeat.setup, repeat.setup.options.nulls
    reports, collected.decoded = collected.decoded, None
    if setup.options.save_reports and reports is not None and repeat.plan.questions:
        reports.save(repeat.place("reports"))
    repeat.tell("reconstruct", None)
    started = time.perf_counter()
    repeat, defended, graph = rebuilt(repeat, reports)
    seconds = {"collect": collected.seconds, "reconstruct": time.perf_counter() - started}
    accepted = defended.reports if defended else reports  # without those that a defence excludes
    null_inputs = inputs_of_nulls(repeat, accepted) if nulls or accepted is not None else None
    inputs = None
    if accepted is not None and null_inputs is not None:
        inputs = device_model_inputs(accepted, repeat.knowledge, null_inputs)
    extra: dict[str, Mapping[str, Any]] = {}
    if defended is not None:
        assert reports is not None
        extra["defence"] = _section(repeat, defended)
        reports = silenced(reports, defended.flagged)
    own_features = "features" in setup.method.spec.reads if reports is None else reports.features is None
    null_reports = reports if nulls and repeat.state is not None else None
    del reports, defended, accepted  # they are large, and the training needs memory
    if inputs is not None:
        extra["device_model"] = {"homophily": inputs.friends.homophily, "source": inputs.friends.source}
    repeat.tell("train", None)
    with watched(repeat.watch):
        trained = train_on_graph(repeat, graph)
    accuracy, truth = None, NO_GRAPH
    if setup.deployed:  # the curator has the public labels of validation people, and no other truth
        accuracy = {"test": None, "val": trained.val_accuracy if len(graph.val) else None, "macro_f1": None}
    else:
        truth = evaluation.reconstruction(graph, setup.population, own_features=own_features)
    return Outcome(
        seconds={**seconds, "train": trained.seconds},
        released=collected.questions,
        predictions=trained.predictions,
        class_scores=trained.log_probability,
        model=trained.model,
        collected=collected,
        accuracy=accuracy,
        reconstruction={
            **truth,
            **{name: graph.notes[name] for name in ("posterior",) if name in graph.notes},
        },
        null_inputs=null_inputs if nulls else None,
        reports=null_reports,
        make_device_models=None if inputs is None else partial(build_device_models, inputs, setup.method, trained),
        graph=None if no_graph_reason(setup.method) else graph,
        extra=extra,
    )


def reference(repeat: Repeat) -> ReferenceTraining:
    """Return the training on the true graph, with the method's settings and with the reference's."""
    settings = repeat.setup.settings
    return ReferenceTraining(settings.training, settings.reference, partial(without_noise, repeat))


def shuffled(repeat: Repeat, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
    """Yield the predictions with all private attributes of other people; before them each one alone (--all-nulls).

    Where people report one attribute, all of them is that one, and has its name. Where people volunteer, answers about
    the graph or features alone come first, in place of two other null models.

    One collection of other people is enough if the question has one stage. A device perturbs each attribute
    by itself. The real reports with one attribute from the other people therefore have the distribution of
    reports of people in whose records only this attribute is shuffled. A later stage or batch depends on the answers of
    the earlier ones, and some answers depend on two attributes: then each attribute has a collection of its own.
    """
    yield from _of_one_attribute(repeat, others)
    reports = outcome.reports
    assert reports is not None
    volunteers = repeat.setup.budget.volunteers  # theirs are in clear, and stay as they are
    asks = [asked for asked in reports.asks.values() if not (volunteers and asked.mechanisms[0].in_clear)]
    private = sorted({name for asked in asks for name in asked.attributes})
    dropouts = frozenset(np.flatnonzero(~reports.answered).tolist())
    strangers = _answers(others(private, dropouts, _private_people(repeat)))
    for attribute in private if repeat.setup.options.all_nulls and len(private) > 1 else ():
        staged = len(reports.plan) > 1 or bool(reports.parts) or len(reports.asks) < len(private)
        if staged:
            answers = _answers(others((attribute,), dropouts, _private_people(repeat)))
        else:
            answers = reports.with_answers_of(strangers, attribute)
        yield SHUFFLED + attribute, partial(predictions_from, repeat, answers)
    name = SHUFFLED + private[0] if len(private) == 1 else SHUFFLED_ALL
    yield name, partial(predictions_from, repeat, strangers)


LOCAL = RunKind(plan, work, guarantee, reference, shuffled)


def _of_one_attribute(repeat: Repeat, others: Others) -> Iterator[tuple[str, Predict]]:
    """Yield the predictions from answers about one attribute alone: about the graph, and about features."""
    setup, method = repeat.setup, cast(Any, repeat.setup.method)
    parameters = method.single_attribute_parameters()
    methods = {attribute: replace(method, **values) for attribute, values in parameters.items()}
    if not setup.budget.volunteers or method in methods.values():  # it is such a method itself
        return
    for attribute, method in methods.items():
        with others((), repeat.plan.dropouts, _private_people(repeat)) as other:
            altered = replace(other.setup, settings=replace(other.setup.settings, method=method))
            one = replace(other, setup=altered)
            reports = ask(one).decoded
            assert reports is not None
            alone = {"adjacency": GRAPH_ALONE, "features": FEATURES_ALONE}[attribute]
            yield alone, partial(predictions_from, one, reports)


def _private_people(repeat: Repeat) -> IntArray | None:
    """Return the people who do not volunteer; None, for everybody, where nobody does."""
    if not repeat.setup.budget.volunteers:
        return None
    return np.setdiff1d(np.arange(len(repeat.setup.population)), repeat.split.labelled)


def _answers(people: AbstractContextManager[Repeat]) -> Reports:
    """Ask other people, and return their reports."""
    with people as other:
        reports = ask(other).decoded
    assert reports is not None
    return reports


def predictions_from(repeat: Repeat, answers: Reports) -> Predictions:
    """Return everybody's class by the same defences, reconstruction and training on other answers."""
    repeat, _, graph = rebuilt(repeat, answers)
    return train_on_graph(repeat, graph).predictions


def rebuilt(repeat: Repeat, reports: Reports | None) -> tuple[Repeat, Defended | None, Graph]:
    """Return the graph to train on, what the defences did, and the repeat in which flagged people teach nothing.

    A reference has no reports: it reads the true records.
    """
    setup, defended = repeat.setup, None
    if reports is None:
        owned = owned_graph(setup.population, repeat.split, trust="none")
        return repeat, None, cast(ReferenceMethod, setup.method).from_owned(owned)
    if setup.options.defences():
        defended = defend(setup.options.defences(), reports, setup.options.false_alarm)
        repeat, reports = _without_flagged(repeat, defended), defended.reports
    return repeat, defended, cast(LocalMethod, setup.method).reconstruct(reports, repeat.knowledge)


def train_on_graph(repeat: Repeat, graph: Graph) -> TrainedNetwork:
    """Train on the graph."""
    setup = repeat.setup
    return cast(GraphMethod, setup.method).train(
        graph,
        settings=setup.settings.training,
        classes=setup.facts.classes,
        seed=repeat.seeds.training,
        device=setup.options.device,
    )


def inputs_of_nulls(repeat: Repeat, reports: Reports | None) -> NullInputs:
    """Return what the null models may use."""
    setup = repeat.setup
    if reports is not None:
        inputs = known_from_reports(reports, repeat.knowledge, nulls=setup.options.nulls)
        return replace(inputs, uses_validation_labels=setup.method.effective_spec().learns_from_validation)
    return known_from_graph(owned_graph(setup.population, repeat.split, trust="none"), setup.method.spec.reads)


def build_device_models(
    inputs: DeviceModelInputs, method: Method, trained: TrainedNetwork
) -> tuple[DeviceModel, DeviceModel | None]:
    """Return what devices predict from: after the reports, and without any."""
    spec = method.effective_spec()
    calibrated = spec.learns_from_validation and not spec.trains_network
    model = inputs.build_device_model(trained.log_probability, trained.predictions, calibrated=calibrated)
    return model, inputs.build_without_reports()


def _without_flagged(repeat: Repeat, defended: Defended) -> Repeat:
    """Return the repeat without the labels in clear of flagged people: whose report is a lie may lie about a class.

    The division stays where nobody would be left to train or to validate.
    """
    if not defended.flagged.any():
        return repeat
    guilty, split = np.flatnonzero(defended.flagged), repeat.split
    parts = {name: np.setdiff1d(getattr(split, name), guilty) for name in ("train", "val")}
    if not all(map(len, parts.values())):
        return repeat
    return replace(repeat, plan=replace(repeat.plan, split=replace(split, **parts)))


def _section(repeat: Repeat, defended: Defended) -> dict[str, Any]:
    """Return the part of result.json about the defences."""
    options = repeat.setup.options
    return {
        "names": list(options.defences()),
        "flagged": np.flatnonzero(defended.flagged).tolist(),
        "false_alarm": options.false_alarm,
        "notes": {name: dict(entries) for name, entries in defended.notes.items()},
    }

"""Run of a local method (one private report a device, a graph, a network) or of a reference (no report).

devices -> reports -> defences -> graph -> network
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ldpsim.curator.defences import Defended, defend
from ldpsim.curator.device_bundle import BundleParts, bundle_parts
from ldpsim.curator.methods import Method, Question
from ldpsim.curator.methods.base import Graph, GraphMethod, LocalMethod, questions_asked
from ldpsim.curator.methods.references.references import Reference
from ldpsim.curator.nulls.models import NullEvidence, known_from_graph, known_from_reports
from ldpsim.curator.observer import watched
from ldpsim.curator.reports.question import keys_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import silenced
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.prediction import Bundle
from ldpsim.strategies.people.owner_graphs import own
from ldpsim.strategies.results import evaluation
from ldpsim.strategies.results.outcome import Outcome, Predictions
from ldpsim.strategies.results.verdict import FEATURES_ALONE, GRAPH_ALONE, SHUFFLED
from ldpsim.strategies.rounds.collect_once import Collected, stages_of
from ldpsim.strategies.runs.run import (
    SHUFFLED_ALL,
    Others,
    Predict,
    RepeatContext,
    Run,
    gather_reports,
    known_to_curator,
)
from ldpsim.strategies.setup.run_setup import Setup

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork


class OneReportRun(Run):
    """One question to every device; with ``--from-reports``, the answers of an earlier run."""

    def questions(self, setup: Setup, split: Split, collection: str) -> tuple[Question, ...]:
        """Return the method's questions."""
        if setup.options.from_reports is not None:
            return ()
        return questions_asked(setup.method, setup.population.facts, split, setup.budget, collection)

    def fresh(self, setup: Setup, outcomes: Sequence[Outcome]) -> list[int]:
        """Return the repeats with reports of their own.

        The same question about the same lists under the same noise seed gives the same reports; kept reports are those
        of one collection. A later stage may ask differently, so a question of several stages counts every time.
        """
        first: dict[Any, int] = {}
        for number, outcome in enumerate(outcomes):
            repeat, from_folder = setup.plans[number], setup.options.from_reports is not None
            stages = stages_of(outcome.released) if outcome.released else 0
            own = repeat.seeds.noise is None or stages > 1
            noise = "kept" if from_folder else ("own", number) if own else repeat.seeds.noise
            first.setdefault((noise, keys_of(outcome.released)), number)
        return list(first.values())

    def attains(self, setup: Setup, fresh: Sequence[int]) -> bool:
        """Return whether each repeat has noise of its own: who was asked what is counted person by person."""
        seeds = [setup.plans[number].seeds.noise for number in fresh]
        return None in seeds or len(set(seeds)) == len(seeds)

    def verb(self, setup: Setup) -> str:
        """Return ``read`` for a reference, which asks nobody."""
        return "read" if setup.method.spec.reads else "reported"

    def without_graph(self, method: Method) -> str:
        """Return why the method has no graph of its own: it reads the true records, or rebuilds none."""
        if method.spec.reads:
            return f"{method.spec.name} reads the true records, so no graph is reconstructed"
        name = method.spec.name
        return "" if method.spec.rebuilds_graph else f"{name} reconstructs no graph: no report names a neighbour"

    def work(self, scene: RepeatContext) -> Outcome:
        """Ask, reconstruct the graph and train on it."""
        setup, tell = scene.setup, scene.tell
        population, method, nulls = setup.population, setup.method, setup.options.nulls
        questions, collected, reports = self._reports(scene)
        tell("reconstruct", None)
        started = time.perf_counter()
        scene, defended, graph = self._rebuilt(scene, reports)
        seconds = {"collect": collected.seconds, "reconstruct": time.perf_counter() - started}
        heard = defended.reports if defended else reports
        evidence = self.null_evidence(scene, heard) if nulls or heard is not None else None
        parts = None if heard is None or evidence is None else bundle_parts(heard, known_to_curator(scene), evidence)
        extra: dict[str, Mapping[str, Any]] = {}
        if defended is not None:
            assert reports is not None
            extra["defence"] = _section(scene, defended)
            reports = silenced(reports, defended.flagged)
        own_features = "features" in method.spec.reads if reports is None else reports.features is None
        null_reports = reports if nulls and scene.state is not None else None
        del reports, defended, heard
        if parts is not None:
            extra["device_model"] = {"homophily": parts.friends.homophily, "source": parts.friends.source}
        tell("train", None)
        with watched(scene.watch):
            trained = self.train(scene, graph)
        return Outcome(
            guarantee=self.guarantee_of(setup, [questions]),
            released=questions,
            seconds={**seconds, "train": trained.seconds},
            predictions=trained.predictions,
            scores=trained.log_probability,
            model=trained.model,
            collected=collected,
            reconstruction={
                **evaluation.reconstruction(graph, population, own_features=own_features),
                **{name: graph.notes[name] for name in ("posterior",) if name in graph.notes},
            },
            evidence=evidence if nulls else None,
            reports=null_reports,
            bundle=None if parts is None else partial(bundles, parts, method, trained),
            graph=None if self.without_graph(method) else graph,
            extra=extra,
        )

    def asked_graph(self, scene: RepeatContext) -> tuple[tuple[Question, ...], Graph]:
        """Ask, and return the questions and the graph that a network would be trained on."""
        questions, _, reports = self._reports(scene)
        return questions, self._rebuilt(scene, reports)[2]

    def null_models(self, scene: RepeatContext, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
        """Yield the null models; where people volunteer, answers about the graph or features alone replace two."""
        yield from super().null_models(replace(scene, state=None), outcome, others)
        if scene.state is not None:
            yield from self._halves(scene, others)
            yield from self.shuffled(scene, outcome, others)

    def shuffled(self, scene: RepeatContext, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
        """Yield the predictions with all private attributes of other people; before them each one alone (--all-nulls).

        Where people report one attribute, all of them is that one, and has its name.

        One collection of other people is enough if the question has one stage. A device perturbs each attribute
        by itself. The real reports with one attribute from the other people therefore have the law of reports
        of people in whose records only this attribute is shuffled. A later stage or batch depends on the answers of
        the earlier ones, and some answers depend on two attributes: then each attribute has a collection of its own.
        """
        reports = outcome.reports
        assert reports is not None
        volunteers = scene.setup.budget.volunteers  # theirs are in clear, and stay as they are
        asks = [ask for ask in reports.asks.values() if not (volunteers and ask.mechanisms[0].in_clear)]
        private = sorted({name for ask in asks for name in ask.attributes})
        silent = frozenset(np.flatnonzero(~reports.answered).tolist())

        def ask(*attributes: str) -> Reports:
            with others(attributes, silent) as other:
                new_reports = self._reports(other)[2]
            assert new_reports is not None
            return new_reports

        strangers = ask(*private)
        for attribute in private if scene.setup.options.all_nulls and len(private) > 1 else ():
            staged = len(reports.plan) > 1 or bool(reports.parts) or len(reports.asks) < len(private)
            answers = ask(attribute) if staged else reports.with_answers_of(strangers, attribute)
            yield SHUFFLED + attribute, partial(self._without, scene, answers)
        name = SHUFFLED + private[0] if len(private) == 1 else SHUFFLED_ALL
        yield name, partial(self._without, scene, strangers)

    def people_to_shuffle(self, scene: RepeatContext) -> IntArray | None:
        """Return the people who do not volunteer; None, for everybody, where nobody does."""
        if not scene.setup.budget.volunteers:
            return None
        return np.setdiff1d(np.arange(len(scene.setup.population)), scene.split.labelled)

    def _halves(self, scene: RepeatContext, others: Others) -> Iterator[tuple[str, Predict]]:
        """Yield the predictions from answers about one attribute alone: about the graph, and about features."""
        setup = scene.setup
        method: Any = setup.method
        methods = {attribute: replace(method, **half) for attribute, half in method.spec.halves.items()}
        if not setup.budget.volunteers or method in methods.values():  # it is such a half itself
            return
        for attribute, method in methods.items():
            with others((), scene.silent) as other:
                altered = replace(other.setup, settings=replace(other.setup.settings, method=method))
                half = replace(other, setup=altered)
                reports = self._reports(half)[2]
                assert reports is not None
                alone = {"adjacency": GRAPH_ALONE, "features": FEATURES_ALONE}[attribute]
                yield alone, partial(self._without, half, reports)

    def _without(self, scene: RepeatContext, answers: Reports) -> Predictions:
        """Return everybody's class by the same defences, reconstruction and training on other answers."""
        scene, _, graph = self._rebuilt(scene, answers)
        return self.train(scene, graph).predictions

    def _reports(self, scene: RepeatContext) -> tuple[tuple[Question, ...], Collected, Reports | None]:
        """Return the questions, the result of the collection, and the reports (None for a reference)."""
        options = scene.setup.options
        if scene.setup.method.spec.reads:
            return (), Collected(), None
        scene.tell("collect", None)
        if options.from_reports is not None:
            reports = Reports.load(options.from_reports)
            return reports.questions(), Collected(), reports
        questions, collected, reports = gather_reports(scene)
        if options.save_reports:
            reports.save(scene.place("reports"))
        return questions, collected, reports

    def _rebuilt(self, scene: RepeatContext, reports: Reports | None) -> tuple[RepeatContext, Defended | None, Graph]:
        """Return the scene in which flagged people teach nothing, what the defences did, and the graph after them."""
        options = scene.setup.options
        defended = None
        if reports is not None and options.defences():
            defended = defend(options.defences(), reports, options.false_alarm)
            scene, reports = _without_flagged(scene, defended), defended.reports
        return scene, defended, self.graph(scene, reports)

    def graph(self, scene: RepeatContext, reports: Reports | None) -> Graph:
        """Return the graph to train on; None of reports is a reference's."""
        setup = scene.setup
        if reports is not None:
            return cast(LocalMethod, setup.method).reconstruct(reports, known_to_curator(scene))
        return cast(Reference, setup.method).from_owned(own(setup.population, scene.split, trust="none"))

    def train(self, scene: RepeatContext, graph: Graph) -> TrainedNetwork:
        """Train on the graph."""
        setup = scene.setup
        return cast(GraphMethod, setup.method).train(
            graph,
            settings=setup.settings.training,
            classes=setup.population.facts.classes,
            seed=scene.seeds.training,
            device=setup.options.device,
        )

    def null_evidence(self, scene: RepeatContext, reports: Reports | None) -> NullEvidence:
        """Return what the null models may use."""
        setup = scene.setup
        if reports is not None:
            evidence = known_from_reports(reports, known_to_curator(scene), nulls=setup.options.nulls)
            return replace(evidence, taught_by_validation=setup.method.in_force().learns_from_validation)
        return known_from_graph(own(setup.population, scene.split, trust="none"), setup.method.spec.reads)


def bundles(parts: BundleParts, method: Method, trained: TrainedNetwork) -> tuple[Bundle, Bundle | None]:
    """Return what devices predict from: after the reports, and without any."""
    spec = method.in_force()
    after = parts.after(
        trained.log_probability, trained.predictions, calibrated=spec.learns_from_validation and not spec.trains_network
    )
    return after, parts.alone()


def _without_flagged(scene: RepeatContext, defended: Defended) -> RepeatContext:
    """Return the scene without the labels in clear of flagged people: whose report is a lie may lie about a class.

    The division stays where nobody would be left to train or to validate.
    """
    if not defended.flagged.any():
        return scene
    guilty, split = np.flatnonzero(defended.flagged), scene.split
    parts = {name: np.setdiff1d(getattr(split, name), guilty) for name in ("train", "val")}
    if not all(map(len, parts.values())):
        return scene
    repeats = list(scene.setup.plans)
    repeats[scene.number] = replace(repeats[scene.number], split=replace(split, **parts))
    return replace(scene, setup=replace(scene.setup, plans=tuple(repeats)))


def _section(scene: RepeatContext, defended: Defended) -> dict[str, Any]:
    """Return the part of result.json about the defences."""
    options = scene.setup.options
    return {
        "names": list(options.defences()),
        "flagged": np.flatnonzero(defended.flagged).tolist(),
        "false_alarm": options.false_alarm,
        "notes": {name: dict(entries) for name, entries in defended.notes.items()},
    }

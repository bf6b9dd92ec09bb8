"""Base of the kinds of run, and the scene of one repeat.

:func:`ldpsim.strategies.runs.simulate.simulate` does the common part: state folder, enrolment or
continuation of a collection, accuracy, null models, reference, lifetime losses and record. A kind
of run makes the questions and does the work between enrolment and score.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import Method, Question, find
from ldpsim.curator.nulls.models import chance, features_alone, graph_alone, graph_learned
from ldpsim.curator.observer import Observer
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.reports.question import keys_of, volunteers_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.atomic_files import made_once
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import IntArray, PublicKnowledge, Split
from ldpsim.devices.policy.policy import Mode, Policy, policy_for
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.query import ATTRIBUTES
from ldpsim.devices.wire import REASONS
from ldpsim.strategies.people.owner_graphs import Division, own, sparse_features
from ldpsim.strategies.progress import Progress
from ldpsim.strategies.results.outcome import Outcome, Predictions
from ldpsim.strategies.results.verdict import CHANCE, FEATURES_ALONE, GRAPH_ALONE, GRAPH_LEARNED, SHUFFLED
from ldpsim.strategies.rounds.batches import ask_in_batches, read_reports
from ldpsim.strategies.rounds.collect_once import Collected, Stages, at_stage, stages_of
from ldpsim.strategies.runs.errors import Refused, RunFailed
from ldpsim.strategies.setup.disk_space import check_refused
from ldpsim.strategies.setup.options import RunOptions, Seeds
from ldpsim.strategies.setup.run_setup import Setup


@dataclass(frozen=True, eq=False)
class RepeatContext:
    """One repeat, with its devices enrolled and its collection open.

    Args:
        setup: The run.
        number: The repeat, from 0.
        folder: The run's folder.
        home: Folder of the devices.
        state: The enrolled devices; None if nobody is asked.
        collection: Id of the collection; an interrupted run keeps its id.
        resumed: Whether the collection was open already.
        questions: The questions of this collection.
        tell: Called with a phase and the share of it that is done.
        watch: Called with figures of each epoch or round of the method's own training; None: nobody watches.
    """

    setup: Setup
    number: int
    folder: Path
    home: Path
    state: State | None
    collection: str
    resumed: bool
    questions: tuple[Question, ...] = field(repr=False)
    tell: Progress = field(repr=False)
    watch: Observer | None = field(default=None, repr=False)

    @property
    def seeds(self) -> Seeds:
        """Seeds of this repeat."""
        return self.setup.plans[self.number].seeds

    @property
    def split(self) -> Split:
        """Division of the people in this repeat."""
        return self.setup.plans[self.number].split

    @property
    def silent(self) -> frozenset[int]:
        """Devices that never answer."""
        return self.setup.plans[self.number].silent

    @property
    def noise_seed(self) -> int:
        """Seed of all draws outside devices on which a guarantee rests (:mod:`ldpsim.curator.draws`).

        It is the run's noise seed. Where the operating system gives it, it is kept until the result is written, so
        that a run that continues draws the same again.
        """
        if self.seeds.noise is not None:
            return self.seeds.noise
        return int(made_once(self.folder / f"noise-secret-{self.number}", lambda: str(secrets.randbits(256))))

    def place(self, name: str) -> Path:
        """Return a path of this repeat in the run's folder; repeats after the first carry their number."""
        return self.folder / (name if self.number == 0 else f"{name}-{self.number}")

    def end_collection(self) -> None:
        """Close the collection and the ledgers; a later run starts a new collection."""
        if self.state is not None:
            self.state.close_collection(self.setup.digest)
        self.close()

    def close(self) -> None:
        """Close the ledgers; the collection stays open."""
        if self.state is not None:
            self.state.close()


class Run:
    """Kind of run. The defaults are those of a run that asks one private report."""

    mode: Mode = "report"
    training_phase = "train"  # of the figures of its training

    def check(self, setup: Setup) -> None:
        """Check options, method and people against one another; ValueError of one line."""

    def divide(self, options: RunOptions, population: Population, seeds: Seeds) -> Split:
        """Return the training, validation and test people."""
        return make_split(options.split, population, seeds.split, options.label_rate, options.volunteers)

    def questions(self, setup: Setup, split: Split, collection: str) -> tuple[Question, ...]:
        """Return the questions of a collection; empty if nobody is asked for a report."""
        return ()

    def policy(self, setup: Setup, questions: tuple[Question, ...]) -> Policy | None:
        """Return the policy of devices that are enrolled for these questions; None if nobody is asked."""
        if not questions:
            return None
        options = setup.options
        return policy_for(
            [question.query for question in questions],
            setup.population.facts,
            reporting=setup.budget.reporting,
            on_requery="replay" if options.on_requery == "replay" else "refuse",
            caps=options.caps,
            mode=self.mode,
            collector=None if setup.curator_key is None else setup.curator_key.public,
            volunteers=volunteers_of(questions) if setup.budget.volunteers else None,
        )

    def guarantee_before(self, setup: Setup, split: Split) -> Guarantee:
        """Return the guarantee before anybody is asked; ValueError for parameters that do not fit."""
        return self.guarantee_of(setup, [self.released_before(setup, split)])

    def released_before(self, setup: Setup, split: Split) -> Any:
        """Return the release of one collection (as :meth:`guarantee_of` takes it) if everybody answers."""
        return self.questions(setup, split, "before")

    def guarantee_of(self, setup: Setup, released: Sequence[Any]) -> Guarantee:
        """Return the guarantee of collections that ask the same people, each with fresh noise.

        Args:
            setup: The run.
            released: Of each collection, what its guarantee is computed from: its questions, unless a kind of run
                overrides this method.
        """
        method, facts, times = setup.method, setup.population.facts, len(released)
        if len({keys_of(questions) for questions in released}) == 1:
            return method.guarantee(facts, released[0], setup.budget, collections=times).over(times)
        together = [question for questions in released for question in questions]
        return method.guarantee(facts, together, setup.budget).over(times)

    def attains(self, setup: Setup, fresh: Sequence[int]) -> bool:
        """Return whether some person is in all of these repeats, so that the sum of their losses can be attained."""
        divisions = [setup.plans[number].split for number in fresh]
        return all(np.array_equal(np.sort(_inside(each)), np.sort(_inside(divisions[0]))) for each in divisions)

    def fresh(self, setup: Setup, outcomes: Sequence[Outcome]) -> list[int]:
        """Return the repeats that released something of their own, in rising order: all of them, unless overridden."""
        return list(range(len(outcomes)))

    def verb(self, setup: Setup) -> str:
        """Return how a curator would have a graph or features: ``reported``, ``read`` (nobody is asked), ``public``."""
        return "reported"

    def without_graph(self, method: Method) -> str:
        """Return in one sentence why a run of the method reconstructs no graph; empty if it does."""
        return f"{method.spec.name} reconstructs no graph: its devices report no edge to the curator"

    def work(self, scene: RepeatContext) -> Outcome:
        """Ask the devices, train, and return the outcome.

        Raises:
            Refused: if no device answered and at least one refused.
            RunFailed: if the run could not be finished for another reason.
        """
        raise NotImplementedError

    def null_models(self, scene: RepeatContext, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
        """Yield name and predictions of each null model; chance comes first.

        Other people are asked when the next one is drawn. The calls ask nobody and do not depend on one another.

        Args:
            scene: The repeat, after its work.
            outcome: Outcome of its work.
            others: Enrols other people; not used where ``scene`` has no devices.
        """
        evidence = outcome.evidence
        if evidence is not None:
            seed, device = scene.seeds.training, scene.setup.options.device
            yield CHANCE, lambda: np.full(len(evidence.labels.labels), chance(evidence))
            yield GRAPH_ALONE, lambda: graph_alone(evidence)
            yield GRAPH_LEARNED, lambda: graph_learned(evidence, seed=seed, device=device)
            yield FEATURES_ALONE, lambda: features_alone(evidence, seed=seed, device=device)
        if scene.state is not None:
            yield from self.shuffled(scene, outcome, others)

    def shuffled(self, scene: RepeatContext, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
        """Yield name and predictions of the same work on the data of other people.

        A run in rounds, or on raw records, does its whole work once more with all attributes shuffled.
        """
        with others(ATTRIBUTES, scene.silent) as other:
            predictions = self.work(other).predictions
        yield SHUFFLED_ALL, lambda: predictions

    def reference(self, scene: RepeatContext, settings: TrainingSettings) -> Predictions | None:
        """Return the predictions of the same network on the same graph, without noise or protection.

        None if the run has no reference.
        """
        return without_noise(scene.setup, scene.number, settings)

    def reference_settings(self, setup: Setup) -> tuple[TrainingSettings, TrainingSettings]:
        """Return settings of the reference: the method's own, and the reference's own."""
        return setup.settings.training, setup.settings.reference

    def people_to_shuffle(self, scene: RepeatContext) -> IntArray | None:
        """Return the people whose private data are shuffled among themselves; None: everybody."""
        return None


def without_noise(setup: Setup, number: int, settings: TrainingSettings) -> IntArray:
    """Train the run's network on the true graph and return everybody's class, int64 (n,).

    It reads in clear whatever the method reads: labels that people beside volunteers are asked for, too.
    """
    raw: Any = find("raw")()
    plan = setup.plans[number]
    trained = raw.train(
        raw.from_owned(own(setup.population, plan.labelled_split(), trust="none")),
        settings=settings,
        classes=setup.population.facts.classes,
        seed=plan.seeds.training,
        device=setup.options.device,
    )
    return trained.predictions


def _inside(split: Split) -> IntArray:
    """Return the people whose records a training or an owner reads."""
    return split.private if isinstance(split, Division) else split.train


SHUFFLED_ALL = f"{SHUFFLED}all"
Predict = Callable[[], Predictions | None]  # the work of a null model; None: it does not fit
# attributes to shuffle, devices that never answer -> a scene with these people
Others = Callable[[Iterable[str], frozenset[int]], AbstractContextManager[RepeatContext]]


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
    if setup.curator_key is not None:
        pairs = [(question.query, question.devices) for question in questions]
        more["terms"] = setup.curator_key.sign(terms_of(pairs, len(people)))
    if decode and not setup.method.spec.in_batches:  # the next batch's question is made of the bytes so far
        more["facts"] = people.facts

    def ask(batch: Sequence[Question]) -> Collected:
        return setup.collect(scene.home, batch, devices=len(people), silent=scene.silent, **more)

    if setup.method.spec.in_batches:
        public = known_to_curator(scene)
        questions, collected = ask_in_batches(setup.method, public, setup.budget, questions, scene.home, ask)
    else:
        collected = ask(questions)
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

"""Run of an owner's method: records handed over, teachers, labels under noise, a student.

    devices (owner mode) -> OwnedGraph -> teachers or votes -> noisy labels -> student on the public graph

Each private device hands its record over once. A killed run continues with the stored records
and with the finished chunks of teachers.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ldpsim.curator.learning.training import TrainingSettings, choose_device
from ldpsim.curator.methods import Question
from ldpsim.curator.methods.owner.owner import B1, Baseline, LabelAnswers, OwnerMethod, private_graph, sage_settings
from ldpsim.curator.owner.privacy.account import Account
from ldpsim.curator.owner.privacy.label import shared_label_epsilon
from ldpsim.curator.owner.teachers.answering import query_order
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.student import Student, train_network
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.mechanisms import round_up
from ldpsim.devices.policy.policy import Mode
from ldpsim.devices.raw_record import hand_over
from ldpsim.strategies.people.owner_graphs import (
    Division,
    divide,
    handed_over,
    owned_people,
    public_graph,
    shown_publicly,
)
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.rounds.batches import read_records
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.run import RepeatContext, Run, ask_devices
from ldpsim.strategies.runs.teachers import Classroom, one_thread
from ldpsim.strategies.setup.options import RunOptions, Seeds
from ldpsim.strategies.setup.run_setup import RunSetup
from ldpsim.strategies.setup.settings import check_owner_run


class OwnerRun(Run):
    """Private people hand their records over once; baselines read the owner's graph without asking."""

    mode: Mode = "owner"

    def check(self, setup: RunSetup) -> None:
        """Check options, method and division against one another."""
        check_owner_run(setup.settings, setup.population, _division(setup.repeats[0].split))

    def divide(self, options: RunOptions, population: Population, seeds: Seeds) -> Split:
        """Return the division into private and public people."""
        return divide(population, seeds.split)

    def questions(self, setup: RunSetup, split: Split, collection: str) -> tuple[Question, ...]:
        """Return the request for the raw record, to the private people."""
        return (Question(hand_over(collection), _division(split).private),) if _method(setup).hands_over else ()

    def released_before(self, setup: RunSetup, split: Split) -> Account | None:
        """Return the account of the labels that will be released; None of a baseline."""
        return _method(setup).account(len(_division(split).private), setup.population.facts.classes)

    def guarantee_of(self, setup: RunSetup, released: Sequence[Account | None]) -> Guarantee:
        """Return the guarantee of releases of labels; a division that varies is taken to keep a person private."""
        method = setup.method
        accounts = [account for account in released if account is not None]
        if not accounts:
            return method.guarantee(setup.population.facts, (), setup.budget)
        worst = max(accounts, key=lambda account: account.label)
        return cast(LabelAnswers, method).guarantee_of(worst, len(accounts))

    def work(self, scene: RepeatContext) -> Outcome:
        """Collect the records, train teachers or count votes, release labels, train the student."""
        setup, division, method = scene.setup, _division(scene.split), _method(scene.setup)
        population, classes = setup.population, setup.population.facts.classes
        seconds = dict.fromkeys(("collect", "reconstruct"), 0.0)
        collected = Collected()
        cost: Account | None
        extra: dict[str, Any] = {}
        told = division.asked, population.labels[division.asked]
        if not method.hands_over:
            scene.tell("train", None)
            student = self._baseline(scene, cast(Baseline, method), setup.settings.training)
            cost = None
        else:
            scene.tell("collect", None)
            _, collected = ask_devices(scene)
            seconds["collect"] = collected.seconds
            owned = handed_over(population.facts, division, read_records(population.facts, collected))
            public = public_graph(population, division, labelled=False)
            started = time.perf_counter()
            cost, labels, nodes, section = _release(
                scene, cast(LabelAnswers, method), private_graph(owned), public, division
            )
            scene.tell("train", None)
            with one_thread():
                settings = sage_settings(setup.settings.training)
                student = train_network(public, nodes, labels, classes, settings, seed=scene.seeds.training)
            told = division.public[nodes], labels
            extra = {"teachers": section}
            seconds["reconstruct"] = time.perf_counter() - started - student.seconds
        return Outcome(
            guarantee=self.guarantee_of(setup, [cost]),
            released=cost,
            seconds={**seconds, "train": student.seconds},
            predictions=_everybody(student, population, division),
            model=student.network,
            collected=collected,
            known=shown_publicly(population, division, *told, released=bool(extra)) if setup.options.nulls else None,
            extra=extra,
        )

    def reference_settings(self, setup: RunSetup) -> tuple[TrainingSettings, TrainingSettings]:
        """Return the method's settings twice: they are those of B1 in the paper."""
        return setup.settings.training, setup.settings.training

    def people_to_shuffle(self, scene: RepeatContext) -> IntArray | None:
        """Return the private people: the public ones keep their records."""
        return _division(scene.split).private

    def reference(self, scene: RepeatContext, settings: TrainingSettings) -> IntArray | None:
        """Return everybody's class by a network that trained on the private people's own labels (B1)."""
        if not _method(scene.setup).hands_over:
            return None
        return _everybody(self._baseline(scene, B1(), settings), scene.setup.population, _division(scene.split))

    def _baseline(self, scene: RepeatContext, method: Baseline, settings: TrainingSettings) -> Student:
        setup, population, division = scene.setup, scene.setup.population, _division(scene.split)
        public = public_graph(population, division, labelled=not _method(setup).hands_over)
        asked = np.searchsorted(division.public, division.asked)
        with one_thread():
            return method.predictions(owned_people(population, division), public, asked,
                                      sage_settings(settings), classes=population.facts.classes,
                                      seed=scene.seeds.training)  # fmt: skip


def _method(setup: RunSetup) -> OwnerMethod:
    return cast(OwnerMethod, setup.method)


def _division(split: Split) -> Division:
    assert isinstance(split, Division)
    return split


def _release(
    scene: RepeatContext, method: LabelAnswers, private: PlainGraph, public: PlainGraph, division: Division
) -> tuple[Account, IntArray, IntArray, dict[str, Any]]:
    """Return the cost of the release, the noisy labels, their public nodes, and the section of the record."""
    setup, seeds = scene.setup, scene.seeds
    options, classes = setup.options, setup.population.facts.classes
    noise_seed = scene.noise_seed
    candidates = np.searchsorted(division.public, division.asked)
    order = query_order(public, candidates, method.query_selection, seed=seeds.split)
    nodes = order[: method.queries]
    scene.tell("teachers", 0.0)
    cost = method.account(len(private), classes)
    training = setup.settings.training
    teaching = method.teaching(training, classes=classes, noise_seed=noise_seed, training_seed=seeds.training)
    given: dict[str, Any] = {"trained": method.trained}
    if teaching is not None:
        # No other run can use teachers whose samples come from a secret: they go with it (`remove_unfinished`).
        home = scene.folder if options.out is None or seeds.noise is None else options.out / "teachers"
        room = Classroom.open(home, private, public, teaching, order, device=choose_device(options.device).type)
        reused = room.trained(method.queries)
        values = room.posteriors(
            method.queries, workers=options.workers, ray_address=options.ray_address, tell=scene.tell
        )
        given |= {
            "reused": reused,
            "labels_released_in_all": room.note_release(method.lambda_, method.queries, of=method.scores),
            "epsilon_in_all": _in_all(room, cost),
        }
    else:
        with one_thread():
            values = method.votes(private, public, nodes, sage_settings(training), classes=classes,
                                  noise_seed=noise_seed, training_seed=seeds.training)  # fmt: skip
        given |= {"labels_released_in_all": method.queries, "epsilon_in_all": cost.label}
    labels = method.labels(values, noise_seed=noise_seed)
    truth = setup.population.labels[division.public[nodes]]
    section = {
        "division": division.rule,
        "private": len(private),
        "asked_about": len(division.asked),
        "scored": len(division.scored),
        "queries": method.queries,
        **given,
        "labels_sha256": hashlib.sha256(np.ascontiguousarray(labels, "<i8").tobytes()).hexdigest(),
        "pseudo_label_accuracy": float(np.mean(labels == truth)),
        "pseudo_label_ceiling": cost.ceiling,
        "teacher_accuracy": float(np.mean(values.argmax(1) == truth)),
        "epsilon": {"printed": cost.printed, "label": cost.label, "vector": cost.vector},
        "delta": cost.release.delta,
        "delta_printed": cost.delta_printed,
        "warnings": list(cost.warnings),
    }
    return cost, labels, nodes, section


def _in_all(room: Classroom, cost: Account) -> float | None:
    """Return the loss of all labels that these teachers released, with this release; None if it is not bounded."""
    lambdas, on_posteriors = room.released()
    asked = cost.release
    if not on_posteriors:
        return None
    if lambdas == {asked.lambda_: asked.queries}:
        return cost.label
    assert asked.classes is not None
    return round_up(shared_label_epsilon(lambdas, classes=asked.classes, delta=asked.delta))


def _everybody(student: Student, population: Population, division: Division) -> np.ndarray:
    predictions = np.full(len(population), -1, np.int64)
    predictions[division.public] = student.predictions
    return predictions

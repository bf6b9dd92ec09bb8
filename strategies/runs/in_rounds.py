"""Runs of the federated methods: devices, or silos of devices, train in rounds of Flower's strategies.

    devices (federated mode)               -> [one exchange] -> rounds -> weights
    devices (owner mode) -> silos          -> [one exchange] -> rounds -> weights
    isolate: every device trains alone and sends nothing

There is one loop of rounds: a device is a silo of one. Each silo is one Flower client with a folder of its own, and the
same ClientApp as a device's. The guarantee is computed from the devices' ledgers.

A killed run continues after its last finished round (:mod:`ldpsim.strategies.rounds.checkpoint`). The round of the kill
is asked again in the same collection. A device that had answered answers twice, and its ledger counts both answers.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from flwr.serverapp import Grid

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import Question
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.curator.methods.federated.silos import Silos
from ldpsim.curator.nulls.models import known_from_graph
from ldpsim.curator.observer import watched
from ldpsim.curator.owner.teachers.answering import derive, private_generator
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.federated.local_steps import Inputs, SparseRows, Stack
from ldpsim.devices.federated.members import Members, size_of
from ldpsim.devices.federated.wire import weights_record
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.network import FloatArray
from ldpsim.devices.policy.policy import Mode, Policy, policy_for_training
from ldpsim.devices.raw_record import hand_over
from ldpsim.devices.training_task import UNPROTECTED, Task
from ldpsim.strategies.engines import collect as engines
from ldpsim.strategies.engines.grids import SiloGrid
from ldpsim.strategies.federated import TrainingPlan, strategy_for
from ldpsim.strategies.people.owner_graphs import joined_rows, own
from ldpsim.strategies.people.silos import divide_into_silos
from ldpsim.strategies.results import evaluation
from ldpsim.strategies.results.lifetime import TrainingAnswers, read_ledgers
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.rounds.batches import read_records
from ldpsim.strategies.rounds.checkpoint import CheckpointFile, Standing, run_rounds
from ldpsim.strategies.rounds.replies import Replies, TooManyFailed
from ldpsim.strategies.rounds.training_grid import Phase, TrainingGrid, draw_nodes, exchange_sums
from ldpsim.strategies.runs.network import TwoLayers, class_scores, predict_by_silo, scaled_features, scores_of_task
from ldpsim.strategies.runs.run import Refused, RepeatContext, Run, RunFailed, ask_devices
from ldpsim.strategies.seeded import seeded
from ldpsim.strategies.setup.run_setup import RunSetup
from ldpsim.strategies.setup.settings import check_federated_run

log = logging.getLogger("ldpsim")
_ALONE = 64  # networks of `isolate` trained at once


@dataclass(frozen=True, eq=False)
class Trained:
    """Figures from which the guarantee of a training is computed.

    Args:
        people: Number of training devices.
        models: Number of models that the server released.
        answers: Answers of the devices.
        certain: Whether the ledgers say what every answer under noise lost.
    """

    people: int
    models: int
    answers: TrainingAnswers
    certain: bool = True


class Training:
    """The rounds of one repeat.

    Args:
        scene: The repeat; its seeds draw the initial weights, samples, dropouts and the server's noise.
        task: The task of the parties.
        inner: Grid that takes messages to them.
        file: The checkpoint.
        before: Number of answers in this collection before this start, by the devices' ledgers; None of silos, which
            have none.
        nodes: All parties, by number plus 1; None: the devices of everybody.
        learners: Those of them that train; None: the devices of the training people.

    Raises:
        ValueError: for a dp-fedavg whose devices answered before and that has no checkpoint.
    """

    def __init__(
        self, scene: RepeatContext, task: Task, inner: Grid, file: CheckpointFile, before: int | None, *,
        nodes: Sequence[int] | None = None, learners: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        setup, method = scene.setup, cast(Federated, scene.setup.method)
        self.setup, self.method, self.task, self.tell, self.file = setup, method, task, scene.tell, file
        self.split, self.seeds, self.before, self.people = scene.split, scene.seeds, before, len(setup.population)
        self.nodes = list(range(1, self.people + 1)) if nodes is None else nodes
        self.learners = (scene.split.train + 1).tolist() if learners is None else learners
        standing = file.load(task.shape.size)
        self.resumed = standing is not None
        self.start = self._start(standing)
        # Seed of the server's noise and sample, another one for each time that a round was begun again.
        self._private = derive(scene.noise_seed, "attempt", self.start.again) if method.spec.central_noise else None
        self.notes: dict[str, Any] = method.notes(len(self.learners), setup.budget)
        self.exchange_seconds = 0.0
        silent = frozenset[int]() if task.of_silos else frozenset(device + 1 for device in scene.silent)
        self.grid = TrainingGrid(inner, train=self.sample, evaluate=self._judges, dropping=method.dropping,
                                 seed=scene.seeds.split, silent=silent, replies=Replies(task, self.people))  # fmt: skip

    def _start(self, standing: Standing | None) -> Standing:
        """Return the state of the checkpoint, or a new one."""
        start = standing or Standing(self.task.shape.initial(self.seeds.training))
        if standing is not None:
            log.info("going on after round %d of %d", start.done, self.method.rounds)
        if self.before is None:
            if standing is not None and start.done < self.method.rounds:
                start.again += 1  # it is not known whether the silos had answered; nothing is promised
            return start
        if standing is None and self.before and self.method.spec.central_noise:
            raise ValueError(
                f"{self.method.spec.name}: its devices gave {self.before:,} answers in a run that was stopped, and its "
                "checkpoint is gone; how many noisy models were made is not known: enrol new devices with another "
                "--state, or another --out"
            )
        if self.before > start.tally.heard + start.lost:
            # The ledgers have more answers than the finished rounds and earlier kills explain: a
            # round was begun and not finished. It is asked again.
            start.again, start.lost = start.again + 1, self.before - start.tally.heard
            start.attempt = self.before  # the ledgers only grow, so no other start had this number
            # The server's noise may have been added to the lost round, and its model handed to the
            # devices that judge it. The same noise on other replies (a device was silent once) would
            # give the difference of two means without any noise. So noise and sample are drawn anew
            # (`_private`), and the lost model counts as one more release (`released`). Where no
            # answer is in a ledger beyond the finished rounds, no noise was put on any data.
        return start

    def sample(self, number: int) -> Sequence[int]:
        """Return the parties that train in a round: drawn without replacement, or in turns."""
        if self.method.spec.takes_turns:
            turns = round(1 / self.method.fraction)
            order = np.random.default_rng(self.seeds.training).permutation(self.learners)
            return sorted(order[(number - 1) % turns :: turns].tolist())
        if self._private is None:
            return draw_nodes(self.learners, self.method.fraction, [self.seeds.training, number])
        return draw_nodes(self.learners, self.method.fraction, private_generator(self._private, "devices", number))

    def _judges(self, number: int) -> Sequence[int]:
        every = 0 if self.task.of_silos else self.method.evaluate_every
        return (self.split.val + 1).tolist() if every and number % every == 0 else ()

    def run(self) -> FloatArray:
        """Run everything and return the weights."""
        start, started = self.start, time.perf_counter()
        if not self.resumed and self.task.sees == "sums":
            self.tell("exchange", None)
            judges = self._judges(self.method.evaluate_every)
            recipients = self.nodes if self.task.of_silos else sorted([*self.learners, *judges])
            exchange_sums(self.grid, self.task, self.nodes, self.people, recipients)
            self._check()
        seed = self.seeds.training if self._private is None else self._private
        plan = TrainingPlan(self.task, self.setup.budget, self.nodes, len(self.learners), seed)
        strategy = strategy_for(self.method, plan)
        if not self.resumed and hasattr(strategy, "subscribe"):  # an exchange before the first round
            self.tell("exchange", None)
            strategy.subscribe(self.grid, weights_record(start.weights))
            self._check()
        if not self.resumed:
            start.tally = self.grid.tally
        self.exchange_seconds = time.perf_counter() - started

        def after(number: int, weights: FloatArray) -> None:
            if number > start.done:
                self._check()
            self.tell("rounds", number / self.method.rounds)

        return run_rounds(
            strategy, self.grid, start, self.task.to_bytes(), rounds=self.method.rounds, file=self.file, after=after
        )

    def _check(self) -> None:
        """Raise Refused if all devices refuse; a round without answers is only a lost round."""
        tally = self.grid.tally
        if self.before == 0 and not tally.answered and tally.refused:
            raise self._refused()

    def _refused(self) -> Refused:
        tally = self.grid.tally
        codes = tally.collected(0.0).refused
        counts = ", ".join(f"{code} {count:,}" for code, count in sorted(codes.items()))
        gave = f"; before a stop they gave {self.before:,} answers" if self.before else ""
        return Refused(f"refused: none of {len(tally.recipients):,} devices takes part ({counts}{gave})")

    def released(self, answers: TrainingAnswers) -> Trained:
        """Return what was released in the answered rounds, and the answers in the ledgers.

        Raises:
            Refused: if no round was answered, and devices refused.
            RunFailed: if no round was answered for another reason.
        """
        tally = self.grid.tally
        if not tally.rounds_answered:
            if tally.refused:
                raise self._refused()
            raise RunFailed(f"none of {len(tally.recipients):,} devices answered in {self.method.rounds} rounds")
        certain = self.task.noise is None or (answers.complete and math.isfinite(answers.loss.vector))
        return Trained(len(self.split.train), tally.rounds_answered + self.start.again, answers, certain)

    def section(self) -> dict[str, Any]:
        """Return the part ``federated`` of a result; ``failed`` has what was wrong with a party's reply."""
        tally = self.grid.tally
        failed = {str(node - 1): tally.failed[node] for node in sorted(tally.failed)}
        return {
            "rounds": self.method.rounds, "rounds_answered": tally.rounds_answered, "trained_on": len(self.split.train),
            "checkpoint": self.start.done, "begun_again": self.start.again, **self.notes,
            **({"failed": failed} if failed else {}),
        }  # fmt: skip


class InRounds(Run):
    """Base of the trainings in rounds: checks, and the guarantee before anybody is asked."""

    mode: Mode = "federated"
    training_phase = "rounds"

    def check(self, setup: RunSetup) -> None:
        """Check options, method and people against one another."""
        check_federated_run(setup.options, setup.settings, setup.population, setup.repeats[0].split)

    def released_before(self, setup: RunSetup, split: Split) -> Trained | None:
        """Return the release if every round is answered; None where it does not depend on who trains."""
        method = cast(Federated, setup.method)
        if not method.spec.central_noise:
            return None
        # The more people train, the better the noise on a trained model hides each of them.
        answers = TrainingAnswers(np.full(len(setup.population), method.answers), UNPROTECTED, complete=True)
        return Trained(len(split.train), method.rounds, answers)

    def guarantee_of(self, setup: RunSetup, released: Sequence[Any]) -> Guarantee:
        """Return the guarantee of the models of a server, or of the updates of each device, in all trainings."""
        method, facts, times = cast(Federated, setup.method), setup.population.facts, len(released)
        if None in released:
            return method.guarantee(facts, (), setup.budget, collections=times).over(times)
        trained: Sequence[Trained] = released
        models, losses = sum(one.models for one in trained), [one.answers.loss for one in trained]
        most = int(np.sum([one.answers.counts for one in trained], axis=0).max(initial=0))
        largest = Loss(*(max(getattr(loss, name) for loss in losses) for name in ("bit", "vector", "delta")))
        each = [
            method.guarantee_of_training(
                facts, setup.budget, people=people, models=models, answers=most, loss=largest
            )
            for people in sorted({one.people for one in trained})
        ]  # fmt: skip
        worst = max(each, key=lambda guarantee: guarantee.holds["central_node"].value or 0.0).over(times)
        if all(one.certain for one in trained):
            return worst
        unbounded = Level("unprotected", reason="a ledger could not be read whole, or holds an answer without noise")
        holds = {name: unbounded if level.status == "bounded" else level for name, level in worst.holds.items()}
        return replace(worst, holds=holds)

    def reference_settings(self, setup: RunSetup) -> tuple[TrainingSettings, TrainingSettings]:
        """Return the reference's own settings twice: a device's learning rate is that of another optimiser."""
        return setup.settings.reference, setup.settings.reference

    def work(self, scene: RepeatContext) -> Outcome:
        """Train, unless the training stopped for good before.

        Raises:
            RunFailed: where too many parties of a round failed, now or in an earlier run: then nobody is asked.
            Refused, ValueError, OSError: as :meth:`train`.
        """
        note = scene.home / f"stopped-{scene.collection}"  # an id is a valid file name: the task checks its characters
        try:
            if note.is_file():
                raise TooManyFailed(note.read_text())
            return self.train(scene)
        except TooManyFailed as error:
            write_atomically(note, str(error))
            name = scene.setup.method.spec.name
            raise RunFailed(f"{name}: {error}; a run with another --state, or another --out, enrols others") from None

    def train(self, scene: RepeatContext) -> Outcome:
        """Ask the parties, train, and return the outcome; raises as :meth:`ldpsim.strategies.runs.run.Run.work`."""
        raise NotImplementedError

    def outcome(
        self, scene: RepeatContext, released: Trained | None, collect: float, train: float, **more: Any
    ) -> Outcome:
        """Return the outcome of a training; chance is measured with the labels of the people who train."""
        setup, evidence = scene.setup, None
        if setup.options.nulls:
            evidence = known_from_graph(own(setup.population, scene.split, trust="none"), ("label",))
        seconds = {"collect": collect, "reconstruct": 0.0, "train": train}
        return Outcome(self.guarantee_of(setup, [released]), seconds, released=released, evidence=evidence, **more)


class FederatedRun(InRounds):
    """Rounds in which the devices of the people train."""

    def policy(self, setup: RunSetup, questions: tuple[Question, ...]) -> Policy | None:
        """Return a policy that allows all answers of the rounds."""
        answers = cast(Federated, setup.method).answers
        task = task_of(setup, "policy")
        return policy_for_training(task, setup.population.facts, answers=answers, caps=setup.options.caps)

    def train(self, scene: RepeatContext) -> Outcome:
        """Run the rounds.

        Raises:
            ValueError: for a dp-fedavg that was killed and has no checkpoint.
            Refused: if no device took part and at least one refused.
            RunFailed: if no device answered.
        """
        setup, state, options = scene.setup, scene.state, scene.setup.options
        assert state is not None
        task = task_of(setup, scene.collection)
        before = read_ledgers(state, scene.collection)[1].total if scene.resumed else 0
        state.close()  # the rounds open the ledgers in processes of their own
        file = checkpoint_of(scene)
        grid = engines.grid_for(scene.home, len(setup.population), engine=options.engine, workers=options.workers,
                                ray_address=options.ray_address)  # fmt: skip
        started = time.perf_counter()
        try:
            with grid as inner, engines.quiet_flower(), seeded(scene.seeds.training), watched(scene.watch):
                training = Training(scene, task, inner, file, before)
                weights = training.run()
        except Refused:
            if not before:  # nobody answered: there is no collection to continue
                scene.end_collection()
            raise
        seconds = time.perf_counter() - started
        tally = training.grid.tally
        lifetime, answers = read_ledgers(state, scene.collection)
        released = training.released(answers)
        collected = tally.collected(seconds)
        collected.reports = {0: file.digest.digest()}
        section = {
            **training.section(),
            "answers_per_device": {"max": answers.most, "mean": answers.total / max(len(tally.recipients), 1)},
            "answers_lost": max(answers.total - tally.heard, 0),
        }
        scores = scores_of_task(weights, task, setup.population)
        return self.outcome(
            scene, released, training.exchange_seconds, seconds - training.exchange_seconds,
            predictions=scores.argmax(axis=1),
            scores=scores,
            model=TwoLayers(weights, task.shape),
            collected=collected,
            lifetime=lifetime,
            phases={name: phase.to_dict() for name, phase in tally.phases.items()},
            extra={"federated": section},
        )  # fmt: skip


class SiloRun(InRounds):
    """Members hand their records over to silos; the silos train in rounds."""

    mode: Mode = "owner"

    def questions(self, setup: RunSetup, split: Split, collection: str) -> tuple[Question, ...]:
        """Return the request for the raw record, to everybody."""
        return (Question(hand_over(collection)),)

    def train(self, scene: RepeatContext) -> Outcome:
        """Collect the records, store them in silos and run the rounds."""
        setup, split, seeds = scene.setup, scene.split, scene.seeds
        population, method, training = setup.population, cast(Silos, setup.method), setup.settings.training
        scene.tell("collect", None)
        _, collected = ask_devices(scene)
        member_of = divide_into_silos(population, method, seeds.split)
        folder = scene.place("silos")
        silos = _settle(read_records(population.facts, collected), member_of, split, folder, method)
        task = Task(
            scene.collection, "sums" if method.spec.sums else "own", population.facts.d, training.hidden,
            population.facts.classes, float(training.lr), method.local_steps, scaling="none",
            weight_decay=float(training.weight_decay), dropout=float(training.gnn_dropout), seed=seeds.training,
        )  # fmt: skip
        nodes = list(range(1, method.silos + 1))
        learners = [node for node in nodes if silos[node - 1].training.any()]
        # Other answers (of a device that failed before) make other silos, which need a checkpoint of their own.
        file = checkpoint_of(scene, collected.reports_sha256)
        started = time.perf_counter()
        with engines.quiet_flower(), seeded(seeds.training), watched(scene.watch):
            rounds = Training(scene, task, SiloGrid(folder, method.silos), file, None, nodes=nodes, learners=learners)
            weights = rounds.run()
        tally = rounds.grid.tally
        if not tally.rounds_answered:
            raise RunFailed(f"none of {method.silos} silos answered in {method.rounds} rounds")
        seconds = time.perf_counter() - started - rounds.exchange_seconds
        handover = Phase(collected.rounds, collected.messages, collected.downlink_bytes, collected.uplink_bytes)
        inside = member_of[population.edges[0]] == member_of[population.edges[1]]
        section = {
            **rounds.section(),
            "silos": method.silos,
            "partition": method.partition,
            "members": [len(silo.members) for silo in silos],
            "edges_inside": float(inside.mean()) if len(inside) else None,
            "bytes_between_silos_and_server": sum(p.downlink_bytes + p.uplink_bytes for p in tally.phases.values()),
            "per_silo": {
                name: {each: getattr(phase, each) / method.silos for each in ("downlink_bytes", "uplink_bytes")}
                for name, phase in tally.phases.items()
            },
        }
        return self.outcome(
            scene, None, collected.seconds + rounds.exchange_seconds, seconds,
            predictions=predict_by_silo(silos, folder, task, weights, len(population)),
            model=TwoLayers(weights, task.shape),
            collected=collected,
            phases={name: phase.to_dict() for name, phase in {"handover": handover, **tally.phases}.items()},
            extra={"federated": section},
        )  # fmt: skip


class IsolatedRun(InRounds):
    """One network a training device, which sends nothing; the accuracy is the mean of theirs on the other people."""

    def policy(self, setup: RunSetup, questions: tuple[Question, ...]) -> Policy | None:
        """Nobody is asked."""
        return None

    def train(self, scene: RepeatContext) -> Outcome:
        """Train every device's network and score it."""
        setup, split, population = scene.setup, scene.split, scene.setup.population
        task = task_of(setup, "isolate")
        started = time.perf_counter()
        inputs = scaled_features(population, task.scaling)
        weights = task.shape.initial(scene.seeds.training)
        scores: dict[str, list[float]] = {"test": [], "val": [], "macro_f1": []}
        one = SparseRows.one(np.arange(1), np.ones(1, np.float32))
        for start in range(0, len(split.train), _ALONE):
            alone = []
            for person in split.train[start : start + _ALONE].tolist():
                row = slice(inputs.indptr[person], inputs.indptr[person + 1])
                features = SparseRows.one(inputs.indices[row].astype(np.int64), inputs.data[row])
                alone.append(Inputs(features, one, population.labels[person : person + 1]))
            for flat in Stack(alone, task).train(weights):
                predictions = class_scores(task.shape.parts(flat), "own", inputs, population).argmax(axis=1)
                for name, value in evaluation.accuracy(predictions, population, split).items():
                    if value is not None:
                        scores[name].append(value)
        return self.outcome(
            scene, None, 0.0, time.perf_counter() - started,
            accuracy={name: float(np.mean(each)) if each else None for name, each in scores.items()},
            phases={},
            extra={"federated": {"rounds": 0, "rounds_answered": 0, "checkpoint": 0, "trained_on": len(split.train)}},
        )  # fmt: skip


def task_of(setup: RunSetup, collection: str) -> Task:
    """Return the task of a federated method's devices."""
    method = cast(Federated, setup.method)
    return method.task(collection, setup.population.facts, setup.settings.training, setup.budget)


def checkpoint_of(scene: RepeatContext, *more: str) -> CheckpointFile:
    """Return the checkpoint of a repeat; its key is the set-up, the collection and ``more``."""
    folder = scene.folder if scene.setup.options.out is not None else None
    return CheckpointFile(folder, scene.number, (scene.setup.digest, scene.collection, *more))


def _settle(
    records: Mapping[int, Record], member_of: IntArray, split: Split, folder: Path, method: Silos
) -> list[Members]:
    """Create a folder for each silo with the records of its members."""
    learners = np.zeros(len(member_of), bool)
    learners[split.train] = True
    silos = []
    for number in range(method.silos):
        members = np.array([person for person in np.flatnonzero(member_of == number) if person in records], np.int64)
        own = [records[person] for person in members.tolist()]
        values = [each.feature_values / np.float32(size_of(each.feature_values, method.scaling)) for each in own]
        labels = np.array([record.label for record in own], np.int64)
        silo = Members(
            members, *joined_rows([record.feature_indices for record in own], np.int64),
            joined_rows(values, np.float32)[1],
            *joined_rows([record.neighbours for record in own], np.int64),
            labels, learners[members] & (labels >= 0),
        )  # fmt: skip
        silo.save(folder / f"silo-{number}")
        silos.append(silo)
    return silos

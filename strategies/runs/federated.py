"""Run of a federated method: devices that train, rounds of Flower's strategies, a network.

    devices (federated mode) -> [one exchange] -> rounds -> weights

A killed run continues after its last finished round (:mod:`ldpsim.strategies.rounds.checkpoint`). The
round of the kill is asked again in the same collection. A device that had answered answers twice,
its ledger counts both answers, and the guarantee is computed from the ledgers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import Question
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.curator.nulls.known import NullEvidence, known_from_graph
from ldpsim.curator.observer import watched
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.devices.facts import Split
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.policy.policy import Mode, Policy, policy_for_training
from ldpsim.devices.training_task import UNPROTECTED, Task
from ldpsim.strategies.engines import collect as engines
from ldpsim.strategies.people.owned_graph import own
from ldpsim.strategies.results.lifetime import TrainingAnswers, read_ledgers
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.rounds.checkpoint import CheckpointFile
from ldpsim.strategies.rounds.replies import TooManyFailed, stopping_for_good
from ldpsim.strategies.rounds.training_grid import RoundTally
from ldpsim.strategies.runs.federated_network import TwoLayers, predict
from ldpsim.strategies.runs.federated_training import Trained, Training
from ldpsim.strategies.runs.run import Refused, RepeatContext, Run, RunFailed
from ldpsim.strategies.seeded import seeded
from ldpsim.strategies.setup.checks import check_federated_run
from ldpsim.strategies.setup.run_setup import RunSetup


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
        found = max(each, key=lambda guarantee: guarantee.holds["central_node"].value or 0.0).over(times)
        return found if all(one.known for one in trained) else _unknown(found)

    def reference_settings(self, setup: RunSetup) -> tuple[TrainingSettings, TrainingSettings]:
        """Return the reference's own settings twice: a device's learning rate is that of another optimiser."""
        return setup.settings.reference, setup.settings.reference

    def work(self, scene: RepeatContext) -> Outcome:
        """Train, unless the training stopped for good before.

        Raises:
            RunFailed: where too many parties of a round failed, now or in an earlier run: then nobody is asked.
            Refused, ValueError, OSError: as :meth:`train`.
        """
        # The id of a collection is a valid file name: the task checks its characters.
        try:
            with stopping_for_good(scene.home / f"stopped-{scene.collection}"):
                return self.train(scene)
        except TooManyFailed as error:
            name = scene.setup.method.spec.name
            raise RunFailed(f"{name}: {error}; a run with another --state, or another --out, enrols others") from None

    def train(self, scene: RepeatContext) -> Outcome:
        """Ask the parties, train, and return the outcome; raises as :meth:`ldpsim.strategies.runs.run.Run.work`."""
        raise NotImplementedError


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
        setup, state, method = scene.setup, scene.state, cast(Federated, scene.setup.method)
        assert state is not None
        task = task_of(setup, scene.collection)
        before = read_ledgers(state, scene.collection)[1].total if scene.resumed else 0
        state.close()  # the rounds open the ledgers in processes of their own
        options, kept = setup.options, checkpoint_of(scene)
        grid = engines.grid_for(scene.home, len(setup.population), engine=options.engine, workers=options.workers,
                                ray_address=options.ray_address)  # fmt: skip
        started = time.perf_counter()
        try:
            with grid as inner, engines.quiet_flower(), seeded(scene.seeds.training), watched(scene.watch):
                training = Training(scene, task, inner, kept, before)
                weights = training.run()
        except Refused:
            if not before:  # nobody answered: there is no collection to continue
                scene.end_collection()
            raise
        seconds = time.perf_counter() - started
        tally = training.grid.tally
        lifetime, answers = read_ledgers(state, scene.collection)
        released = training.released(tally.rounds_answered, answers)
        collected = tally.collected(seconds)
        collected.reports = {0: kept.digest.digest()}
        section = {
            "rounds": method.rounds,
            "rounds_answered": tally.rounds_answered,
            "answers_per_device": {"max": answers.most, "mean": answers.total / max(len(tally.asked), 1)},
            "checkpoint": training.start.done,
            "begun_again": training.start.again,
            "answers_lost": max(answers.total - tally.heard, 0),
            "trained_on": len(scene.split.train),
            **training.notes,
            **failed_parties(tally),
        }
        return Outcome(
            guarantee=self.guarantee_of(setup, [released]),
            released=released,
            seconds=phase_seconds(training.exchange_seconds, seconds - training.exchange_seconds),
            predictions=predict(weights, task, setup.population),
            known=label_counts(scene),
            model=TwoLayers(weights, task.shape),
            collected=collected,
            lifetime=lifetime,
            phases={name: phase.to_dict() for name, phase in tally.phases.items()},
            extra={"federated": section},
        )


def _unknown(guarantee: Guarantee) -> Guarantee:
    """Return a guarantee that bounds nothing: some ledger does not say what its devices lost."""
    open_ = Level("unprotected", reason="a ledger could not be read whole, or holds an answer without noise")
    holds = {name: open_ if level.status == "bounded" else level for name, level in guarantee.holds.items()}
    return replace(guarantee, holds=holds)


def label_counts(scene: RepeatContext) -> NullEvidence | None:
    """Return what chance is measured with: the labels of the people who train; nothing else is public."""
    if not scene.setup.options.nulls:
        return None
    return known_from_graph(own(scene.setup.population, scene.split, trust="none"), ("label",))


def checkpoint_of(scene: RepeatContext, *more: str) -> CheckpointFile:
    """Return the checkpoint of a repeat; its key is the set-up, the collection and ``more``."""
    folder = scene.folder if scene.setup.options.out is not None else None
    return CheckpointFile(folder, scene.number, (scene.setup.digest, scene.collection, *more))


def failed_parties(tally: RoundTally) -> dict[str, dict[str, str]]:
    """Return what was wrong with the reply of each device or silo that failed, by its number; nothing without any."""
    return {"failed": {str(node - 1): tally.failed[node] for node in sorted(tally.failed)}} if tally.failed else {}


def phase_seconds(collect: float, train: float) -> dict[str, float]:
    """Return the seconds of the phases of a run that reconstructs no graph."""
    return {"collect": collect, "reconstruct": 0.0, "train": train}


def task_of(setup: RunSetup, collection: str) -> Task:
    """Return the task of a federated method's devices."""
    method = cast(Federated, setup.method)
    return method.task(collection, setup.population.facts, setup.settings.training, setup.budget)

"""Run of a federated method: devices enrolled to train, rounds of Flower's strategies, a network.

    devices (federated mode) -> [one exchange] -> rounds -> weights

A run that was killed goes on after its last finished round (:mod:`strategies.rounds.checkpoint`). The
round of the kill is asked again, in the same collection: devices that had answered answer
twice, their ledgers count both answers, and the guarantee is made of what the ledgers say.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from flwr.serverapp import Grid

from curator.methods import Question
from curator.methods.federated.fedavg import Federated
from curator.methods.federated.private import LDPFedAvg
from curator.privacy.guarantee import Guarantee
from devices.client_app import release_states
from devices.facts import Split
from devices.policy.policy import Mode, Policy, policy_for_training
from devices.training_task import GaussianUpdate, Task
from strategies.engines import collect as engines
from strategies.engines.grids import LocalGrid, RayGrid
from strategies.results.lifetime import read_ledgers
from strategies.results.outcome import Outcome
from strategies.rounds.checkpoint import CheckpointFile
from strategies.rounds.fedavg import seeded
from strategies.runs.federated_network import TwoLayers, predict
from strategies.runs.federated_training import Training
from strategies.runs.run import Refused, Run, Scene
from strategies.setup.checks import check_federated_run
from strategies.setup.run_setup import RunSetup


class InRounds(Run):
    """What all trainings in rounds share before anybody is asked."""

    mode: Mode = "federated"

    def check(self, setup: RunSetup) -> None:
        """Check options, method and people against one another."""
        check_federated_run(setup.options, setup.settings, setup.population, setup.repeats[0].split)

    def guarantee_before(self, setup: RunSetup, split: Split) -> Guarantee:
        """Return what holds when every round is answered."""
        method = setup.method
        after: Any = getattr(method, "guarantee_after", None)
        if after is None:
            return super().guarantee_before(setup, split)
        # Noise on a trained model hides the more, the more people train.
        people = len(split.train)
        multiplier = method.multiplier(people, setup.budget)  # type: ignore[attr-defined]
        return cast(Guarantee, after(people, method.rounds, multiplier))  # type: ignore[attr-defined]


class FederatedRun(InRounds):
    """Rounds in which the devices of the people train."""

    def policy(self, setup: RunSetup, questions: tuple[Question, ...]) -> Policy | None:
        """Return a policy that allows all answers of the rounds."""
        method = setup.method
        assert isinstance(method, Federated)
        answers = method.answers if isinstance(method, LDPFedAvg) else math.ceil(method.rounds * method.fraction)
        task = task_of(setup, "policy")
        return policy_for_training(task, setup.population.facts, answers=answers, caps=setup.options.caps)

    def work(self, scene: Scene) -> Outcome:
        """Run the rounds.

        Raises:
            ValueError: for a dp-fedavg that was killed and has no checkpoint.
            Refused: where nobody took part and at least one device refused.
            RunFailed: where nobody answered at all.
        """
        setup, state, method = scene.setup, scene.state, scene.setup.method
        assert isinstance(method, Federated) and state is not None
        task = task_of(setup, scene.collection)
        before = read_ledgers(state, scene.collection)[1].total if scene.resumed else 0
        state.close()  # the rounds open the ledgers in processes of their own
        key = (setup.digest, scene.collection)
        kept = CheckpointFile(scene.folder if setup.options.out is not None else None, scene.number, key)
        started = time.perf_counter()
        try:
            with _grid(scene) as inner, engines.quiet_flower(), seeded(scene.seeds.training):
                training = Training(scene, task, inner, kept, before)
                weights = training.run()
        except Refused:
            if not before:  # nobody answered: there is no collection to continue
                scene.end_collection()
            raise
        finally:
            release_states()
        seconds = time.perf_counter() - started
        tally = training.grid.tally
        lifetime, answers = read_ledgers(state, scene.collection)
        guarantee = training.guarantee(tally.rounds_answered, answers)
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
        }
        return Outcome(
            guarantee=guarantee,
            seconds={
                "collect": training.exchange_seconds,
                "reconstruct": 0.0,
                "train": seconds - training.exchange_seconds,
            },
            predictions=predict(weights, task, setup.population),
            model=TwoLayers(weights, task.shape),
            collected=collected,
            lifetime=lifetime,
            phases={name: phase.to_dict() for name, phase in tally.phases.items()},
            extra={"federated": section},
        )


def task_of(setup: RunSetup, collection: str) -> Task:
    """Return the task that a federated method's devices are asked."""
    method, facts, training = setup.method, setup.population.facts, setup.settings.training
    assert isinstance(method, Federated)
    noise = None
    if isinstance(method, LDPFedAvg):
        epsilon, delta = method.each(facts, setup.budget)
        noise = GaussianUpdate.from_epsilon(epsilon, clip=method.clip, delta=delta)
    return Task(
        collection,
        method.sees,
        facts.d,
        training.hidden,
        facts.classes,
        float(training.lr),
        method.local_steps,
        scaling=method.scaling,
        noise=noise,
    )


@contextmanager
def _grid(scene: Scene) -> Iterator[Grid]:
    options, home, devices = scene.setup.options, scene.home, len(scene.setup.population)
    if engines.choose(options.engine, devices, options.ray_address) == "ray":
        grid = RayGrid(home, devices, workers=options.workers, address=options.ray_address)
        try:
            yield grid
        finally:
            grid.close()
    else:
        yield LocalGrid(home, devices)

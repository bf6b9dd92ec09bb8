"""Rounds of one repeat of a federated method: samples, continuation after a kill, and the guarantee."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.curator.owner.teachers.randomness import derive, private_generator
from ldpsim.devices.federated.wire import weights_record
from ldpsim.devices.network import FloatArray
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated.making import TrainingPlan, strategy_for
from ldpsim.strategies.results.lifetime import TrainingAnswers
from ldpsim.strategies.rounds.checkpoint import CheckpointFile, Standing, run_kept_rounds
from ldpsim.strategies.rounds.feature_sums import exchange_sums
from ldpsim.strategies.rounds.replies import Replies
from ldpsim.strategies.rounds.training_grid import TrainingGrid, draw_nodes
from ldpsim.strategies.runs.run import Refused, RepeatContext, RunFailed

log = logging.getLogger("ldpsim")


@dataclass(frozen=True, eq=False)
class Trained:
    """Figures from which the guarantee of a training is computed.

    Args:
        people: Number of training devices.
        models: Number of models that the server released.
        answers: Answers of the devices.
        known: Whether the ledgers say what every answer under noise lost.
    """

    people: int
    models: int
    answers: TrainingAnswers
    known: bool = True


class Training:
    """Rounds of one repeat.

    Args:
        scene: The repeat; its seeds draw the initial weights, samples, dropouts and the server's noise.
        task: The task of the devices.
        inner: Grid that takes messages to the devices.
        kept: The checkpoint.
        before: Number of answers in this collection before this start, by the devices' ledgers.

    Raises:
        ValueError: for a dp-fedavg whose devices answered before and that has no checkpoint.
    """

    def __init__(self, scene: RepeatContext, task: Task, inner: Grid, kept: CheckpointFile, before: int) -> None:
        setup, method = scene.setup, cast(Federated, scene.setup.method)
        self.setup, self.method, self.task, self.tell = setup, method, task, scene.tell
        self.split, self.seeds = scene.split, scene.seeds
        self.nodes = [device + 1 for device in range(len(setup.population))]
        self.kept, self.before = kept, before
        found = kept.load(self.task.shape.size)
        self.resumed = found is not None
        self.start = self._start(found)
        # Seed of the server's noise and sample, another one for each time that a round was begun again.
        self._private = derive(scene.noise_seed, "attempt", self.start.again) if method.spec.central_noise else None
        self.notes: dict[str, Any] = {}
        self.exchange_seconds = 0.0
        silent = frozenset(device + 1 for device in scene.silent)
        self.grid = TrainingGrid(inner, train=self.sample, evaluate=self._judges, dropping=method.dropping,
                                 seed=scene.seeds.split, silent=silent,
                                 replies=Replies(task, len(self.nodes)))  # fmt: skip

    def _start(self, found: Standing | None) -> Standing:
        """Return the state of the checkpoint, or a new one."""
        start = found or Standing(self.task.shape.initial(self.seeds.training))
        if found is None and self.before and self.method.spec.central_noise:
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
        if found is not None:
            log.info("going on after round %d of %d", start.done, self.method.rounds)
        return start

    def sample(self, number: int) -> Sequence[int]:
        """Return the training devices of a round: drawn without replacement, or in turns."""
        nodes = (self.split.train + 1).tolist()
        if self.method.spec.takes_turns:
            turns = round(1 / self.method.fraction)
            order = np.random.default_rng(self.seeds.training).permutation(nodes)
            return sorted(order[(number - 1) % turns :: turns].tolist())
        if self._private is None:
            return draw_nodes(nodes, self.method.fraction, [self.seeds.training, number])
        return draw_nodes(nodes, self.method.fraction, private_generator(self._private, "devices", number))

    def _judges(self, number: int) -> Sequence[int]:
        every = self.method.evaluate_every
        return (self.split.val + 1).tolist() if every and number % every == 0 else ()

    def strategy(self) -> Strategy:
        """Return the strategy of the method."""
        budget, people = self.setup.budget, len(self.split.train)
        self.notes |= self.method.notes(people, budget)
        seed = self.seeds.training if self._private is None else self._private
        return strategy_for(self.method, TrainingPlan(self.task, budget, self.nodes, people, seed))

    def run(self) -> FloatArray:
        """Run everything and return the weights."""
        task, start = self.task.to_bytes(), self.start
        started = time.perf_counter()
        if not self.resumed and self.method.spec.sees == "sums":
            self.tell("exchange", None)
            everybody = np.concatenate([self.split.train, self.split.val if self.method.evaluate_every else []])
            trained = (np.sort(everybody).astype(np.int64) + 1).tolist()
            exchange_sums(self.grid, self.task, self.nodes, len(self.nodes), trained)
            self._check()
        strategy = self.strategy()
        subscribe = getattr(strategy, "subscribe", None)  # an exchange before the first round
        if subscribe is not None:
            self.tell("exchange", None)
            if not self.resumed:
                subscribe(self.grid, weights_record(start.weights))
                self._check()
        if not self.resumed:
            start.tally = self.grid.tally
        self.exchange_seconds = time.perf_counter() - started

        def after(number: int, weights: FloatArray) -> None:
            self._check()
            self.tell("rounds", number / self.method.rounds)

        self.tell("rounds", start.done / self.method.rounds)
        return run_kept_rounds(strategy, self.grid, start, task, rounds=self.method.rounds, kept=self.kept, after=after)

    def _check(self) -> None:
        """Raise Refused if all devices refuse; a round without answers is only a lost round."""
        tally = self.grid.tally
        if not tally.answered and tally.refused and not self.before:
            raise self._refused()

    def _refused(self) -> Refused:
        tally = self.grid.tally
        codes = tally.collected(0.0).refused
        told = ", ".join(f"{code} {count:,}" for code, count in sorted(codes.items()))
        gave = f"; before a stop they gave {self.before:,} answers" if self.before else ""
        return Refused(f"refused: none of {len(tally.asked):,} devices takes part ({told}{gave})")

    def released(self, rounds: int, answers: TrainingAnswers) -> Trained:
        """Return what was released in the answered rounds, and the answers in the ledgers.

        Raises:
            Refused: if no round was answered, and devices refused.
            RunFailed: if no round was answered for another reason.
        """
        if not rounds:
            if self.grid.tally.refused:
                raise self._refused()
            raise RunFailed(f"none of {len(self.grid.tally.asked):,} devices answered in {self.method.rounds} rounds")
        known = self.task.noise is None or (answers.complete and math.isfinite(answers.loss.vector))
        return Trained(len(self.split.train), rounds + self.start.again, answers, known)

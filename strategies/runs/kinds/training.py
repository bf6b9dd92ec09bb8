"""The rounds of one training, of devices or of silos: a device is a silo of one.

A killed run continues after its last finished round (:mod:`ldpsim.strategies.rounds.checkpoint`). The round of the kill
is asked again in the same collection. A device that had answered answers twice, and its ledger counts both answers.

Nothing here needs torch: networks are scored elsewhere.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from flwr.serverapp import Grid

from ldpsim.curator.draws import derive, private_generator
from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
from ldpsim.curator.methods.federated.federated import Federated
from ldpsim.devices.federated.update_adder import UpdateAdder
from ldpsim.devices.federated.wire import weights_record
from ldpsim.devices.network import FloatArray
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated import TrainingPlan, strategy_for
from ldpsim.strategies.results.lifetime import TrainingAnswers
from ldpsim.strategies.rounds.checkpoint import CheckpointFile, TrainingState, run_rounds
from ldpsim.strategies.rounds.replies import Replies
from ldpsim.strategies.rounds.training_grid import TrainingGrid, draw_nodes, exchange_sums
from ldpsim.strategies.runs.errors import Refused, RunFailed

if TYPE_CHECKING:
    from ldpsim.strategies.runs.repeat import Repeat

log = logging.getLogger("ldpsim")


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
        repeat: The repeat; its seeds draw the initial weights, samples, dropouts and the server's noise.
        task: The task of the parties.
        inner: Grid that takes messages to them.
        file: The checkpoint.
        before: Number of answers in this collection before this start, by the devices' ledgers; None of silos, which
            have none.
        nodes: All parties, by number plus 1; None: the devices of everybody.
        learners: Those of them that train; None: the devices of the people who train.
        initial: (size,): weights before the first round; None: random ones.
        loss: Loss of the first weights and of those after a round, which decides those that are kept; None: devices
            evaluate, or the last ones are kept.
        patience: As of :func:`ldpsim.strategies.rounds.checkpoint.run_rounds`.

    Raises:
        ValueError: for a dp-fedavg whose devices answered before and that has no checkpoint.
    """

    def __init__(
        self, repeat: Repeat, task: Task, inner: Grid, file: CheckpointFile, before: int | None, *,
        nodes: Sequence[int] | None = None, learners: Sequence[int] | None = None,
        initial: FloatArray | None = None, loss: Callable[[FloatArray], float] | None = None,
        patience: int = 0,
    ) -> None:  # fmt: skip
        setup, method = repeat.setup, cast(Federated, repeat.setup.method)
        self.setup, self.method, self.task, self.tell, self.file = setup, method, task, repeat.tell, file
        self.split, self.seeds, self.before, self.people = repeat.split, repeat.seeds, before, len(setup.population)
        self.nodes = list(range(1, self.people + 1)) if nodes is None else nodes
        people = method.learners(repeat.split)
        self.learners, self.trained_on = (people + 1).tolist() if learners is None else learners, len(people)
        self.initial, self.loss, self.patience = initial, loss, patience
        kept = file.load(task.shape.size)
        self.resumed = kept is not None
        self.start = self._start(kept)
        # Seed of the server's noise and sample, another one for each time that a round was begun again.
        self._private = derive(repeat.noise_seed, "attempt", self.start.again) if method.central_noise else None
        self.notes: dict[str, Any] = method.notes(len(self.learners), setup.budget)
        self.exchange_seconds = 0.0
        dropouts = frozenset[int]() if task.of_silos else frozenset(device + 1 for device in repeat.plan.dropouts)
        self.grid = TrainingGrid(
            inner, train=self.sample, evaluate=self._judges, dropping=method.dropping, seed=repeat.seeds.split,
            dropouts=dropouts, replies=Replies(task, self.people), adder=self._adder(),
        )  # fmt: skip

    def _adder(self) -> UpdateAdder | None:
        """Return the party that adds, where it is trusted in place of the server."""
        if self.method.effective_spec().trusted != "sum":
            return None
        assert isinstance(self.method, DPFedAvg) and self.task.noise is not None
        return UpdateAdder(self.task.noise.clip, self.method.least_honest(len(self.learners)))

    def _start(self, kept: TrainingState | None) -> TrainingState:
        """Return the state of the checkpoint, or a new one."""
        start = kept or TrainingState(
            self.task.shape.initial(self.seeds.training) if self.initial is None else self.initial
        )
        if kept is not None:
            log.info("going on after round %d of %d", start.done, self.method.rounds)
        if self.before is None:
            if kept is not None and start.done < self.method.rounds:
                start.again += 1  # it is not known whether the silos had answered; nothing is promised
            return start
        if kept is None and self.before and self.method.central_noise:
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
        if self.method.takes_turns:
            turns = self.method.turns
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
            strategy, self.grid, start, self.task.to_bytes(), rounds=self.method.rounds, file=self.file, after=after,
            loss=self.loss, patience=self.patience,
        )  # fmt: skip

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
        return Trained(self.trained_on, tally.rounds_answered + self.start.again, answers, certain)

    def section(self) -> dict[str, Any]:
        """Return the part ``federated`` of a result; ``failed`` has what was wrong with a party's reply."""
        tally = self.grid.tally
        failed = {str(node - 1): tally.failed[node] for node in sorted(tally.failed)}
        return {
            "rounds": self.method.rounds, "rounds_answered": tally.rounds_answered, "trained_on": self.trained_on,
            "checkpoint": self.start.done, "begun_again": self.start.again, **self.notes,
            **({"failed": failed} if failed else {}),
        }  # fmt: skip

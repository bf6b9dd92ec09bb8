"""Run of a silo method: people hand their records over to silos, and the silos train together.

    devices (owner mode) -> silos -> [one exchange of sums] -> rounds -> weights

Each silo is one Flower client with a folder of its own; the same ClientApp as a device's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ldpsim.curator.methods import Question
from ldpsim.curator.methods.federated.silos import Silos
from ldpsim.curator.observer import watched
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.federated.exchange import kept_sums
from ldpsim.devices.federated.local_steps import Stack
from ldpsim.devices.federated.members import Members, size_of
from ldpsim.devices.network import FloatArray
from ldpsim.devices.policy.policy import Mode
from ldpsim.devices.raw_record import hand_over
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines import collect as engines
from ldpsim.strategies.engines.grids import SiloGrid
from ldpsim.strategies.federated.making import TrainingPlan, strategy_for
from ldpsim.strategies.people.owned_graph import joined_rows
from ldpsim.strategies.people.silos import divide_into_silos
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.rounds.checkpoint import Standing, run_kept_rounds
from ldpsim.strategies.rounds.feature_sums import exchange_sums
from ldpsim.strategies.rounds.reading import read_records
from ldpsim.strategies.rounds.replies import Replies
from ldpsim.strategies.rounds.training_grid import Phase, TrainingGrid, draw_nodes
from ldpsim.strategies.runs.asking import ask_devices
from ldpsim.strategies.runs.federated import InRounds, checkpoint_of, failed_parties, label_counts, phase_seconds
from ldpsim.strategies.runs.federated_network import TwoLayers
from ldpsim.strategies.runs.run import RepeatContext, RunFailed
from ldpsim.strategies.seeded import seeded
from ldpsim.strategies.setup.run_setup import RunSetup


class SiloRun(InRounds):
    """Members hand their records over to silos; the silos train in rounds."""

    mode: Mode = "owner"

    def questions(self, setup: RunSetup, split: Split, collection: str) -> tuple[Question, ...]:
        """Return the request for the raw record, to everybody."""
        return (Question(hand_over(collection)),)

    def train(self, scene: RepeatContext) -> Outcome:
        """Collect the records, store them in silos and run the rounds."""
        setup, split, tell, seeds = scene.setup, scene.split, scene.tell, scene.seeds
        population, method, training = setup.population, cast(Silos, setup.method), setup.settings.training
        tell("collect", None)
        _, collected = ask_devices(scene)
        member_of = divide_into_silos(population, method, seeds.split)
        rooms = scene.place("silos")
        silos = _settle(read_records(population.facts, collected), member_of, split, rooms, method)
        task = Task(
            scene.collection, "sums" if method.spec.sums else "own", population.facts.d, training.hidden,
            population.facts.classes, float(training.lr), method.local_steps, scaling="none",
            weight_decay=float(training.weight_decay), dropout=float(training.gnn_dropout), seed=seeds.training,
        )  # fmt: skip
        nodes = list(range(1, method.silos + 1))
        learners = [node for node in nodes if silos[node - 1].training.any()]

        def sample(number: int) -> Sequence[int]:
            return draw_nodes(learners, method.fraction, [seeds.training, number])

        # Other answers (of a device that failed before) make other silos, which need a checkpoint of their own.
        kept = checkpoint_of(scene, collected.reports_sha256)
        found = kept.load(task.shape.size)
        start = found or Standing(task.shape.initial(seeds.training))
        if found is not None and start.done < method.rounds:
            start.again += 1  # silos have no ledger, so it is not known whether they had answered; nothing is promised
        started = time.perf_counter()
        with engines.quiet_flower(), seeded(seeds.training), watched(scene.watch):
            inner = SiloGrid(rooms, method.silos)
            grid = TrainingGrid(inner, train=sample, dropping=method.dropping, seed=seeds.split,
                                replies=Replies(task, len(population)))  # fmt: skip
            exchanged = 0.0
            if found is None and method.spec.sums:
                tell("exchange", None)
                exchange_sums(grid, task, nodes, len(population), nodes)
                exchanged = time.perf_counter() - started
            if found is None:
                start.tally = grid.tally

            plan = TrainingPlan(task, setup.budget, nodes, len(learners), seeds.training)
            weights = run_kept_rounds(
                strategy_for(method, plan), grid, start, task.to_bytes(), rounds=method.rounds, kept=kept,
                after=lambda number, _: tell("rounds", number / method.rounds),
            )  # fmt: skip
        if not grid.tally.rounds_answered:
            raise RunFailed(f"none of {method.silos} silos answered in {method.rounds} rounds")
        seconds = time.perf_counter() - started
        between = grid.tally.phases
        handover = Phase(collected.rounds, collected.messages, collected.downlink_bytes, collected.uplink_bytes)
        section = {
            "rounds": method.rounds,
            "rounds_answered": grid.tally.rounds_answered,
            "trained_on": len(split.train),
            "checkpoint": start.done,
            "begun_again": start.again,
            **_shape(method, silos, member_of, population.edges),
            "bytes_between_silos_and_server": sum(p.downlink_bytes + p.uplink_bytes for p in between.values()),
            "per_silo": {name: _per_silo(phase, method.silos) for name, phase in between.items()},
            **failed_parties(grid.tally),
        }
        return Outcome(
            guarantee=self.guarantee_of(setup, [None]),
            released=None,
            seconds=phase_seconds(collected.seconds + exchanged, seconds - exchanged),
            predictions=_predict(silos, rooms, task, weights, len(population)),
            known=label_counts(scene),
            model=TwoLayers(weights, task.shape),
            collected=collected,
            phases={name: phase.to_dict() for name, phase in {"handover": handover, **between}.items()},
            extra={"federated": section},
        )


def _shape(method: Silos, silos: Sequence[Members], member_of: IntArray, edges: IntArray) -> dict[str, Any]:
    """Return the number of silos, the rule that made them, their sizes, and the share of edges inside one."""
    inside = member_of[edges[0]] == member_of[edges[1]]
    return {"silos": method.silos, "partition": method.partition, "members": [len(silo.members) for silo in silos],
            "edges_inside": float(inside.mean()) if len(inside) else None}  # fmt: skip


def _per_silo(phase: Phase, silos: int) -> dict[str, float]:
    return {"downlink_bytes": phase.downlink_bytes / silos, "uplink_bytes": phase.uplink_bytes / silos}


def _settle(came: Mapping[int, Record], member_of: IntArray, split: Split, rooms: Path, method: Silos) -> list[Members]:
    """Create a folder for each silo with the records of its members."""
    learners = np.zeros(len(member_of), bool)
    learners[split.train] = True
    silos = []
    for number in range(method.silos):
        members = np.array([person for person in np.flatnonzero(member_of == number) if person in came], np.int64)
        records = [came[person] for person in members.tolist()]
        values = [rec.feature_values / np.float32(size_of(rec.feature_values, method.scaling)) for rec in records]
        labels = np.array([record.label for record in records], np.int64)
        silo = Members(
            members, *joined_rows([record.feature_indices for record in records], np.int64),
            joined_rows(values, np.float32)[1],
            *joined_rows([record.neighbours for record in records], np.int64),
            labels, learners[members] & (labels >= 0),
        )  # fmt: skip
        silo.save(rooms / f"silo-{number}")
        silos.append(silo)
    return silos


def _predict(silos: Sequence[Members], rooms: Path, task: Task, weights: FloatArray, people: int) -> np.ndarray:
    """Every member's class by its own silo with the final weights.

    -1 for people who handed nothing over, and for those of a silo that has no sums because it failed in the exchange.
    """
    predictions = np.full(people, -1, np.int64)
    for number, silo in enumerate(silos):
        room = rooms / f"silo-{number}"
        sums = kept_sums(room, task, number)
        if len(silo.members) and (task.sees == "own" or sums is not None):
            (scores,) = Stack([silo.inputs(task, sums, training=False)], task).scores(weights)
            predictions[silo.members] = scores.argmax(axis=1)
    return predictions

"""A repeat of an owner's method: records handed over, teachers, labels under noise, a student.

    devices (owner mode) -> OwnedGraph -> teachers or votes -> noisy labels -> student on the public graph

Each private device hands its record over once; a run that was killed goes on with the
stored hand-over and with the chunks of teachers that are finished.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from curator.learning.training import Trained, choose_device
from curator.methods import Question
from curator.methods.owner.owner import B1, Answers, Baseline, OwnerMethod, private_graph, sage_settings
from curator.methods.owner.pate import Pate
from curator.methods.owner.privgnn import PrivGnn
from curator.owned import OwnedGraph, Trust
from curator.privacy.accountant import Account
from curator.privacy.guarantee import Guarantee
from curator.privacy.shared import MOST_LAMBDAS, shared_label_epsilon
from curator.teachers.graph import PlainGraph
from curator.teachers.selection import query_order
from curator.teachers.student import Sage, Student, train_network
from devices.atomic_files import write_atomically
from devices.data.population import Population
from devices.facts import PublicFacts, Split
from devices.mechanisms import round_up
from devices.raw_record import hand_over, read_record
from strategies.people.owned_graph import sparse_features
from strategies.people.private_and_public import Division, divide
from strategies.results import evaluation
from strategies.results.lifetime import lifetime, nothing_known
from strategies.results.record import NO_GRAPH, Repeat
from strategies.rounds.collect_once import Answers as Received
from strategies.rounds.collect_once import Collected
from strategies.runs.asking import ask_devices
from strategies.runs.teachers import Classroom, one_thread
from strategies.setup.options import Seeds
from strategies.setup.run_setup import Plan

Tell = Callable[[str, float | None], None]


def owner_repeat(plan: Plan, seeds: Seeds, number: int, folder: Path, tell: Tell) -> Repeat:
    """Run one repeat; raises what :func:`strategies.runs.asking.ask_devices` raises."""
    options, population, method = plan.options, plan.population, plan.settings.method
    assert isinstance(method, OwnerMethod)
    classes = population.facts.classes
    division = divide(population, seeds.split)
    settings = sage_settings(plan.settings.training)
    seconds = dict.fromkeys(("collect", "reconstruct", "train"), 0.0)
    collected, state = Collected(), None
    public = public_graph(population, division, labelled=isinstance(method, Baseline))
    asked = np.searchsorted(division.public, division.asked)
    if isinstance(method, Baseline):
        owned = owned_people(population, division)
    else:
        tell("collect", None)
        home = options.state or folder / ("state" if number == 0 else f"state-{number}")
        _for_the_owner_alone(home)

        def ask(collection: str) -> tuple[Question, ...]:
            return (Question(hand_over(collection), division.private),)

        state, _, collected = ask_devices(plan, seeds, division.split, home, ask=ask, mode="owner")
        seconds["collect"] = collected.seconds
        owned = handed_over(population.facts, division, collected.answers)
        collected.answers.clear()
    found: dict[str, Any] | None = None
    if isinstance(method, Baseline):
        tell("train", None)
        with one_thread():
            student = method.predictions(owned, public, asked, settings, classes=classes, seed=seeds.training)
        guarantee = method.guarantee(population.facts, (), plan.budget)
    else:
        assert isinstance(method, Answers)
        started = time.perf_counter()
        guarantee, found, student = _answer(plan, method, owned, public, division, seeds, folder, number, tell)
        seconds["reconstruct"] = time.perf_counter() - started - student.seconds
    seconds["train"] = student.seconds
    reference = None
    if options.reference and not isinstance(method, Baseline):
        tell("reference", None)
        with one_thread():
            rival = B1().predictions(owned_people(population, division), public, asked, settings, classes=classes,
                                     seed=seeds.training)  # fmt: skip
        reference = _accuracy(rival, population, division)["test"]
    model = Trained(Sage(student.trained), _everybody(student, population, division),
                    settings.epochs, math.nan, student.seconds)  # fmt: skip
    return Repeat(
        seeds=seeds, split=division.split, accuracy=_accuracy(student, population, division), reference=reference,
        guarantee=guarantee, collected=collected,
        lifetime=lifetime(state) if state is not None else nothing_known(complete=True), state=state,
        reconstruction=NO_GRAPH, seconds=seconds, trained=model, lp_and_test=None,
        seeded=bool(state.head["simulation_seeded"]) if state is not None else None, teachers=found,
    )  # fmt: skip


def _answer(
    plan: Plan, method: Answers, owned: OwnedGraph, public: PlainGraph, division: Division, seeds: Seeds, folder: Path,
    number: int, tell: Tell,
) -> tuple[Guarantee, dict[str, Any], Student]:  # fmt: skip
    options, classes = plan.options, plan.population.facts.classes
    private = private_graph(owned)
    noise_seed = _noise_seed(seeds, folder, number)
    candidates = np.searchsorted(division.public, division.asked)
    order = query_order(public, candidates, method.query_selection, seed=seeds.split)
    nodes = order[: method.queries]
    settings = sage_settings(plan.settings.training)
    tell("teachers", 0.0)
    given: dict[str, Any] = {}
    cost = method.account(len(private), classes)
    if isinstance(method, PrivGnn):
        teaching = method.teaching(plan.settings.training, classes=classes, noise_seed=noise_seed,
                                   training_seed=seeds.training)  # fmt: skip
        home = folder if options.out is None else options.out / "teachers"
        room = Classroom.open(home, private, public, teaching, order, device=choose_device(options.device).type)
        reused = room.trained(method.queries)
        values = room.posteriors(method.queries, workers=options.workers, ray_address=options.ray_address, tell=tell)
        labels = method.labels(values, noise_seed=noise_seed)
        given = {
            "trained": method.queries, "reused": reused,
            "labels_released_in_all": room.note_release(method.lambda_, method.queries, of=method.scores),
            "epsilon_in_all": _in_all(room, cost),
        }  # fmt: skip
    else:
        assert isinstance(method, Pate)
        with one_thread():
            values = method.votes(private, public, nodes, settings, classes=classes, noise_seed=noise_seed,
                                  training_seed=seeds.training)  # fmt: skip
        labels = method.labels(values, noise_seed=noise_seed)
        given = {
            "trained": method.teachers, "labels_released_in_all": method.queries, "epsilon_in_all": cost.holds.label,
        }  # fmt: skip
    tell("train", None)
    with one_thread():
        student = train_network(public, nodes, labels, classes, settings, seed=seeds.training)
    truth = plan.population.labels[division.public[nodes]]
    found = {
        "division": division.rule, "private": len(private), "asked_about": len(division.asked),
        "scored": len(division.scored), "queries": method.queries, **given,
        "labels_sha256": hashlib.sha256(np.ascontiguousarray(labels, "<i8").tobytes()).hexdigest(),
        "pseudo_label_accuracy": float(np.mean(labels == truth)),
        "pseudo_label_ceiling": cost.ceiling,
        "teacher_accuracy": float(np.mean(values.argmax(1) == truth)),
        "epsilon": {"printed": cost.printed.epsilon, "label": cost.holds.label, "vector": cost.holds.vector},
        "delta": cost.release.delta, "delta_printed": cost.printed.delta_used, "warnings": list(cost.warnings),
    }  # fmt: skip
    return method.guarantee_of(cost), found, student


def _in_all(room: Classroom, cost: Account) -> float | None:
    """What all labels lose together that these teachers gave, this release among them; None where nothing bounds it."""
    lambdas, on_posteriors = room.released()
    asked = cost.release
    if not on_posteriors or len(lambdas) > MOST_LAMBDAS:
        return None
    if lambdas == {asked.lambda_: asked.queries}:
        return cost.holds.label
    assert asked.classes is not None
    return round_up(shared_label_epsilon(lambdas, classes=asked.classes, delta=asked.delta, gamma=asked.gamma,
                                         once=asked.sampling == "once"))  # fmt: skip


def _for_the_owner_alone(home: Path) -> None:
    """Make the folder of devices whose records lie in it in clear: a new one is its owner's alone."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ValueError(f"{home} cannot be written: {error.strerror}") from None


def _noise_seed(seeds: Seeds, folder: Path, number: int) -> int:
    """Seed of samples and noise: the run's, or one of the operating system's, kept for a run that is taken up again."""
    if seeds.noise is not None:
        return seeds.noise
    path = folder / f"owner-seed-{number}"
    if not path.is_file():
        write_atomically(path, str(secrets.randbits(62)))
        os.chmod(path, 0o600)
    return int(path.read_text())


def public_graph(population: Population, division: Division, *, labelled: bool) -> PlainGraph:
    """Return the graph that the public people induce; labels of the people asked about only where ``labelled``."""
    nodes = division.public
    labels = np.full(len(nodes), -1, np.int64)
    if labelled:
        at = np.searchsorted(nodes, division.asked)
        labels[at] = population.labels[division.asked]
    return PlainGraph.build(sparse_features(population)[nodes], _inside(population.edges, nodes), labels)


def owned_people(population: Population, division: Division, *, trust: Trust = "none") -> OwnedGraph:
    """Return the private people's graph as it is, for a baseline that nobody is asked for."""
    nodes = division.private
    return OwnedGraph(_facts(population.facts, len(nodes)), _all_train(len(nodes)),
                      sparse_features(population)[nodes], _inside(population.edges, nodes),
                      population.labels[nodes], trust)  # fmt: skip


def handed_over(facts: PublicFacts, division: Division, answers: Received) -> OwnedGraph:
    """Put the records that came together; people who were silent are not in the owner's data.

    An edge is there where both its ends handed it over.

    Raises:
        ValueError: for a record that is malformed.
    """
    people = np.array(sorted(answers), np.int64)
    records = [read_record(answers[person]) for person in people.tolist()]
    counts = np.array([len(record.feature_indices) for record in records], np.int64)
    columns = np.concatenate([record.feature_indices for record in records])
    values = np.concatenate([record.feature_values for record in records])
    features = csr_array((values, columns, np.concatenate([[0], np.cumsum(counts)])), shape=(len(people), facts.d))
    degree = [len(record.neighbours) for record in records]
    ends = np.stack([np.repeat(people, degree), np.concatenate([record.neighbours for record in records])])
    number = np.full(facts.n, -1, np.int64)
    number[people] = np.arange(len(people))
    listed = number[ends]
    listed = listed[:, (listed >= 0).all(axis=0)]
    low, high = listed.min(axis=0, initial=facts.n), listed.max(axis=0, initial=-1)
    pairs, times = np.unique(low * facts.n + high, return_counts=True)
    both = pairs[times == 2]
    labels = np.array([record.label for record in records], np.int64)
    return OwnedGraph(_facts(facts, len(people)), _all_train(len(people)), features,
                      np.stack([both // facts.n, both % facts.n]), labels, "trusted curator")  # fmt: skip


def _facts(facts: PublicFacts, n: int) -> PublicFacts:
    return PublicFacts(**{**vars(facts), "n": n})


def _all_train(n: int) -> Split:
    nobody = np.zeros(0, np.int64)
    return Split(np.arange(n), nobody, nobody)


def _inside(edges: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    number = np.full(max(int(edges.max(initial=0)), int(nodes.max(initial=0))) + 1, -1, np.int64)
    number[nodes] = np.arange(len(nodes))
    found = number[edges]
    return found[:, (found >= 0).all(axis=0)]


def _everybody(student: Student, population: Population, division: Division) -> np.ndarray:
    predictions = np.full(len(population), -1, np.int64)
    predictions[division.public] = student.predictions
    return predictions


def _accuracy(student: Student, population: Population, division: Division) -> Mapping[str, float | None]:
    return evaluation.accuracy(_everybody(student, population, division), population, division.split)


__all__ = ["handed_over", "owned_people", "owner_repeat", "public_graph"]

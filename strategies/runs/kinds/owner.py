"""Run of an owner's method: records handed over, teachers, labels under noise, a student.

    devices (owner mode) -> OwnedGraph -> teachers or votes -> noisy labels -> student on the public graph

Each private device hands its record over once. A killed run continues with the stored records
and with the finished chunks of teachers.

A chunk of teachers is a fixed range of query numbers. Its bytes depend only on the kind of device (CPU or
GPU), not on the worker, the order or earlier kills: every draw depends on the number of its
query, each worker has one thread, and a GPU always trains a whole chunk at once. A chunk's
file is written as a whole or not at all. A run that starts again trains the missing chunks.

    task.json         the key of all that the posteriors depend on
    private/ public/  the graphs, memory-mapped by the workers
    chunk-00012.npy   float64 (CHUNK, classes), posteriors without noise: the owner's secret

The folder is in the run's, and goes when the result is written. It
has raw private records and answers without noise. It is as secret as the owner's data; only
the owner's account can read it (0700, files 0600).
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.learning.training import TrainingSettings, choose_device
from ldpsim.curator.linear.threads import threads_for
from ldpsim.curator.methods import Question
from ldpsim.curator.methods.owner.baselines import B1, Baseline
from ldpsim.curator.methods.owner.owner import LabelAnswers, OwnerMethod, private_graph, sage_settings
from ldpsim.curator.owner.privacy.account import Account
from ldpsim.curator.owner.teachers.answering import Teaching, posteriors
from ldpsim.curator.owner.teachers.graph import PlainGraph, save_array
from ldpsim.curator.owner.teachers.selection import query_order
from ldpsim.curator.owner.teachers.student import Student, train_network
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import checked_array
from ldpsim.devices.atomic_files import close_to_others, write_atomically
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.raw_record import hand_over
from ldpsim.strategies.engines.pool import on_ray, processes
from ldpsim.strategies.people.division import Division
from ldpsim.strategies.people.owner_graphs import handed_over, owned_people, public_graph, shown_publicly
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results.outcome import Outcome, Predict
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.records import read_records
from ldpsim.strategies.runs.kind import ANY, Others, ReferenceTraining, RunKind, policy_of, work_of_others
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.setup.run_setup import RepeatPlan, Setup

CHUNK = 20
FORMAT = 1


@dataclass(frozen=True, eq=False)
class TeacherFiles:
    """Folder with the graphs and the posteriors of one set of teachers.

    Args:
        folder: The folder, on a disk that all machines of the workers share.
        teaching: Training of the teachers.
        order: int64, public nodes in the order of the queries.
        device: ``cpu`` or ``cuda``.
    """

    folder: Path
    teaching: Teaching
    order: IntArray
    device: str = "cpu"

    @classmethod
    def open(
        cls, home: Path, private: PlainGraph, public: PlainGraph, teaching: Teaching, order: IntArray, *,
        device: str = "cpu",
    ) -> TeacherFiles:  # fmt: skip
        """Return the folder of exactly these teachers under ``home``; create it if it is missing.

        Raises:
            OSError: if it cannot be written.
        """
        digest = hashlib.sha256(json.dumps([FORMAT, CHUNK, asdict(teaching), device], sort_keys=True).encode())
        for graph in (private, public):
            for array in (graph.features, graph.indptr, graph.indices, graph.labels):
                digest.update(np.ascontiguousarray(array).data)
        digest.update(order.tobytes())
        key = digest.hexdigest()
        files = cls(home / f"teachers-{key[:12]}", teaching, order, device)
        home.mkdir(parents=True, exist_ok=True)
        files.folder.mkdir(exist_ok=True, mode=0o700)
        if files.folder.stat().st_mode & 0o077:  # a copy may have lost the mode
            close_to_others(files.folder)
        if not (files.folder / "task.json").is_file():
            private.save(files.folder / "private")
            public.save(files.folder / "public")
            write_atomically(files.folder / "task.json", json.dumps({"format": FORMAT, "key": key}))
        return files

    def posteriors(
        self, queries: int, *, workers: int | None = None, ray_address: str | None = None, tell: Progress = quiet
    ) -> NDArray[np.float64]:
        """Return float64 (queries, classes) for the first queries; train the missing teachers.

        Args:
            queries: Number of queries, at most the length of ``order``.
            workers: Number of processes with one thread each; None for one per core. One process trains one
                chunk at a time.
            ray_address: Address of a Ray cluster to train on instead.
            tell: Called with ``teachers`` and the share done.

        Raises:
            ValueError: for more queries than there are nodes to ask about.
        """
        if not 1 <= queries <= len(self.order):
            raise SettingError(f"queries={queries}", f"must be 1 to {len(self.order)}, the number of public nodes")
        chunks = range(-(-queries // CHUNK))
        missing = [chunk for chunk in chunks if not self.path(chunk).is_file()]
        for done, _ in enumerate(self._train(missing, workers, ray_address), start=len(chunks) - len(missing) + 1):
            tell("teachers", done / len(chunks))
        return np.concatenate([self._chunk(chunk) for chunk in chunks])[:queries]

    def _chunk(self, chunk: int) -> NDArray[np.float64]:
        """Read a chunk; ValueError where its file holds something else."""
        path = self.path(chunk)
        values = np.load(path, allow_pickle=False)
        return checked_array(str(path), values, "f", (len(self.numbered(chunk)), *values.shape[-1:]))

    def trained(self, queries: int) -> int:
        """Return the number of the first queries that have a teacher."""
        there = [chunk for chunk in range(-(-queries // CHUNK)) if self.path(chunk).is_file()]
        return sum(min(queries, (chunk + 1) * CHUNK) - chunk * CHUNK for chunk in there)

    def path(self, chunk: int) -> Path:
        """Return the file of a chunk."""
        return self.folder / f"chunk-{chunk:05d}.npy"

    def numbered(self, chunk: int) -> list[tuple[int, int]]:
        """Return (number, public node) of a chunk's queries; the last chunk may be shorter."""
        first = chunk * CHUNK
        return list(enumerate(self.order[first : first + CHUNK].tolist(), start=first))

    def _train(self, chunks: Sequence[int], workers: int | None, ray_address: str | None) -> Iterator[int]:
        tasks = [(str(self.folder), chunk, self.numbered(chunk), self.teaching, self.device) for chunk in chunks]
        if not tasks:
            return
        count = 1 if self.device == "cuda" else workers
        here = processes(count, tasks=len(tasks), here=True)
        with here if ray_address is None else on_ray(None, ray_address, retries=3) as pool:
            for _, future in pool.each(train_chunk, enumerate(tasks)):
                yield future.result()


def train_chunk(task: tuple[str, int, list[tuple[int, int]], Teaching, str]) -> int:
    """Train a chunk's teachers and write their posteriors; return the chunk's number."""
    folder, chunk, queries, teaching, device = task
    private, public = _graphs(folder)
    with threads_for(0):
        values = posteriors(private, public, queries, teaching, device=device)
    save_array(Path(folder) / f"chunk-{chunk:05d}.npy", values)
    return chunk


@lru_cache(maxsize=2)
def _graphs(folder: str) -> tuple[PlainGraph, PlainGraph]:
    return PlainGraph.load(Path(folder) / "private"), PlainGraph.load(Path(folder) / "public")


def plan(setup: Setup, draft: RepeatPlan) -> RepeatPlan:
    """Return the plan: the private people are asked for the raw record, unless a baseline reads it without asking."""
    method, private = _method(setup), _division(draft.split).private
    questions = (Question(hand_over(ANY), private),) if method.hands_over else ()
    account = method.account(len(private), setup.facts.classes)
    return replace(draft, questions=questions, policy=policy_of(setup, questions, "owner"), released=account)


def guarantee(setup: Setup, released: Sequence[Account | None]) -> Guarantee:
    """Return the guarantee of releases of labels; a division that varies is taken to keep a person private."""
    method = setup.method
    accounts = [account for account in released if account is not None]
    if not accounts:
        return method.guarantee(setup.facts, (), setup.budget)
    worst = max(accounts, key=lambda account: account.label)
    return cast(LabelAnswers, method).guarantee_of(worst, len(accounts))


def work(repeat: Repeat, collected: Collected) -> Outcome:
    """Train teachers on the records or count votes, release labels, train the student."""
    setup, division, method = repeat.setup, _division(repeat.split), _method(repeat.setup)
    population, classes = setup.population, setup.facts.classes
    seconds = dict.fromkeys(("collect", "reconstruct"), 0.0)
    cost: Account | None
    extra: dict[str, Any] = {}
    targets = division.candidates, population.labels[division.candidates]
    if not method.hands_over:
        repeat.tell("train", None)
        student = _baseline(repeat, cast(Baseline, method), setup.settings.training)
        cost = None
    else:
        seconds["collect"] = collected.seconds
        owned = handed_over(population.facts, division, read_records(population.facts, collected))
        public = public_graph(population, division, labelled=False)
        started = time.perf_counter()
        cost, labels, nodes, section = _release(
            repeat, cast(LabelAnswers, method), private_graph(owned), public, division
        )
        repeat.tell("train", None)
        with threads_for(0):
            settings = sage_settings(setup.settings.training)
            student = train_network(public, nodes, labels, classes, settings, seed=repeat.seeds.training)
        targets = division.public[nodes], labels
        extra = {"teachers": section}
        seconds["reconstruct"] = time.perf_counter() - started - student.seconds
    return Outcome(
        released=cost,
        seconds={**seconds, "train": student.seconds},
        predictions=_everybody(student, population, division), model=student.network, collected=collected,
        null_inputs=shown_publicly(population, division, *targets, released=bool(extra))
        if setup.options.nulls else None,
        extra=extra,
    )  # fmt: skip


def reference(repeat: Repeat) -> ReferenceTraining | None:
    """Return the training of a network on the private people's own labels (B1 in the paper, with its settings)."""
    if not _method(repeat.setup).hands_over:
        return None
    training, division = repeat.setup.settings.training, _division(repeat.split)

    def train(settings: TrainingSettings) -> IntArray:
        return _everybody(_baseline(repeat, B1(), settings), repeat.setup.population, division)

    return ReferenceTraining(training, training, train)


def shuffled(repeat: Repeat, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
    """Yield the same work on the data of other private people: the public ones keep their records."""
    return work_of_others(work, repeat, others, _division(repeat.split).private)


OWNER = RunKind(plan, work, guarantee, reference, shuffled)


def _baseline(repeat: Repeat, method: Baseline, settings: TrainingSettings) -> Student:
    setup, population, division = repeat.setup, repeat.setup.population, _division(repeat.split)
    public = public_graph(population, division, labelled=not _method(setup).hands_over)
    candidates = np.searchsorted(division.public, division.candidates)
    with threads_for(0):
        return method.predictions(owned_people(population, division), public, candidates,
                                  sage_settings(settings), classes=population.facts.classes,
                                  seed=repeat.seeds.training)  # fmt: skip


def _method(setup: Setup) -> OwnerMethod:
    return cast(OwnerMethod, setup.method)


def _division(split: Split) -> Division:
    assert isinstance(split, Division)
    return split


def _release(
    repeat: Repeat, method: LabelAnswers, private: PlainGraph, public: PlainGraph, division: Division
) -> tuple[Account, IntArray, IntArray, dict[str, Any]]:
    """Return the cost of the release, the noisy labels, their public nodes, and the section of the record."""
    setup, seeds = repeat.setup, repeat.seeds
    options, classes = setup.options, setup.facts.classes
    noise_seed = repeat.noise_seed
    candidates = np.searchsorted(division.public, division.candidates)
    order = query_order(public, candidates, method.query_selection, seed=seeds.split)
    nodes = order[: method.queries]
    repeat.tell("teachers", 0.0)
    cost = method.account(len(private), classes)
    training = setup.settings.training
    teaching = method.teaching(training, classes=classes, noise_seed=noise_seed, training_seed=seeds.training)
    counts: dict[str, Any] = {"trained": method.trained}
    if teaching is not None:
        files = TeacherFiles.open(
            repeat.folder, private, public, teaching, order, device=choose_device(options.device).type
        )
        reused = files.trained(method.queries)
        values = files.posteriors(
            method.queries, workers=options.workers, ray_address=options.ray_address, tell=repeat.tell
        )
        counts["reused"] = reused
    else:
        with threads_for(0):
            values = method.votes(private, public, nodes, sage_settings(training), classes=classes,
                                  noise_seed=noise_seed, training_seed=seeds.training)  # fmt: skip
    labels = method.labels(values, noise_seed=noise_seed)
    truth = setup.population.labels[division.public[nodes]]
    section = {
        "division": division.rule,
        "private": len(private),
        "asked_about": len(division.candidates),
        "scored": len(division.scored),
        "queries": method.queries,
        **counts,
        "labels_released_in_all": method.queries,
        "epsilon_in_all": None if method.scores == "log-posterior" else cost.label,
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


def _everybody(student: Student, population: Population, division: Division) -> np.ndarray:
    predictions = np.full(len(population), -1, np.int64)
    predictions[division.public] = student.predictions
    return predictions

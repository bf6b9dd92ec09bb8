"""Measurement of a cell: ask once, let every curator read the same reports, and take the null models."""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ROOT
from benchmarks.paired.rows import Row, words
from benchmarks.paired.strong_null import strong_null
from curator.evidence.labels import LabelEvidence, label_evidence
from curator.methods import Question, Reference
from curator.nulls.known import Known, known_from_graph, known_from_reports
from curator.nulls.models import chance, features_alone, graph_alone
from devices.array_types import IntArray
from devices.data.population import Population
from strategies.experiments.trial import Trial, gather_for
from strategies.people.owned_graph import own
from strategies.results import evaluation
from strategies.runs.asking import public_knowledge
from strategies.runs.set_up import run_of, set_up
from strategies.setup.options import RunOptions
from strategies.setup.read_options import read_alone
from strategies.setup.run_setup import RunSetup

CHANCE, GRAPH_ALONE, FEATURES_ALONE = "chance", "graph alone", "features alone"
NULLS = (CHANCE, GRAPH_ALONE, FEATURES_ALONE)
STRONG_NULL = "strong null"


@dataclass(frozen=True)
class Reader:
    """A curator.

    Args:
        name: Name in the tables.
        options: Its run, without a seed.
        reads_any: Whether it reads the answers to any question; its own is then not compared with the one asked.
    """

    name: str
    options: RunOptions
    reads_any: bool = False


@dataclass(frozen=True)
class Cell:
    """One question and its curators.

    Args:
        setting: Name of the setting: which data are private, and whose question it is.
        budget: The budget as text; empty for references, which ask nobody.
        readers: The curators; the first one's question is asked.
        nulls: Null models to take from the same knowledge.
        dataset: Name in the tables; empty for the name of the options.
    """

    setting: str
    budget: str
    readers: tuple[Reader, ...]
    nulls: tuple[str, ...] = ()
    dataset: str = ""

    @property
    def shown_dataset(self) -> str:
        """Name of the data set in the tables; of a file, its name without the folder and the ending."""
        return self.dataset or Path(self.readers[0].options.dataset).stem

    def missing(self, done: Collection[tuple[Any, ...]], seed: int) -> Cell | None:
        """Return the cell with the curators and nulls that have no row; None if all have one.

        The first curator stays, as its question is asked.
        """
        head = (self.shown_dataset, self.setting, self.budget, seed)
        readers = tuple(each for each in self.readers if (*head, each.name, _parameters(each)) not in done)
        nulls = tuple(name for name in self.nulls if (*head, name, "") not in done)
        if not readers and not nulls:
            return None
        first = () if self.readers[0] in readers else (self.readers[0],)
        return replace(self, readers=(*first, *readers), nulls=nulls)


def measure(
    cell: Cell, seed: int, population: Population, skip: Collection[tuple[Any, ...]] = (), home: Path | None = None
) -> Iterator[Row]:
    """Yield a row for each curator and null model of a cell.

    Args:
        cell: The cell.
        seed: Derives split, noise and training.
        population: The people.
        skip: Keys of rows that are not wanted.
        home: Folder of kept reports; None keeps none.

    Raises:
        ValueError: for a curator that would ask more than the first one.
    """
    base, first, asked = asked_once(cell, seed, population, home)
    for reader in cell.readers:
        named = replace(base, method=reader.name, parameters=_parameters(reader))
        if named.key not in skip:
            yield _read(named, reader, first, asked, seed)
    for name, predict in _nulls(first, asked):
        if name in cell.nulls:
            yield _scored(replace(base, method=name), first, predict)


def asked_once(cell: Cell, seed: int, population: Population, home: Path | None = None) -> tuple[Row, Trial, RunSetup]:
    """Ask the question of a cell, or read the kept reports.

    Returns:
        The row of the cell without a curator, the collection, and the set-up of the first curator.
    """
    asked = _set_up(cell.readers[0], seed, population)
    questions = _questions(asked)
    question = hashlib.sha256(b"".join(each.query.digest for each in questions)).hexdigest()[:12] if questions else ""
    kept = home / f"{cell.shown_dataset}-{question}-{seed}" if home is not None and question else None
    first = gather_for(asked, kept=kept)
    base = Row(
        dataset=cell.shown_dataset, setting=cell.setting, budget=cell.budget, seed=seed, method="", parameters="",
        test=0, val=0, cpu=0, threads=_threads(), question=question, reports=first.digest[:12], commit=commit(),
    )  # fmt: skip
    return base, first, asked


def same_question(asked: Sequence[Question], wanted: Sequence[Question]) -> bool:
    """Return whether all that a curator wants was asked, of the same devices, with the same mechanisms."""
    return _parts(wanted) <= _parts(asked)


def _parts(questions: Sequence[Question]) -> set[tuple[Any, ...]]:
    return {
        (name, each.query.fingerprint(name), None if each.devices is None else each.devices.tobytes())
        for each in questions
        for name in each.query.attributes
    }


def _questions(setup: RunSetup) -> tuple[Question, ...]:
    return run_of(setup.method).questions(setup, setup.repeats[0].split, "paired")


def _set_up(reader: Reader, seed: int, population: Population) -> RunSetup:
    return set_up(read_alone(replace(reader.options, seed=seed))[0], population=population)


def _read(row: Row, reader: Reader, first: Trial, asked: RunSetup, seed: int) -> Row:
    """Reconstruct and train with one curator on the reports of the cell."""
    setup = _set_up(reader, seed, first.population)
    trial = first
    if not isinstance(setup.method, Reference):
        if not (reader.reads_any or same_question(_questions(asked), _questions(setup))):
            raise ValueError(f"{reader.name} asks another question than {asked.options.method}")
        public = public_knowledge(first.population, first.split, setup.options, setup.method)
        trial = replace(first, public=public)
    started = time.process_time()
    graph = trial.reconstruct(setup.method)
    val, test = trial.score(graph, setup.settings.training, setup.method)
    cpu = time.process_time() - started
    return replace(row, test=100 * test, val=100 * val, cpu=cpu, notes=words(_figures(graph.notes)))


def _figures(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures and words of a graph's notes; a table's entries carry its name."""
    found: dict[str, Any] = {}
    for key, value in notes.items():
        if isinstance(value, Mapping):
            found |= {f"{key}.{name}": text for name, text in _figures(value).items()}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[key] = f"{value:.4g}"
        elif isinstance(value, str) and value:
            found[key] = value
    return {key.replace(" ", "_"): str(text).replace(" ", "_") for key, text in found.items()}


def _nulls(first: Trial, asked: RunSetup) -> Iterator[tuple[str, Callable[[], IntArray | None]]]:
    """Yield the null models that see what the asking curator sees."""
    if first.reports is None:
        everything = own(first.population, first.split, trust="none")
        known = known_from_graph(everything, ("features", "label"))
    else:
        known = known_from_reports(first.reports, first.public)
    yield CHANCE, lambda: _largest(known)
    yield GRAPH_ALONE, lambda: graph_alone(known)
    yield FEATURES_ALONE, lambda: features_alone(known, seed=first.seed, device=asked.options.device)
    yield STRONG_NULL, lambda: strong_null(known, first.population, seed=first.seed, told=_label_reports(first))


def _label_reports(first: Trial) -> LabelEvidence | None:
    """Return the reported labels; None for public ones."""
    if first.reports is None or first.reports.labels is None:
        return None
    return label_evidence(first.reports, first.public).only(first.public.split.labelled)


def _largest(known: Known) -> IntArray:
    return np.full(len(known.labels), chance(known))


def _scored(row: Row, trial: Trial, predict: Callable[[], IntArray | None]) -> Row:
    """Return a null model's row; without what it needs it is the largest class."""
    started = time.process_time()
    predictions = predict()
    cpu = time.process_time() - started
    if predictions is None:
        return replace(row, test=float("nan"), val=float("nan"), cpu=cpu)
    found = evaluation.accuracy(predictions, trial.population, trial.split)
    return replace(row, test=100 * (found["test"] or 0.0), val=100 * (found["val"] or 0.0), cpu=cpu)


def _parameters(reader: Reader) -> str:
    """Return what a curator's options set beyond its defaults."""
    tuned = {"tuned": "stored"} if reader.options.tuned else {}
    network = {"gnn": reader.options.gnn} if reader.options.gnn else {}
    return words({**reader.options.settings, **tuned, **network})


def _threads() -> int:
    import torch

    return int(torch.get_num_threads())


def commit() -> str:
    """Return the commit of the tree, with a plus where a tracked file differs from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")

"""Search of a method's parameters; its results are what ``--tuned`` takes.

Curator parameters are compared on *one* set of reports: nobody is asked again. Query
parameters (shares of the budget) need one collection for every value, from freshly
enrolled people. The criterion is the validation accuracy that the curator sees.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from ldpsim.curator.methods import Question, find
from ldpsim.curator.methods.base import GraphMethod, questions_asked
from ldpsim.curator.names import nearest
from ldpsim.curator.setting_error import SettingError
from ldpsim.strategies.experiments.match_budgets import guarantee_before
from ldpsim.strategies.experiments.trial import Trial, gather
from ldpsim.strategies.outputs.sums import AskedInAll, added, levels_of
from ldpsim.strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import SET, read_alone
from ldpsim.strategies.setup.run_setup import RunSetup
from ldpsim.strategies.setup.settings import TRAINING, Settings, resolve

Values = Mapping[str, Any]
ValueGrid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Candidate:
    """A tried setting.

    Args:
        query: Query parameters by name.
        values: Parameters of the method and the training by name.
        val_accuracy: Mean over the collections.
    """

    query: Values
    values: Values
    val_accuracy: float


@dataclass(frozen=True)
class SearchResult:
    """Result of a search.

    Args:
        candidates: All tried settings, the best first; of equal ones the first tried.
        settings: Settings in force with the best candidate.
        collections: Number of collections of simulated people that the search used.
        sums: What holds over several of them; None for fewer than two.
    """

    candidates: Sequence[Candidate]
    settings: Settings
    collections: int
    sums: AskedInAll | None = None

    @property
    def best(self) -> Candidate:
        """The best setting."""
        return self.candidates[0]


def built_in(options: RunOptions, query: ValueGrid | None = None) -> tuple[ValueGrid, ...]:
    """Return the method's own grid, in stages, without parameters that the search does not need.

    ``--set`` or the query's grid gives some, and beside others given by ``--set`` nothing reads some.
    """
    stages = find(options.method).spec.search_grid
    elsewhere = {*options.settings, *(query or {}), *_unread(options, stages)}
    left = ({key: values for key, values in stage.items() if key not in elsewhere} for stage in stages)
    return tuple(stage for stage in left if stage) or ({},)


def query_values(method: str, given: Mapping[str, Sequence[str] | None]) -> ValueGrid:
    """Return the grid of ``--tune-query``: the given values, or the method's own for a name alone.

    Raises:
        ValueError: for a name alone for which the method has no values; the line names those it has.
    """
    own = find(method).spec.query_grid
    for key, values in given.items():
        if values is None and key not in own:
            there = f"it has some for {', '.join(own)}" if own else "it has no parameters of a query"
            raise ValueError(f"--tune-query {key}: {method} has no values of its own{nearest(key, own)} ({there}); "
                             f"{key}=V1,V2 gives some")  # fmt: skip
    return {key: own[key] if values is None else values for key, values in given.items()}


@noted_if_interrupted(lambda: NOTHING_KEPT)
def search(
    options: RunOptions,
    stages: Sequence[ValueGrid],
    query: ValueGrid | None = None,
    *,
    collect: Callable[[RunOptions], Sequence[Trial]] | None = None,
    progress: Progress = quiet,
) -> SearchResult:
    """Try every combination of a grid and return them by validation accuracy.

    Args:
        options: Options of the run; ``repeats`` is the number of collections for each value of
            the query.
        stages: Grids over parameters of the curator. The first is tried with every query, the
            next ones with the best query and the best values so far.
        query: ValueGrid over ``feature_share`` and those parameters of the method that change the
            questions.
        collect: Asks people; by default ``options.repeats`` times.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, before anybody is asked: a parameter that does not exist, a value
            that does not fit, a grid parameter that changes the questions, a query parameter
            that does not; or no validation label to compare by.
    """
    collect = collect or (lambda asked: [gather(asked, repeat) for repeat in range(asked.repeats)])
    queries = list(_products(query or {}))
    setups = _setups(options, stages, queries, query or {})
    nobody = bool(setups[0].method.spec.reads)
    tried: dict[tuple[str, str], Candidate] = {}
    best: Candidate | None = None
    kept: Sequence[Trial] = ()
    total = len(queries) * _size(stages[0]) + sum(_size(stage) for stage in stages[1:])
    steps, asked = 0, list[Mapping[str, Any]]()
    for number, stage in enumerate(stages):
        for values, setup in zip(queries, setups, strict=True):
            if number == 0:
                progress("asking", None)
                trials = collect(setup.options)
                if not nobody:
                    before = guarantee_before(setup).to_dict()
                    asked += [levels_of({"privacy": before})] * len(trials)
            elif best is not None and values == best.query:
                trials = kept
            else:
                continue
            base = {} if best is None or number == 0 else dict(best.values)
            leading: Candidate | None = None
            for candidate in _score(setup, trials, values, base, stage):
                steps += 1
                progress("comparing", steps / total)
                tried.setdefault((repr(candidate.query), repr(sorted(candidate.values.items()))), candidate)
                if leading is None or candidate.val_accuracy > leading.val_accuracy:
                    leading = candidate
            # A later stage fixes more parameters, so its candidate wins a tie.
            if leading is not None and (
                best is None
                or leading.val_accuracy > best.val_accuracy
                or (number > 0 and leading.val_accuracy == best.val_accuracy)
            ):
                best, kept = leading, trials
    assert best is not None
    # The winner of the last stage comes first: a tie of an earlier stage fixes fewer parameters.
    ordered = sorted(tried.values(), key=lambda candidate: (candidate != best, -candidate.val_accuracy))
    setup = setups[queries.index(best.query)]
    sums = None
    if len(asked) > 1:
        sums = AskedInAll(setup.population.name, len(asked), added(asked), made=setup.asks_again)
    return SearchResult(ordered, _settings(setup, best.values), len(asked), sums)


def _setups(
    options: RunOptions, stages: Sequence[ValueGrid], queries: Sequence[Values], query: ValueGrid
) -> list[RunSetup]:
    """Return the checked set-up of every query."""
    method = find(options.method)
    of_method = {entry.name for entry in fields(method)}  # type: ignore[arg-type]
    if method.spec.trained_by in ("owner", "graph owner"):
        raise ValueError(f"tune {options.method}: its owner sees raw data, and there are no reports to search on")
    for key in query:
        if key != "feature_share" and key not in of_method:
            own = method.spec.query_grid
            there = f" (it has {', '.join(own)})" if own else " (it has none)"
            raise ValueError(f"--tune-query {key}: is no query parameter of {options.method}"
                             f"{nearest(key, {*of_method, *own, 'feature_share'})}{there}")  # fmt: skip
    for key in [key for stage in stages for key in stage]:
        if key in query:
            raise ValueError(f"--grid {key}: is in --tune-query too")
        if key in options.settings:
            raise ValueError(f"--grid {key}: --set gives it a value already")
    setups: list[RunSetup] = []
    asked: list[tuple[Question, ...]] = []
    for values in queries:
        with _named("--tune-query"):
            setup = set_up(_with_query(options, values), population=setups[0].population if setups else None)
        questions = _questions(setup, setup.settings)
        for other, already in zip(queries, asked, strict=False):
            if _same(questions, already):
                raise ValueError(f"--tune-query: people are asked the same for {_words(other)} and {_words(values)}; "
                                 "parameters that only the curator uses belong to --grid")  # fmt: skip
        setups.append(setup)
        asked.append(questions)
    for key, reason in _unread(options, stages).items():
        raise ValueError(f"--grid {key}: {reason}")
    with _named("--grid"):
        for stage in stages:
            for values in _products(stage):
                settings = _settings(setups[0], values)
                if not _same(_questions(setups[0], settings), asked[0]):
                    raise ValueError(f"--grid {_words(values)}: changes what people are asked; "
                                     "such parameters belong to --tune-query")  # fmt: skip
    return setups


def _unread(options: RunOptions, stages: Sequence[ValueGrid]) -> dict[str, str]:
    """Return why nothing reads a parameter, for each that nothing reads beside any other values of its stage."""
    found: dict[str, str] = {}
    for stage in stages:
        every = [read_alone(_with_values(options, values))[1] for values in _products(stage)]
        found |= {key: every[0][SET + key] for key in stage if all(SET + key in unread for unread in every)}
    return found


def _with_values(options: RunOptions, values: Values) -> RunOptions:
    given = {key: value if isinstance(value, str) else repr(value) for key, value in values.items()}
    return replace(options, settings={**options.settings, **given})


@contextmanager
def _named(option: str) -> Iterator[None]:
    """Make the error message name the option that was used, and not ``--set``."""
    try:
        yield
    except SettingError as error:
        raise error.named(option) from None


def _with_query(options: RunOptions, values: Values) -> RunOptions:
    settings = {key: str(value) for key, value in values.items() if key != "feature_share"}
    share: dict[str, Any] = {}
    if "feature_share" in values:
        share["feature_share"] = declared(RunOptions)["feature_share"].read(values["feature_share"])
    return replace(options, settings={**options.settings, **settings}, **share)


def _settings(setup: RunSetup, values: Values) -> Settings:
    options = _with_values(setup.options, values)
    return resolve(options, find(options.method), setup.budget)


def _questions(setup: RunSetup, settings: Settings) -> tuple[Question, ...]:
    return questions_asked(settings.method, setup.population.facts, setup.repeats[0].split, setup.budget, "check")


def _same(ours: Sequence[Question], theirs: Sequence[Question]) -> bool:
    return len(ours) == len(theirs) and all(
        one.query == other.query and np.array_equal(one.devices, other.devices)  # type: ignore[arg-type]
        for one, other in zip(ours, theirs, strict=True)
    )


def _products(grid: ValueGrid) -> Iterator[Values]:
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def _size(grid: ValueGrid) -> int:
    return math.prod(len(values) for values in grid.values())


def _score(
    setup: RunSetup, trials: Sequence[Trial], query: Values, base: Values, stage: ValueGrid
) -> Iterator[Candidate]:
    """Yield one candidate per combination; each graph is made once for all trainings on it."""
    by_method = {key: values for key, values in stage.items() if key not in TRAINING}
    by_training = {key: values for key, values in stage.items() if key in TRAINING}
    for ours in _products(by_method):
        method = _settings(setup, {**base, **ours}).method
        graphs = [trial.reconstruct(method) for trial in trials]
        for theirs in _products(by_training):
            settings = _settings(setup, {**base, **ours, **theirs})
            pairs = zip(trials, graphs, strict=True)
            scores = [
                trial.score(graph, settings.training, cast(GraphMethod, settings.method))[0] for trial, graph in pairs
            ]
            if np.isnan(scores).any():
                raise ValueError("the curator knows no label of a validation node, so it cannot compare settings")
            in_force = settings.in_force()
            values = {key: in_force[key] for key in (*base, *ours, *theirs)}
            yield Candidate(query, values, float(np.mean(scores)))


def _words(values: Values) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items()) or "the defaults"

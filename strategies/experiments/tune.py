"""Search of a method's parameters; its best setting has the form of ``curator/tuned``, which ``--tuned`` reads.

Parameters of the curator are compared on *one* set of reports: nobody is asked again. The criterion is the validation
accuracy that the curator sees. A parameter that changes what people are asked needs new people for each value: that is
a sweep.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from ldpsim.curator.methods import Method, Question, find
from ldpsim.curator.methods.base import Budget, Graph, GraphMethod, LocalMethod, questions_asked
from ldpsim.curator.methods.references.references import Reference
from ldpsim.curator.names import by_field, paper_name
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.setting_error import SettingError
from ldpsim.strategies.outputs.sums import AskedInAll, added, levels_of
from ldpsim.strategies.people.owner_graphs import owned_graph
from ldpsim.strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import public_knowledge, temporary_repeat
from ldpsim.strategies.runs.spent import guarantee_before
from ldpsim.strategies.setup.options import AUTO, RunOptions
from ldpsim.strategies.setup.read_options import SET, read_alone
from ldpsim.strategies.setup.run_setup import Setup
from ldpsim.strategies.setup.settings import TRAINING, Settings, resolve

Values = Mapping[str, Any]
ValueGrid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Trial:
    """One collection of freshly enrolled people, whose devices are not kept.

    Args:
        setup: The set-up of the search.
        repeat: Its number.
        reports: Reports of the people; None for a reference, which asks nobody.
    """

    setup: Setup = field(repr=False)
    repeat: int
    reports: Reports | None = field(repr=False)

    def reconstruct(self, method: Method) -> Graph:
        """Return the graph that a method makes from the reports, or a reference from the data."""
        people, split = self.setup.population, self.setup.plans[self.repeat].split
        if method.spec.reads:
            return cast(Reference, method).from_owned(owned_graph(people, split, trust="none"))
        assert self.reports is not None
        public = public_knowledge(people, split, self.setup.options, self.setup.method)
        return cast(LocalMethod, method).reconstruct(self.reports, public)

    def score(self, graph: Graph, settings: Settings) -> float:
        """Return the validation accuracy as the curator sees it, of a network that the method trains as in a run."""
        trained = cast(GraphMethod, settings.method).train(
            graph, settings=settings.training, classes=self.setup.population.facts.classes,
            seed=self.setup.plans[self.repeat].seeds.training, device=self.setup.options.device,
        )  # fmt: skip
        return trained.val_accuracy


def gather(setup: Setup, repeat: int) -> Trial:
    """Enrol people, ask them once and return their reports."""
    if setup.method.spec.reads:
        return Trial(setup, repeat, None)
    with temporary_repeat(setup, repeat) as asked:
        return Trial(setup, repeat, ask(asked).decoded)


def setting_of(options: RunOptions, result: SearchResult, stages: Sequence[ValueGrid]) -> dict[str, Any]:
    """Return the stored form of a search: conditions, values and source.

    The parameters of ``--set`` are among the values, since the search compared with them.
    """
    parameters, share = result.settings.all_parameters(), options.feature_share
    finer = {name: getattr(options, name) for name in ("eps_adjacency", "eps_features", "eps_labels")}
    finer = {name: value for name, value in finer.items() if value is not None}
    total = Budget().epsilon if options.epsilon is None else options.epsilon
    over = "one collection" if options.repeats == 1 else f"{options.repeats} collections"
    grids = "; then ".join(
        ", ".join(f"{key} {' '.join(map(str, values))}" for key, values in stage.items()) or "defaults"
        for stage in stages
    )
    return {
        "method": options.method,
        "dataset": options.dataset,
        "gnn": result.settings.training.gnn,
        "split": options.split,
        **({} if finer and options.epsilon is None else {"epsilon": total}),
        **finer,
        "public_features": options.public_features or find(options.method).spec.public_features,
        **({} if share in (None, AUTO) else {"feature_share": float(share)}),
        "provenance": "ours",
        "source": f"validation accuracy over {over}, seed {options.seed}, ldpsim tune; {grids}",
        "collections": result.collections,
        "values": {key: parameters[key] for key in dict.fromkeys((*options.settings, *result.best.values))},
    }


@dataclass(frozen=True)
class Candidate:
    """A tried setting.

    Args:
        values: Parameters of the method and the training by name.
        val_accuracy: Mean over the collections.
    """

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


def built_in(options: RunOptions) -> tuple[ValueGrid, ...]:
    """Return the method's own grid, in stages, without parameters that ``--set`` gives or that nothing reads."""
    stages = find(options.method).spec.search_grid
    elsewhere = {*options.settings, *_unread(options, stages)}
    left = ({key: values for key, values in stage.items() if key not in elsewhere} for stage in stages)
    return tuple(stage for stage in left if stage) or ({},)


@noted_if_interrupted(lambda: NOTHING_KEPT)
def search(options: RunOptions, stages: Sequence[ValueGrid], *, progress: Progress = quiet) -> SearchResult:
    """Try every combination of a grid and return them by validation accuracy.

    Args:
        options: Options of the run; ``repeats`` is the number of collections.
        stages: Grids over parameters of the curator. A later one is tried with the best values so far.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, before anybody is asked: a parameter that does not exist, a value
            that does not fit, a parameter that changes the questions; or no validation label to compare by.
    """
    stages = [by_field(stage, "--grid") for stage in stages]
    setup = _checked(options, stages)
    progress("asking", None)
    trials = [gather(setup, repeat) for repeat in range(options.repeats)]
    total, steps = sum(math.prod(map(len, stage.values())) for stage in stages), 0
    tried: dict[str, Candidate] = {}
    best = Candidate({}, -1.0)
    for stage in stages:
        base = best.values
        for candidate in _score(setup, trials, base, stage):
            steps += 1
            progress("comparing", steps / total)
            tried.setdefault(repr(sorted(candidate.values.items())), candidate)
            # Of equal candidates of one stage the first wins; a later stage fixes more parameters, and wins a tie.
            later = best.values is base and candidate.val_accuracy == best.val_accuracy
            if candidate.val_accuracy > best.val_accuracy or later:
                best = candidate
    ordered = sorted(tried.values(), key=lambda candidate: (candidate != best, -candidate.val_accuracy))
    collections = 0 if setup.method.spec.reads else len(trials)
    sums = None
    if collections > 1:
        holds = levels_of({"privacy": guarantee_before(setup).to_dict()})
        sums = AskedInAll(setup.population.name, collections, added([holds] * collections), made=setup.asks_again)
    return SearchResult(ordered, _settings(setup, best.values), collections, sums)


def _checked(options: RunOptions, stages: Sequence[ValueGrid]) -> Setup:
    """Return the set-up of the search, once every value of the grid fits and changes no question."""
    if find(options.method).spec.trained_by in ("owner", "graph owner"):
        raise ValueError(f"tune {options.method}: its owner sees raw data, and there are no reports to search on")
    if find(options.method).spec.trained_by != "curator":
        raise ValueError(f"tune {options.method}: it asks for no reports to search on; compare settings with sweep")
    for key in [key for stage in stages for key in stage]:
        if key in options.settings:
            raise ValueError(f"--grid {paper_name(key)}: --set gives it a value already")
    setup = prepare(options)
    questions = _questions(setup, setup.settings)
    for key, reason in _unread(options, stages).items():
        raise ValueError(f"--grid {paper_name(key)}: {reason}")
    try:
        for stage in stages:
            for values in _products(stage):
                if not _same(_questions(setup, _settings(setup, values)), questions):
                    words = ", ".join(f"{key}={value}" for key, value in values.items())
                    raise ValueError(
                        f"--grid {words}: changes what people are asked; `ldpsim sweep -g` runs such values"
                    )
    except SettingError as error:
        raise error.with_option("--grid") from None
    return setup


def _unread(options: RunOptions, stages: Sequence[ValueGrid]) -> dict[str, str]:
    """Return why nothing reads a parameter, for each that nothing reads beside any other values of its stage."""
    unread: dict[str, str] = {}
    for stage in stages:
        every = [read_alone(_with_values(options, values))[1] for values in _products(stage)]
        unread |= {key: every[0][SET + key] for key in stage if all(SET + key in reasons for reasons in every)}
    return unread


def _with_values(options: RunOptions, values: Values) -> RunOptions:
    texts = {key: value if isinstance(value, str) else repr(value) for key, value in values.items()}
    return replace(options, settings={**options.settings, **texts})


def _settings(setup: Setup, values: Values) -> Settings:
    options = _with_values(setup.options, values)
    return resolve(options, find(options.method), setup.budget)


def _questions(setup: Setup, settings: Settings) -> tuple[Question, ...]:
    return questions_asked(settings.method, setup.population.facts, setup.plans[0].split, setup.budget, "check")


def _same(ours: Sequence[Question], theirs: Sequence[Question]) -> bool:
    return len(ours) == len(theirs) and all(
        one.query == other.query and np.array_equal(one.devices, other.devices)  # type: ignore[arg-type]
        for one, other in zip(ours, theirs, strict=True)
    )


def _products(grid: ValueGrid) -> Iterator[Values]:
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def _score(setup: Setup, trials: Sequence[Trial], base: Values, stage: ValueGrid) -> Iterator[Candidate]:
    """Yield one candidate per combination; each graph is made once for all trainings on it."""
    by_method = {key: values for key, values in stage.items() if key not in TRAINING}
    by_training = {key: values for key, values in stage.items() if key in TRAINING}
    for ours in _products(by_method):
        method = _settings(setup, {**base, **ours}).method
        graphs = [trial.reconstruct(method) for trial in trials]
        for theirs in _products(by_training):
            settings = _settings(setup, {**base, **ours, **theirs})
            scores = [trial.score(graph, settings) for trial, graph in zip(trials, graphs, strict=True)]
            if np.isnan(scores).any():
                raise ValueError("the curator knows no label of a validation node, so it cannot compare settings")
            parameters = settings.all_parameters()
            yield Candidate({key: parameters[key] for key in (*base, *ours, *theirs)}, float(np.mean(scores)))

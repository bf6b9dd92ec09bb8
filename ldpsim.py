"""Python's front door: everything that a program of your own needs of ldpsim, by one name.

>>> import ldpsim
>>> result = ldpsim.simulate(method="hogs", clients=300, out=None, reference=False, settings={"epochs": "5"})
>>> result.record["devices"]["reported"]
300

Importing it is cheap: a name is loaded on first use, and torch, Flower and Ray where a run needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import devices  # importing it sets the variables that switch telemetry off, before Flower or Ray can read them

if TYPE_CHECKING:
    from curator import methods
    from curator.methods import Method
    from devices import datasets, mechanisms
    from devices.mechanisms import Mechanism
    from strategies.ask_once import AskOnce
    from strategies.attacks.stress.campaign import StressCampaign
    from strategies.attacks.stress.options import StressOptions
    from strategies.experiments.compare import Comparison
    from strategies.experiments.sweep import SweepResult
    from strategies.importing import ImportOptions, import_graph
    from strategies.outputs.graph import NoGraph
    from strategies.outputs.graph import ResultGraph as Graph
    from strategies.outputs.run_result import RunResult
    from strategies.planning.plan import Plan
    from strategies.results.in_words import privacy_in_words
    from strategies.runs.run import Refused, RunFailed
    from strategies.setup.options import RunOptions

NO_TELEMETRY = devices.NO_TELEMETRY
# name -> module, and the name there if it is another one; a module alone is the module
_PLACES: Mapping[str, tuple[str, str]] = {
    "AskOnce": ("strategies.ask_once", "AskOnce"),
    "Comparison": ("strategies.experiments.compare", "Comparison"),
    "Graph": ("strategies.outputs.graph", "ResultGraph"),
    "ImportOptions": ("strategies.importing", "ImportOptions"),
    "Mechanism": ("devices.mechanisms", "Mechanism"),
    "Method": ("curator.methods", "Method"),
    "NoGraph": ("strategies.outputs.graph", "NoGraph"),
    "Plan": ("strategies.planning.plan", "Plan"),
    "Refused": ("strategies.runs.run", "Refused"),
    "RunFailed": ("strategies.runs.run", "RunFailed"),
    "RunOptions": ("strategies.setup.options", "RunOptions"),
    "RunResult": ("strategies.outputs.run_result", "RunResult"),
    "StressCampaign": ("strategies.attacks.stress.campaign", "StressCampaign"),
    "StressOptions": ("strategies.attacks.stress.options", "StressOptions"),
    "SweepResult": ("strategies.experiments.sweep", "SweepResult"),
    "datasets": ("devices.datasets", ""),
    "import_graph": ("strategies.importing", "import_graph"),
    "mechanisms": ("devices.mechanisms", ""),
    "methods": ("curator.methods", ""),
    "privacy_in_words": ("strategies.results.in_words", "privacy_in_words"),
}

__all__ = [
    "NO_TELEMETRY", "AskOnce", "Comparison", "Graph", "ImportOptions", "Mechanism", "Method", "NoGraph", "Plan",
    "Refused", "RunFailed", "RunOptions", "RunResult", "StressCampaign", "StressOptions", "SweepResult", "compare",
    "datasets", "import_graph", "mechanisms", "methods", "plan", "privacy_in_words", "simulate", "sweep",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place, inside = _PLACES[name]
    module = import_module(place)
    return getattr(module, inside) if inside else module


def __dir__() -> list[str]:
    return sorted(__all__)


def simulate(options: RunOptions | None = None, /, **given: Any) -> RunResult:
    """Make a run, as ``ldpsim run`` does.

    Args:
        options: Its options; None: the defaults.
        given: Options by name (the fields of :class:`RunOptions`), in place of those of ``options``. Also the keywords
            of :func:`strategies.runs.simulate.simulate`: ``progress``, ``on_metric``, ``track``, ``keep_graph`` and
            ``save_graph``.

    Raises:
        ValueError: one line, with nothing written, for options that are unknown or do not fit.
        Refused: if no device reported or replayed and at least one refused.
        RunFailed: if no device answered, or the run could not be finished.
    """
    from strategies.runs import simulate as run

    made, others = _divided(options, given, run.simulate)
    return run.simulate(made, **others)


def compare(methods: Sequence[str], options: RunOptions | None = None, /, **given: Any) -> Comparison:
    """Run several methods on the same people, as ``ldpsim compare`` does.

    Args:
        methods: Their names, in the order of display.
        options: Options of every method; None: the defaults.
        given: Options by name, and the keywords of :func:`strategies.experiments.compare.compare`: ``matching``,
            ``workers``, ``progress``, ``track``.

    Raises:
        ValueError: one line, with nothing written, for options that are unknown or do not fit.
    """
    from strategies.experiments import compare as comparison

    made, others = _divided(options, given, comparison.compare)
    return comparison.compare(methods, made, **others)


def sweep(grid: Path | str | Mapping[str, Any], folder: Path | str, **given: Any) -> SweepResult:
    """Make a grid of runs and one table, as ``ldpsim sweep`` does; cells with a result do not run again.

    Args:
        grid: A sweep file, or its content: ``{"fixed": {"clients": 300}, "grid": {"epsilon": [1, 4]}}``.
        folder: Folder of the results and the table.
        given: Keywords of :func:`strategies.experiments.sweep.run_sweep`: ``workers``, ``progress``, ``track``.

    Raises:
        ValueError: one line, with nothing written, for keys or keywords that are unknown or do not fit.
    """
    from strategies.experiments.cells_folder import has_some_of
    from strategies.experiments.sweep import run_sweep
    from strategies.experiments.sweep_file import cells_of_document, read_sweep

    _check_names(given, _keywords(run_sweep))
    cells = cells_of_document(grid) if isinstance(grid, Mapping) else read_sweep(Path(grid))
    return run_sweep(cells, Path(folder), **{"goes_on": has_some_of, **given})


def plan(methods: Sequence[str] = (), options: RunOptions | None = None, /, **given: Any) -> Plan:
    """Estimate what methods would protect, cost and be worth, as ``ldpsim plan`` does; nobody is asked.

    Args:
        methods: Their names; empty for all that people answer by themselves.
        options: Options of every method; None: the defaults.
        given: Options by name; ``like``, the data set of the rehearsal; wishes (the fields of
            :class:`strategies.planning.wishes.Wishes`: ``level``, ``holds``, ``max_bytes``, ``max_attack``); facts of
            made-up people (``mean_degree``, ``homophily``, ``classes``, ``features``, ``feature_rate``); and the
            keywords of :func:`strategies.planning.plan.make_plan`: ``worth``, ``people``, ``progress``.

    Raises:
        ValueError: one line, for options, wishes or facts that are unknown or do not fit.
    """
    from strategies.planning.plan import make_plan
    from strategies.planning.planned_people import FACTS, planned_people
    from strategies.planning.wishes import Wishes

    wishes = {name: given.pop(name) for name in [one.name for one in fields(Wishes)] if name in given}
    facts = {name: given.pop(name) for name in FACTS if name in given}
    rate = given.pop("feature_rate", None)
    like = {"dataset": given.pop("like")} if "like" in given else {}
    made, others = _divided(options, {**given, **like}, make_plan)
    found, people = planned_people(made, facts, rate)
    return make_plan(methods, found, Wishes(**wishes), people, **others)


def _divided(
    options: RunOptions | None, given: Mapping[str, Any], function: Callable[..., Any]
) -> tuple[RunOptions, dict[str, Any]]:
    """Return options with those that are given by name, and the keywords of the function; ValueError for others."""
    from strategies.setup.option_spec import declared
    from strategies.setup.options import RunOptions

    known, others = declared(RunOptions), _keywords(function)
    _check_names(given, [*known, *others])
    # What a keyword and an option share is the keyword: how a comparison's cells run, not how one run does.
    own = {name: value for name, value in given.items() if name in known and name not in others}
    made = RunOptions(**own) if options is None else replace(options, **own)
    return made, {name: value for name, value in given.items() if name in others}


def _keywords(function: Callable[..., Any]) -> set[str]:
    return {name for name, one in signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}


def _check_names(given: Iterable[str], known: Collection[str]) -> None:
    from curator.names import nearest

    for name in given:
        if name not in known:
            raise ValueError(f"{name}: there is no such option{nearest(name, known)}")

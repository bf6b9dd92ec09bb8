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

# A Flower bundle has the packages beside this folder and no links in it. Where a system or an archive has no links,
# text files stand in their place: they are no packages either.
if not Path(__file__).with_name("devices").is_dir():
    __path__.append(str(Path(__file__).parents[1]))

from ldpsim.devices import NO_TELEMETRY

if TYPE_CHECKING:
    from ldpsim.curator import methods
    from ldpsim.curator.methods import Method
    from ldpsim.devices import datasets, mechanisms
    from ldpsim.devices.mechanisms import Mechanism
    from ldpsim.strategies.ask_once import AskOnce
    from ldpsim.strategies.attacks.stress.campaign import StressOptions, stress
    from ldpsim.strategies.experiments.compare import Comparison
    from ldpsim.strategies.experiments.sweep import SweepResult
    from ldpsim.strategies.flower_app.simulation import run_on_grid
    from ldpsim.strategies.importing.graph_import import import_graph
    from ldpsim.strategies.importing.options import ImportOptions
    from ldpsim.strategies.outputs.graph import NoGraph
    from ldpsim.strategies.outputs.graph import ResultGraph as Graph
    from ldpsim.strategies.outputs.run_result import RunResult
    from ldpsim.strategies.planning.plan import Plan
    from ldpsim.strategies.results.in_words import privacy_in_words
    from ldpsim.strategies.runs.errors import Refused, RunFailed
    from ldpsim.strategies.setup.options import RunOptions

# name -> module, and the name there if it is another one; a module alone is the module
_PLACES: Mapping[str, tuple[str, str]] = {
    "AskOnce": ("ldpsim.strategies.ask_once", "AskOnce"),
    "Comparison": ("ldpsim.strategies.experiments.compare", "Comparison"),
    "Graph": ("ldpsim.strategies.outputs.graph", "ResultGraph"),
    "ImportOptions": ("ldpsim.strategies.importing.options", "ImportOptions"),
    "Mechanism": ("ldpsim.devices.mechanisms", "Mechanism"),
    "Method": ("ldpsim.curator.methods", "Method"),
    "NoGraph": ("ldpsim.strategies.outputs.graph", "NoGraph"),
    "Plan": ("ldpsim.strategies.planning.plan", "Plan"),
    "Refused": ("ldpsim.strategies.runs.errors", "Refused"),
    "RunFailed": ("ldpsim.strategies.runs.errors", "RunFailed"),
    "RunOptions": ("ldpsim.strategies.setup.options", "RunOptions"),
    "RunResult": ("ldpsim.strategies.outputs.run_result", "RunResult"),
    "StressOptions": ("ldpsim.strategies.attacks.stress.campaign", "StressOptions"),
    "SweepResult": ("ldpsim.strategies.experiments.sweep", "SweepResult"),
    "datasets": ("ldpsim.devices.datasets", ""),
    "import_graph": ("ldpsim.strategies.importing.graph_import", "import_graph"),
    "mechanisms": ("ldpsim.devices.mechanisms", ""),
    "methods": ("ldpsim.curator.methods", ""),
    "privacy_in_words": ("ldpsim.strategies.results.in_words", "privacy_in_words"),
    "run_on_grid": ("ldpsim.strategies.flower_app.simulation", "run_on_grid"),
    "stress": ("ldpsim.strategies.attacks.stress.campaign", "stress"),
}

__all__ = [
    "NO_TELEMETRY", "AskOnce", "Comparison", "Graph", "ImportOptions", "Mechanism", "Method", "NoGraph", "Plan",
    "Refused", "RunFailed", "RunOptions", "RunResult", "StressOptions", "SweepResult", "compare",
    "datasets", "import_graph", "mechanisms", "methods", "plan", "privacy_in_words", "run_on_grid", "simulate",
    "stress", "sweep",
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
        given: Options by name (the fields of :class:`RunOptions`), in place of those of ``options``; ``dataset`` may be
            a ``Data`` object of PyTorch Geometric, and ``network`` a class (the option ``gnn``). Also the keywords
            of :func:`ldpsim.strategies.runs.simulate.simulate`: ``progress``, ``on_metric``, ``track``, ``keep_graph``
            and ``save_graph``.

    Raises:
        ValueError: one line, with nothing written, for options that are unknown or do not fit.
        Refused: if no device reported or replayed and at least one refused.
        RunFailed: if no device answered, or the run could not be finished.
    """
    from ldpsim.strategies.runs import simulate as run

    people = None
    if hasattr(given.get("dataset"), "edge_index"):
        from ldpsim.devices.datasets.pyg_file import people_of

        people = people_of("data", given["dataset"])
        given |= {"dataset": "data", "split": given.get("split", "random" if people.own_split is None else "file")}
    made, others = _divided(options, given, run.simulate)
    if people is not None:
        from ldpsim.devices.datasets.sampling import induced_sample

        seed = made.seeds_of(0).population
        others["population"] = people if made.clients is None else induced_sample(people, made.clients, seed)
    return run.simulate(made, **others)


def compare(methods: Sequence[str], options: RunOptions | None = None, /, **given: Any) -> Comparison:
    """Run several methods on the same people, as ``ldpsim compare`` does.

    Args:
        methods: Their names, in the order of display.
        options: Options of every method; None: the defaults.
        given: Options by name, and the keywords of :func:`ldpsim.strategies.experiments.compare.compare`: ``matching``,
            ``workers``, ``progress``, ``track``.

    Raises:
        ValueError: one line, with nothing written, for options that are unknown or do not fit.
    """
    from ldpsim.strategies.experiments import compare as comparison

    made, others = _divided(options, given, comparison.compare)
    return comparison.compare(methods, made, **others)


def sweep(grid: Path | str | Mapping[str, Any], folder: Path | str, **given: Any) -> SweepResult:
    """Make a grid of runs and one table, as ``ldpsim sweep`` does; cells with a result do not run again.

    Args:
        grid: A sweep file, or its content: ``{"fixed": {"clients": 300}, "grid": {"epsilon": [1, 4]}}``.
        folder: Folder of the results and the table.
        given: Keywords of :func:`ldpsim.strategies.experiments.sweep.run_sweep`: ``workers``, ``progress``, ``track``.

    Raises:
        ValueError: one line, with nothing written, for keys or keywords that are unknown or do not fit.
    """
    from ldpsim.strategies.experiments.sweep import run_sweep
    from ldpsim.strategies.experiments.sweep_file import cells_of_document, read_sweep

    _check_names(given, _keywords(run_sweep))
    cells = cells_of_document(grid) if isinstance(grid, Mapping) else read_sweep(Path(grid))
    return run_sweep(cells, Path(folder), **given)


def plan(methods: Sequence[str] = (), options: RunOptions | None = None, /, **given: Any) -> Plan:
    """Compute what methods would protect and cost, as ``ldpsim plan`` does; nobody is asked.

    Args:
        methods: Their names; empty for all that people answer by themselves.
        options: Options of every method; None: the defaults.
        given: Options by name, with the facts of generated people among them; ``like``, a data set of people like
            those of the plan; the fields of :class:`ldpsim.strategies.planning.plan.TargetLoss` (``level``, ``holds``,
            ``max_attack``); and ``progress``.

    Raises:
        ValueError: one line, for options or a target that are unknown or do not fit.
    """
    from ldpsim.strategies.planning.plan import TargetLoss, make_plan

    target = {entry.name: given.pop(entry.name) for entry in fields(TargetLoss) if entry.name in given}
    like = {"dataset": given.pop("like")} if "like" in given else {}
    made, others = _divided(options, {**given, **like}, make_plan)
    return make_plan(methods, TargetLoss(**target), made, **others)


def _divided(
    options: RunOptions | None, given: Mapping[str, Any], function: Callable[..., Any]
) -> tuple[RunOptions, dict[str, Any]]:
    """Return options with those that are given by name, and the keywords of the function; ValueError for others."""
    from ldpsim.strategies.setup.option_spec import declared
    from ldpsim.strategies.setup.options import RunOptions

    known, others = declared(RunOptions), _keywords(function)
    if "network" in given:
        given = {**given, "gnn": _name_of(given["network"])}
        del given["network"]
    if hasattr(given.get("dataset"), "edge_index"):
        raise ValueError("dataset: simulate alone takes a Data object; torch.save(data, 'mine.pt'), dataset='mine.pt'")
    _check_names(given, [*known, *others])
    # What a keyword and an option share is the keyword: how a comparison's cells run, not how one run does.
    own = {name: value for name, value in given.items() if name in known and name not in others}
    made = RunOptions(**own) if options is None else replace(options, **own)
    return made, {name: value for name, value in given.items() if name in others}


def _name_of(network: Any) -> Any:
    """Return the name of a class of one's own, as the option ``gnn`` has it; another value as it is."""
    if isinstance(network, type):
        return f"{network.__module__}:{network.__qualname__}"
    return network


def _keywords(function: Callable[..., Any]) -> set[str]:
    return {name for name, one in signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}


def _check_names(given: Iterable[str], known: Collection[str]) -> None:
    from ldpsim.curator.names import nearest

    for name in given:
        if name not in known:
            raise ValueError(f"{name}: there is no such option{nearest(name, known)}")

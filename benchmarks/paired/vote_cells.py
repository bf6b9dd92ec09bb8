"""Cells of the measurement of ``vote``: data sets, settings, budgets and the models beside it, most important first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.paired.cells import LARGE, NOBODY, PUBLIC, SMALL, reader
from benchmarks.paired.measure import CHANCE, FEATURES_ALONE, STRONG_NULL, Cell
from devices.data.population import Population
from devices.datasets import generated, generated_kinds
from strategies.setup.run_setup import load_population

VOTE, BATCHES = "vote", "vote, three batches"
NO_FEATURES, FEW, FEW_LABELS = "no features", "a tenth labelled", "few labels"
PRIVATE_LABELS = "private labels, eps_y 2"
OTHER_TRUST = "other protection"  # the graph, the record or the updates are in clear to somebody
BUDGETS = (4.0, 1.0, 2.0, 8.0)
OF_A_PERSON = 4 / 2707  # epsilon of a bit of a list of Cora: all 2,707 bits together lose 4
KINDS = ("partnered", "heterophilous")  # generated graphs whose neighbours mostly differ in class
SHARES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.95)  # homophily of the generated graphs of the curve
RATES = (0.02, 0.05, 0.1, 0.2, 0.5)  # training people as a share of all
LIARS, LIARS_ANYWHERE, LIARS_UNLABELLED = "liars", "liars anywhere", "liars without a label"
LYING = (0.0, 0.05, 0.1, 0.2, 0.4)  # share of the devices that lie
_GRAPH = "generated, homophily "
_OF_PUBLIC = (CHANCE, FEATURES_ALONE, STRONG_NULL)


def vote(dataset: str, name: str = VOTE, **given: Any) -> Any:
    """Return the curator of a vote."""
    return reader(name, VOTE, dataset, **given)


def public_cell(dataset: str, epsilon: float, shown: str = "") -> Cell:
    """Return a vote with public features."""
    return Cell(PUBLIC, f"{epsilon:g}", (vote(dataset, epsilon=epsilon, public_features=True),), (), shown)


def nobody(dataset: str, shown: str = "") -> Cell:
    """Return what needs no question: the network without noise, and the nulls of public features."""
    return Cell(NOBODY, "", (reader("no noise", "raw", dataset),), _OF_PUBLIC, shown)


def without_features(dataset: str, epsilon: float, batches: int = 1) -> Cell:
    """Return a vote on the labels of the neighbours alone."""
    return Cell(
        NO_FEATURES if batches == 1 else f"{NO_FEATURES}, three batches", f"{epsilon:g}",
        (vote(dataset, epsilon=epsilon, settings={"batches": batches}),), (CHANCE,),
    )  # fmt: skip


def few_labels(dataset: str, rate: float, epsilon: float, setting: str, batches: int = 1) -> Cell:
    """Return a vote where few people have told their label."""
    given: dict[str, Any] = {"epsilon": epsilon, "public_features": True, "label_rate": rate,
                             "settings": {"batches": batches}}  # fmt: skip
    name = VOTE if batches == 1 else BATCHES
    budget = f"{epsilon:g}" if setting == FEW else f"{rate:g}"
    return Cell(setting, budget, (vote(dataset, name, **given),), (FEATURES_ALONE, STRONG_NULL))


def private_labels(dataset: str, eps_y: float, epsilon: float) -> Cell:
    """Return a vote on labels that were reported under noise."""
    given: dict[str, Any] = {"epsilon": epsilon, "eps_labels": eps_y, "private_labels": True, "public_features": True}
    return Cell(PRIVATE_LABELS, f"{epsilon:g}", (vote(dataset, **given),), (FEATURES_ALONE, STRONG_NULL))


def main_cells() -> Iterator[Cell]:
    """Yield the cells of the small graphs whose goals were set before, and the heterophilous graphs."""
    for dataset in SMALL:
        yield nobody(dataset)
    for epsilon in BUDGETS:
        for dataset in SMALL:
            yield public_cell(dataset, epsilon)
    for epsilon in (4.0, 8.0, 2.0):
        yield without_features("cora", epsilon)
    for batches in (1, 3):
        yield few_labels("cora", 0.1, 4.0, FEW, batches)
    for epsilon in (4.0, 8.0):
        yield without_features("citeseer", epsilon)
    yield private_labels("cora", 2.0, 2.0)
    for dataset, epsilons in (("cora", (4.0, 8.0, 2.0)), ("citeseer", (4.0, 8.0))):
        for epsilon in epsilons:
            yield without_features(dataset, epsilon, 3)
    for kind in KINDS:
        yield nobody("generated", kind)
        yield public_cell("generated", 4.0, kind)


def large_cells() -> Iterator[Cell]:
    """Yield the cells of the large graphs with public features."""
    for dataset in LARGE:
        yield nobody(dataset)
    for epsilon in BUDGETS:
        for dataset in LARGE:
            yield public_cell(dataset, epsilon)


def homophily_name(share: float) -> str:
    """Return the name of a generated graph of the curve."""
    return f"{_GRAPH}{share:g}"


def curve_cells() -> Iterator[Cell]:
    """Yield the curves over homophily and over the share of people whose label is known."""
    for share in SHARES:
        shown = homophily_name(share)
        yield nobody("generated", shown)
        yield public_cell("generated", 4.0, shown)
    for rate in RATES:
        for batches in (1, 3):
            yield few_labels("cora", rate, 4.0, FEW_LABELS, batches)


def axis_cells() -> Iterator[Cell]:
    """Yield votes at the budgets of the other methods, and the ends of the picture's axis."""
    for epsilon in (3.0, 5.0, 0.5, 16.0):
        yield public_cell("cora", epsilon)
    for epsilon in (3.0, 5.0):
        yield public_cell("citeseer", epsilon)


def rival_cells() -> Iterator[Cell]:
    """Yield other methods whose figures the picture needs: at a person's epsilon of 4, or with another protection."""
    for name in ("rgnn", "lpgnn", "fedavg-mlp", "dp-fedavg"):
        yield Cell(OTHER_TRUST, "", (reader(name, name, "cora"),))
    given: dict[str, Any] = {"epsilon": OF_A_PERSON, "public_features": True}
    for name in ("sbp", "hogs"):
        yield Cell(PUBLIC, f"{OF_A_PERSON:g}", (reader(name, name, "cora", **given),))
    soft = reader("blink-soft", "blink", "cora", settings={"variant": "soft"}, **given)
    yield Cell(PUBLIC, f"{OF_A_PERSON:g}", (soft,))


GROUPS: Mapping[str, Any] = {"main": main_cells, "large": large_cells, "curves": curve_cells, "axis": axis_cells,
                                 "rivals": rival_cells}  # fmt: skip


def load(cell: Cell) -> Population:
    """Return the people of a cell: a generated graph of its own kind, or those of its options."""
    shown = cell.shown_dataset
    if shown in KINDS:
        found: Population = getattr(generated_kinds, shown)(seed=0)
        return found
    if shown.startswith(_GRAPH):
        return generated.generate(homophily=float(shown.removeprefix(_GRAPH)), seed=0, name=shown)
    return load_population(cell.readers[0].options)


def by_name(groups: Iterable[str]) -> list[Cell]:
    """Return the cells of groups."""
    return [cell for group in groups for cell in GROUPS[group]()]

"""Cells of the paired measurement: data sets, settings, budgets and the curators of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from benchmarks.paired.measure import CHANCE, FEATURES_ALONE, NULLS, Cell, Reader
from curator.methods.base import Budget
from curator.tuned import stored
from devices.data.population import Population
from devices.datasets import generated_kinds
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import load_population

PUBLIC, PRIVATE, RGNN, LPGNN, SOLITUDE = "public features", "private features", "rgnn", "lpgnn", "solitude"
NOBODY = "nobody asked"
EPSILONS = (3.0, 1.0, 5.0, 2.0)
PRIVATE_EPSILONS = (3.0, 2.0, 4.0, 5.0)
SMALL, LARGE = ("cora", "citeseer"), ("pubmed", "facebook")
STORED = {3.0, 4.0, 5.0}  # budgets of HoGS's stored settings
BLINK_STORED = ("cora", "citeseer")


def reader(name: str, method: str, dataset: str, *, settings: Mapping[str, Any] | None = None, **given: Any) -> Reader:
    """Return a curator whose run takes neither nulls nor references of its own."""
    text = {key: str(value) for key, value in (settings or {}).items()}
    options = RunOptions(method=method, dataset=dataset, settings=text, out=None, device="cpu", engine="local",
                         reference=False, nulls=False, **given)  # fmt: skip
    return Reader(name, options)


def references(dataset: str, *, features: bool = True) -> Cell:
    """Return what needs no question: the network without noise, and the nulls of public features."""
    nulls = (CHANCE, FEATURES_ALONE) if features else (CHANCE,)
    return Cell(NOBODY, "", (reader("no noise", "raw", dataset),), nulls)


def public(dataset: str, epsilon: float, extra: tuple[Reader, ...] = ()) -> Iterator[Cell]:
    """Yield HoGS's question, and Blink's, with public features."""
    common: dict[str, Any] = {"epsilon": epsilon, "public_features": True}
    readers = [reader("hogs", "hogs", dataset, **common)]
    if dataset in SMALL and epsilon in STORED:
        found = stored("hogs", dataset=dataset, gnn="gcn", split="split42", feature_share=None, parameters={},
                       budget=Budget(epsilon=epsilon, public_features=True))  # fmt: skip
        readers.append(reader("hogs, stored settings", "hogs", dataset, settings=found.values, **common))
    readers.append(reader("lp-and", "lp-and", dataset, **common))
    yield Cell(PUBLIC, f"{epsilon:g}", (*readers, *extra))
    tuned = dataset in BLINK_STORED
    blink = [reader(f"blink-{variant}", "blink", dataset, settings={"variant": variant}, tuned=tuned, **common)
             for variant in ("soft", "hard")]  # fmt: skip
    for curators in [(each,) for each in blink] if tuned else [tuple(blink)]:  # stored degree shares may differ
        yield Cell(PUBLIC, f"{epsilon:g}", curators)


def private(dataset: str, epsilon: float, extra: tuple[Reader, ...] = ()) -> Iterator[Cell]:
    """Yield HoGS's question with private features, and the one that asks for the neighbours alone."""
    yield Cell(PRIVATE, f"{epsilon:g}", (reader("lp-and", "lp-and", dataset, epsilon=epsilon), *extra), (CHANCE,))
    yield Cell(PRIVATE, f"{epsilon:g}", (reader("hogs", "hogs", dataset, epsilon=epsilon),))
    if dataset == "cora" and epsilon in STORED:
        tuned = reader("hogs, stored settings", "hogs", dataset, epsilon=epsilon, tuned=True)
        yield Cell(PRIVATE, f"{epsilon:g}", (tuned,))


def rgnn(dataset: str, eps_y: float, extra: tuple[Reader, ...] = ()) -> Cell:
    """Return RGNN's question: public graph, private features (eps_x 1) and labels."""
    own = reader("rgnn", "rgnn", dataset, tuned=True, eps_features=1.0, eps_labels=eps_y)
    return Cell(RGNN, f"{eps_y:g}", (own, *extra), NULLS)


def lpgnn(dataset: str, eps_x: float, eps_y: float, extra: tuple[Reader, ...] = ()) -> Cell:
    """Return LPGNN's question: public graph, private features and labels."""
    own = reader("lpgnn", "lpgnn", dataset, tuned=True, eps_features=eps_x, eps_labels=eps_y)
    shown = "inf" if math.isinf(eps_y) else f"{eps_y:g}"
    return Cell(LPGNN, shown, (own, *extra), NULLS)


def solitude(dataset: str, eps_a: float, extra: tuple[Reader, ...] = ()) -> Cell:
    """Return Solitude's question: private lists and features (eps_x 1), public labels."""
    own = reader("solitude", "solitude", dataset, tuned=True, eps_adjacency=eps_a, eps_features=1.0, gnn="sage")
    return Cell(SOLITUDE, f"{eps_a:g}", (own, *extra), NULLS)


def small_cells() -> Iterator[Cell]:
    """Yield the cells of the two small citation graphs, most important first."""
    for dataset in SMALL:
        yield references(dataset)
    for epsilon in EPSILONS:
        for dataset in SMALL:
            yield from public(dataset, epsilon)
    for epsilon in PRIVATE_EPSILONS:
        for dataset in SMALL:
            yield from private(dataset, epsilon)


def public_cells(datasets: tuple[str, ...]) -> Iterator[Cell]:
    """Yield the cells of data sets with public features."""
    for dataset in datasets:
        yield references(dataset)
    for epsilon in EPSILONS:
        for dataset in datasets:
            yield from public(dataset, epsilon)


def large_cells() -> Iterator[Cell]:
    """Yield the cells of the large graphs."""
    return public_cells(LARGE)


def generated_cells() -> Iterator[Cell]:
    """Yield the cells of one generated graph."""
    return public_cells(("generated",))


KINDS = ("clique-rich", "heterophilous", "partnered", "features-decide", "edges-decide", "dense")
_KIND_PEOPLE, _KIND_SEED = 2000, 7
REAL = ("german", "student", "citeseer-full")


def sbp(dataset: str, **given: Any) -> Reader:
    """Return the posterior of the block model, with its defaults; it reads whatever was asked."""
    return replace(reader("sbp", "sbp", dataset, **given), reads_any=True)


def public_sbp(dataset: str, epsilon: float, shown: str = "") -> Cell:
    """Return the posterior beside label propagation on the same reports."""
    common: dict[str, Any] = {"epsilon": epsilon, "public_features": True}
    curators = (sbp(dataset, **common), reader("lp-and", "lp-and", dataset, **common))
    return Cell(PUBLIC, f"{epsilon:g}", curators, dataset=shown)


def sbp_cells() -> Iterator[Cell]:
    """Yield the posterior alone in the cells of the small graphs, most important first."""
    for epsilon in EPSILONS:
        for dataset in SMALL:
            yield public_sbp(dataset, epsilon)
    for epsilon in PRIVATE_EPSILONS:
        for dataset in SMALL:
            yield Cell(PRIVATE, f"{epsilon:g}", (sbp(dataset, epsilon=epsilon),))
    yield from other_questions()
    for epsilon in EPSILONS:
        yield public_sbp("generated", epsilon)


def other_questions() -> Iterator[Cell]:
    """Yield the questions of other papers, on Cora, with their own curators and the posterior."""
    for eps_y in (3.0, 2.0):
        yield rgnn("cora", eps_y, (sbp("cora", settings={"asks": "rgnn"}, eps_features=1.0, eps_labels=eps_y),))
    yield solitude("cora", 7.0, (sbp("cora", settings={"asks": "solitude"}, eps_adjacency=7.0, eps_features=1.0),))
    yield lpgnn("cora", 1.0, 1.0, (sbp("cora", settings={"asks": "lpgnn"}, eps_features=1.0, eps_labels=1.0),))


def sbp_large_cells() -> Iterator[Cell]:
    """Yield the posterior alone on the large graphs."""
    for epsilon in EPSILONS:
        for dataset in LARGE:
            yield public_sbp(dataset, epsilon)


def sbp_other_cells() -> Iterator[Cell]:
    """Yield the posterior and its null models on other graphs."""
    for dataset, shown in [*(("generated", kind) for kind in KINDS), *((name, "") for name in REAL)]:
        yield replace(references(dataset), dataset=shown)
        for epsilon in (3.0, 1.0):
            yield public_sbp(dataset, epsilon, shown)


def load(cell: Cell) -> Population:
    """Return the people of a cell: a kind of the generated graph, or the data set that its options name."""
    if cell.shown_dataset in KINDS:
        make = getattr(generated_kinds, cell.shown_dataset.replace("-", "_"))
        found: Population = make(_KIND_PEOPLE, seed=_KIND_SEED)
        return found
    return load_population(cell.readers[0].options)

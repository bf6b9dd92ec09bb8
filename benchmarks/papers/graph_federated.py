"""Public tables of graph federated learning, and of LinkGuard: FederatedScope-GNN, FedGraph, LinkGuard's Table 1.

    python -m benchmarks.papers.graph_federated cora random     (the search of FederatedScope-GNN's settings)
    python -m benchmarks.papers.tables graph-federated

FederatedScope-GNN searches, by its scripts (federatedscope/gfl/baseline/repro_exp/node_level): FedAvg over the learning
rate and the number of local steps; FedOpt over the server's learning rate and FedProx over mu, both at FedAvg's choice;
local and global over the learning rate. The search here is the same, by accuracy on the validation people of
:data:`SEARCHED` seeds that the cells do not have. It writes ``docs/results/graph-federated-search.csv``, from which the
cells read what was chosen. Local and global of PubMed have the rate and the steps that the search chose for FedAvg:
with the one step a round of their own search, 400 rounds do not converge there. A network without any search, GraphSAGE
or GAT, has the settings of the published configuration (:data:`FIRST`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.papers.blink import ldpgen_groups
from benchmarks.papers.cell import TableCell, cell_options, look_up
from benchmarks.papers.tables import records_of, run_cells
from benchmarks.study import read_rows, write_rows
from ldpsim.strategies.setup.options import RunOptions

LEVELS = ("bit_adjacency", "relationship")
SCOPE, FEDGRAPH, LINKGUARD = "FederatedScope-GNN", "FedGraph", "LinkGuard, Table 1"
SEARCH = RESULTS / "graph-federated-search.csv"
SEARCHED, SEARCH_SEED = 1, 1000
# Planetoid with split="random": training people of each class, validation people
SPLITS = {"cora": "232-each/542", "citeseer": "332-each/665", "pubmed": "3943-each/3943"}
SILOS = ("local", "fedavg", "fedopt", "fedprox", "global")
Chosen = Mapping[str, Any]
PLACE = ("partition", "data set", "network", "model")
COLUMNS = ("lr", "local_steps", "server_lr", "proximal_mu")
RATES, STEPS = (0.01, 0.05, 0.25), (1, 4, 16)
FIRST: Chosen = {"lr": 0.25, "local_steps": 4}
GRIDS: Mapping[str, tuple[Chosen, ...]] = {
    "local": tuple({"lr": rate, "local_steps": 1} for rate in RATES),
    "global": tuple({"lr": rate, "local_steps": 1} for rate in RATES),
    "fedavg": tuple({"lr": rate, "local_steps": steps} for rate in RATES for steps in STEPS),
    "fedopt": tuple({"server_lr": rate} for rate in (0.5, 0.1)),
    "fedprox": tuple({"proximal_mu": mu} for mu in (0.1, 1.0, 5.0)),
}


def cells(home: Path) -> Iterator[TableCell]:
    """Yield the cells."""
    yield from _linkguard()
    yield from _fedgraph()
    for network in ("gcn", "sage", "gat"):
        for dataset in SPLITS:
            for partition in ("random", "louvain"):
                for method in SILOS:
                    if method != "global" or partition == "random":  # without silos: one figure, printed in both tables
                        yield _scope(partition, dataset, network, method)


def _linkguard() -> Iterator[TableCell]:
    """Both data sets; LDPGen in the form of Blink's code, Blink in its variant ``soft``."""
    settings: dict[str, dict[str, Any]]
    for dataset in ("cora", "citeseer"):
        for model in ("ldpgen", "dprr", "ldpgcn", "blink"):
            for epsilon in (4, 3, 2, 1):
                settings = {
                    "ldpgen": {"graph": "one-sided", "groups": ldpgen_groups(dataset, epsilon)},
                    "blink": {"variant": "soft"},
                }  # fmt: skip
                own = settings.get(model, {})
                options = cell_options(model, dataset, epsilon=float(epsilon), gnn="gcn", split="75/10/15",
                                       settings={**own, "gnn_dropout": 0.5})  # fmt: skip
                keys = _keys(dataset, "-", "gcn", model, f"epsilon {epsilon}")
                paper = look_up("graph-federated", "LinkGuard", dataset=dataset, model=model, setting=epsilon)
                yield TableCell(LINKGUARD, keys, options, paper, level=1 if dataset == "cora" else 2,
                                quick=dataset == "cora" and epsilon == 4)  # fmt: skip


def _fedgraph() -> Iterator[TableCell]:
    """Ten silos and Planetoid's own split; learning rate .1 and one local step, as the log beside the figures says."""
    for level, dataset in enumerate(("cora", "citeseer", "pubmed"), start=2):
        for model, method in (("fedavg", "silo-fedavg-gcn"), ("fedgcn", "silo-fedgcn")):
            for beta in (10000, 100, 10):
                options = cell_options(
                    method, dataset, split="file", settings={"beta": float(beta), "lr": 0.1, "local_steps": 1}
                )
                paper = look_up("graph-federated", "FedGraph", dataset=dataset, model=model, setting=beta)
                keys = _keys(dataset, "dirichlet", "gcn", model, f"beta {beta}")
                yield TableCell(FEDGRAPH, keys, options, paper, level=level)


def _scope(partition: str, dataset: str, network: str, method: str) -> TableCell:
    place = {"dataset": dataset, "partition": partition, "network": network, "model": method}
    options = scope_options(partition, dataset, network, method, chosen_settings(partition, dataset, network, method))
    if searched_rows(partition, dataset, network, method):
        origin = "searched"
    elif searched_rows(partition, dataset, network, "fedavg"):
        origin = "as fedavg"
    else:
        origin = "as published"
    return TableCell(
        SCOPE, _keys(dataset, partition, network, method, origin), options, look_up("graph-federated", SCOPE, **place),
        level=3 + list(SPLITS).index(dataset) + (partition == "louvain"),
    )  # fmt: skip


def _keys(dataset: str, partition: str, network: str, model: str, setting: str) -> dict[str, str]:
    return {"data set": dataset, "partition": partition, "network": network, "model": model, "setting": setting}


def scope_options(
    partition: str, dataset: str, network: str, method: str, chosen: Chosen, **options: Any
) -> RunOptions:
    """Return the options of a cell of FederatedScope-GNN."""
    settings: dict[str, Any] = {"silos": 5, "partition": partition, "rounds": 400, "hidden": 64, "scored_on": "graph",
                                "patience": 100, **chosen}  # fmt: skip
    settings |= {} if network == "gcn" else {"network": network}
    settings |= {"local": {"server_optimiser": "none"}, "fedopt": {"server_optimiser": "sgd"}}.get(method, {})
    if method == "global":
        settings |= {"silos": 1, "partition": "random"}
    name = "silo-fedprox" if method == "fedprox" else "silo-fedavg-gcn"
    repeats = {"repeats": 5} if dataset == "pubmed" else {}  # as the source; a run takes minutes
    return cell_options(name, dataset, split=SPLITS[dataset], settings=settings, **repeats | options)


def chosen_settings(partition: str, dataset: str, network: str, method: str) -> Chosen:
    """Return what the search found for a cell; without one FedAvg's settings, or the published configuration."""
    before = FIRST if method == "fedavg" else chosen_settings(partition, dataset, network, "fedavg")
    rows = searched_rows(partition, dataset, network, method)
    if not rows:
        return {**before, **(GRIDS[method][0] if method in ("fedopt", "fedprox") else {})}
    best = max(rows, key=lambda row: float(row["validation"]))
    return {**before, **{name: best[name] for name in COLUMNS if best[name]}}


def searched_rows(*place: str) -> list[Mapping[str, str]]:
    """Return the rows of the search of a cell, whose partition, data set, network and model are given."""
    return [row for row in searched() if _place(row) == place]


def _place(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in PLACE)


@cache
def searched() -> tuple[Mapping[str, str], ...]:
    """Return the rows of the search so far."""
    return tuple(read_rows(SEARCH))


def search(home: Path, partition: str, dataset: str, network: str, method: str) -> None:
    """Run the grid of a cell, and replace its rows in the table of the search; runs that have a result stay."""
    before = chosen_settings(partition, dataset, network, "fedavg") if method in ("fedopt", "fedprox") else {}
    grid = [
        TableCell(
            "search", dict(point),
            scope_options(partition, dataset, network, method, {**before, **point}, repeats=SEARCHED, seed=SEARCH_SEED),
        )
        for point in GRIDS[method]
    ]  # fmt: skip
    run_cells(grid, home / "search", workers=1)
    place = (partition, dataset, network, method)
    rows: list[dict[str, Any]] = [row for row in map(dict, searched()) if _place(row) != place]
    for cell, record in zip(grid, records_of(grid, home), strict=True):
        if record is not None:
            figures = {"validation": f"{100 * record['accuracy']['val']:.2f}", "seeds": SEARCHED}
            rows.append(
                {**dict(zip(PLACE, place, strict=True)), **cell.keys, **figures, "config_hash": record["config_hash"]}
            )
    write_rows(SEARCH, rows, [*PLACE, *COLUMNS, "validation", "seeds", "config_hash"])
    searched.cache_clear()


def main() -> None:
    """Search the settings of FederatedScope-GNN's cells of a data set and a partition."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=SPLITS)
    parser.add_argument("partition", choices=("random", "louvain"))
    parser.add_argument("--network", choices=("gcn", "sage", "gat"), default="gcn")
    parser.add_argument("models", nargs="*", default=["fedavg", "fedopt", "fedprox", "local", "global"])
    parser.add_argument("--home", type=Path, default=Path("runs") / "tables")
    arguments = parser.parse_args()
    for method in arguments.models:
        search(arguments.home.absolute(), arguments.partition, arguments.dataset, arguments.network, method)


if __name__ == "__main__":
    main()

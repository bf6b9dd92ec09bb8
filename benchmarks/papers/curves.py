"""The papers' figures as cells: a point of a curve is a few runs, on Cora and CiteSeer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.table_cell import TableCell, cell_options

RUNS = 3
INF = float("inf")


@dataclass(frozen=True)
class Figure:
    """A figure of a paper.

    Args:
        name: Name of its files.
        title: Subject, with its place in the paper.
        x: Name of the horizontal axis.
        log: Whether that axis is logarithmic (base 2).
        what: Column of a result's ``reconstruction``, or ``test`` for test accuracy in %.
    """

    name: str
    title: str
    x: str
    log: bool = False
    what: str = "test"


FIGURES = (
    Figure("hogs-4", "HoGS Fig. 4: private features, GCN", "epsilon"),
    Figure("hogs-5", "HoGS Fig. 5: private features, GraphSAGE", "epsilon"),
    Figure("hogs-6", "HoGS Fig. 6: private features, GAT", "epsilon"),
    Figure("hogs-7", "HoGS Fig. 7: parts replaced, epsilon 4 (and 8), GCN", "epsilon"),
    Figure("hogs-8", "HoGS Fig. 8: the features' share of the budget, GCN", "delta"),
    Figure("hogs-9", "HoGS Fig. 9: the threshold of an edge, GCN", "tau"),
    Figure("lpgnn-6", "LPGNN Fig. 6: hops of KProp, version text, epsilon 1", "K", log=True),
    Figure("lpgnn-7a", "LPGNN Fig. 7, top: label rate, K = 4", "label rate"),
    Figure("lpgnn-7b", "LPGNN Fig. 7, bottom: label rate, epsilon 1", "label rate"),
    Figure("solitude-4", "Solitude Fig. 4: budgets, GraphSAGE", "eps_a"),
    Figure("solitude-5", "Solitude Fig. 5: label rate, eps_x 1, GraphSAGE", "label rate"),
    Figure("rgnn-2", "RGNN Fig. 2: the network, eps_x 1", "eps_y", log=True),
    Figure("rgnn-3a", "RGNN Fig. 3: weight of the proportions, eps_x 1, eps_y 0.5", "alpha", log=True),
    Figure("rgnn-3b", "RGNN Fig. 3: clusters, eps_x 1, eps_y 0.5", "C", log=True),
    Figure("rgnn-4a", "RGNN Fig. 4: hops of the features, eps_y 1", "K_x"),
    Figure("rgnn-4b", "RGNN Fig. 4: hops of the labels, eps_x 1", "K_y"),
)
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)  # training nodes, of all


def points() -> Iterator[TableCell]:
    """Yield every point; ``keys`` say figure, data set, curve and place."""
    for order, dataset in enumerate(("cora", "citeseer")):
        for place in (_hogs, _lpgnn, _solitude, _rgnn):
            for figure, curve, x, options, late in place(dataset):
                keys = {"data set": dataset, "curve": curve, "x": f"{x:g}"}
                yield TableCell(figure, keys, options, level=1 + 2 * order + late)


Point = tuple[str, str, float, Any, int]


def _run(method: str, dataset: str, settings: Mapping[str, Any] | None = None, **given: Any) -> Any:
    return cell_options(method, dataset, repeats=RUNS, settings=dict(settings or {}), **given)


def _hogs(dataset: str) -> Iterator[Point]:
    methods: dict[str, dict[str, Any]] = {
        "hogs": {}, "fp-blink": {"tuned": True}, "fp-ldpgen": {"tuned": True}, "fp-solitude": {"tuned": True},
        "lp-and": {},
    }  # fmt: skip
    for number, gnn in ((4, "gcn"), (5, "sage"), (6, "gat")):
        for epsilon in (3, 4, 5, 6, 7, 8):
            for method, given in methods.items():
                late = (gnn != "gcn") + (epsilon in (4, 6, 7))
                if method == "fp-solitude" and epsilon < 5:
                    late = 8  # half a million reported ones and more, each with a weight to learn: minutes a run
                run = _run(method, dataset, epsilon=float(epsilon), gnn=gnn, **given)
                yield f"hogs-{number}", method, epsilon, run, late
    parts: dict[str, dict[str, Any]] = {
        "hogs": {},
        "Blink's links": {"topology": "blink"},
        "KProp, K = 1": {"features": "kprop", "l": 1},
        "KProp, K = 2": {"features": "kprop", "l": 2},
    }
    for epsilon in (4, 8):
        for curve, settings in parts.items():
            yield "hogs-7", curve, epsilon, _run("hogs", dataset, settings, epsilon=float(epsilon), gnn="gcn"), 0
    for epsilon in (4, 6, 8):
        curve = f"epsilon {epsilon}"
        for share in (0.1, 0.3, 0.5, 0.7, 0.9):
            run = _run("hogs", dataset, epsilon=float(epsilon), feature_share=share)
            yield "hogs-8", curve, share, run, int(epsilon == 6)
        for tau in (0.5, 0.6, 0.7, 0.8, 0.9):
            yield "hogs-9", curve, tau, _run("hogs", dataset, {"tau": tau}, epsilon=float(epsilon)), int(epsilon == 6)


def _lpgnn(dataset: str) -> Iterator[Point]:
    common = {"gnn": "gcn", "tuned": True, "repeats_vary": "noise"}
    text = {"version": "text"}
    for hops in (1, 2, 4, 8, 16, 32):
        curves: dict[str, tuple[float, dict[str, Any]]] = {
            "epsilon 1": (1.0, {}), "epsilon 1, self-loops": (1.0, {"self_loops": "true"}), "no noise": (INF, {}),
        }  # fmt: skip
        for curve, (eps_x, settings) in curves.items():
            run = _run("lpgnn", dataset, {**text, "k_x": hops, **settings}, eps_features=eps_x, **common)
            yield "lpgnn-6", curve, hops, run, int(curve == "no noise")
    for rate in RATES:
        for epsilon in (0.1, 0.5, 1.0):
            run = _run("lpgnn", dataset, {**text, "k_x": 4}, eps_features=epsilon, label_rate=rate, **common)
            yield "lpgnn-7a", f"epsilon {epsilon:g}", rate, run, int(epsilon == 0.5)
        for hops in (1, 2, 4):
            run = _run("lpgnn", dataset, {**text, "k_x": hops}, eps_features=1.0, label_rate=rate, **common)
            yield "lpgnn-7b", f"K = {hops}", rate, run, 0 if hops != 4 else 1


def _solitude(dataset: str) -> Iterator[Point]:
    name = "citeseer-lcc" if dataset == "citeseer" else dataset
    for eps_x in (0.5, 1.0, 2.0):
        for eps_a in (7.0, 7.5, 8.0):
            settings = {"smoothing": "symmetric", "l_x": 2, "l_y": 0, "gnn_dropout": 0.75}
            run = _run("solitude", name, settings, eps_adjacency=eps_a, eps_features=eps_x)
            yield "solitude-4", f"eps_x {eps_x:g}", eps_a, run, int(eps_a == 7.5)
    for rate in RATES:
        for eps_a in (7.0, 8.0):
            run = _run("solitude", name, tuned=True, eps_adjacency=eps_a, eps_features=1.0, label_rate=rate)
            yield "solitude-5", f"eps_a {eps_a:g}", rate, run, int(rate in (0.2, 0.4))


def _rgnn(dataset: str) -> Iterator[Point]:
    def run(eps_x: float, eps_y: float, settings: Mapping[str, Any] | None = None, gnn: str = "sage") -> Any:
        stored = {"group": {"cora": 25, "citeseer": 70}[dataset], "loss": "softmax", "Kx": 16, "Ky": 16,
                  **(settings or {})}  # fmt: skip
        return _run("rgnn", dataset, stored, eps_features=eps_x, eps_labels=eps_y, gnn=gnn)

    for gnn in ("sage", "gcn", "gat"):
        for eps_y in (0.5, 1.0, 2.0, 3.0):
            yield "rgnn-2", gnn, eps_y, run(1.0, eps_y, gnn=gnn), int(gnn == "gat")
    for alpha in (0.01, 0.1, 1.0, 10.0, 20.0):
        yield "rgnn-3a", "C = 16", alpha, run(1.0, 0.5, {"alpha": alpha}), 0
    for clusters in (16, 32, 64, 128, 256):
        yield "rgnn-3b", "alpha = 0.1", clusters, run(1.0, 0.5, {"C": clusters}), 0
    for hops in (0, 2, 4, 8, 16):
        for eps_x in (1.0, 0.1):
            yield "rgnn-4a", f"eps_x {eps_x:g}", hops, run(eps_x, 1.0, {"Kx": hops}), int(eps_x == 0.1)
        for eps_y in (3.0, 1.0, 0.5):
            yield "rgnn-4b", f"eps_y {eps_y:g}", hops, run(1.0, eps_y, {"Ky": hops}), int(eps_y == 3)

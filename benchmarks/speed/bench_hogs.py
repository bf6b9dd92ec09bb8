"""HoGS's graph synthesis against the dense textbook version, and at 22,470 nodes.

    python -m benchmarks.speed.bench_hogs [--runs 3]          (LDPSIM_DATA names the data sets)

Cora (epsilon 8, feature share .1): seconds, and peak memory above the loaded data, each in a process of its own, as
ratios to ``tests/curator/dense_hogs.py``. Facebook: seconds and peak memory of the synthesis alone. Reports are drawn
with numpy: devices are not measured here.
"""

from __future__ import annotations

import argparse
import importlib.util
from functools import partial
from typing import Any

import numpy as np

from benchmarks import ROOT
from benchmarks.speed.process import MIB, beside, cost_of

EPSILON, SHARE, TAU, STEPS = 8.0, 0.1, 0.9, 1


def load(dataset: str) -> tuple[Any, Any]:
    """Return (reports, public knowledge) of one collection."""
    from benchmarks.speed.drawn_reports import drawn_reports
    from ldpsim.curator.methods.base import Budget
    from ldpsim.curator.methods.local.hogs import HoGS
    from ldpsim.devices import datasets
    from ldpsim.devices.data.splits import make_split
    from ldpsim.devices.facts import PublicKnowledge

    people = datasets.load(dataset)
    split = make_split("random", people, 0)
    questions = HoGS().questions(people.facts, split, Budget(epsilon=EPSILON, feature_share=SHARE), "bench")
    return drawn_reports(people, questions, seed=0), PublicKnowledge(people.facts, split, people.labels)


def synthesise_ours(given: tuple[Any, Any]) -> int:
    """Run Algorithms 2 and 3 as the package does; return the number of edges."""
    from ldpsim.curator.methods.local.hogs import HoGS

    graph = HoGS(tau=TAU, l=STEPS).reconstruct(*given)
    return graph.edge_index.shape[1] // 2


def synthesise_dense(given: tuple[Any, Any]) -> int:
    """Run Algorithms 2 and 3 of the textbook version, features standardised as ours are."""
    spec = importlib.util.spec_from_file_location("dense_hogs", ROOT / "tests" / "curator" / "dense_hogs.py")
    assert spec is not None and spec.loader is not None
    dense = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dense)
    reports, _ = given
    features = np.unpackbits(reports.features, axis=1, count=reports.facts.d).astype(np.float32)
    ratio = float(np.exp(-(1 - SHARE) * EPSILON))
    probability = dense.link_probability(reports.adjacency.toarray(), reports.reported("adjacency"), features, ratio)
    kept = dense.edges(probability, TAU)
    rebuilt = dense.reconstruct(probability, features, STEPS)
    rebuilt = (rebuilt - rebuilt.mean(axis=0)) / np.maximum(rebuilt.std(axis=0), 1e-12)
    return int(np.triu(kept).sum())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="the best of so many runs counts")
    given = parser.parse_args()
    print(f"{beside()}, one thread")
    best = {}
    for name, dataset, work in (("dense", "cora", synthesise_dense), ("ours", "cora", synthesise_ours),
                                ("large", "facebook", synthesise_ours)):  # fmt: skip
        best[name] = min(cost_of(partial(load, dataset), work) for _ in range(given.runs))
        cost = best[name]
        print(
            f"{dataset} {name:6} {cost.wall:7.3f} s  {cost.above / MIB:7.1f} MiB extra  {cost.result} edges", flush=True
        )
    ours, dense, large = best["ours"], best["dense"], best["large"]
    same = "the same number of edges" if ours.result == dense.result else "OTHER EDGES"
    print(f"Cora ours / dense: time {ours.wall / dense.wall:.3f} (aim 1/3), extra memory "
          f"{ours.above / dense.above:.3f} (aim 1/5), {same}")  # fmt: skip
    print(f"Facebook ours {large.wall:.2f} s (aim 5), peak {large.peak / MIB:.0f} MiB")


if __name__ == "__main__":
    main()

"""HoGS's graph synthesis against the dense textbook version, and at 22,470 nodes.

    python -m benchmarks.speed.bench_hogs [--data-dir DIR]

Cora (epsilon 8, feature share .1): seconds, and peak memory above the loaded data, each in a
process of its own, as ratios to ``tests/curator/dense_hogs.py``. Facebook: seconds and
peak memory of the synthesis alone. Reports are drawn with numpy: devices are not measured here.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import pickle
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks import ROOT

EPSILON, SHARE, TAU, STEPS = 8.0, 0.1, 0.9, 1
Loaded = tuple[csr_array, np.ndarray, np.ndarray]


def load_cora(folder: Path) -> Loaded:
    """Read Cora's public Planetoid pickles: features, edges (2, m), labels."""
    raw = folder / "Cora" / "raw"

    def part(name: str) -> Any:
        return pickle.loads((raw / f"ind.cora.{name}").read_bytes(), encoding="latin1")

    order = np.loadtxt(raw / "ind.cora.test.index", dtype=np.int64)
    known = part("allx").toarray()
    features = np.zeros((len(known) + len(order), known.shape[1]), np.float32)
    features[: len(known)] = known
    features[order] = part("tx").toarray()
    onehot = np.zeros((len(features), part("ally").shape[1]))
    onehot[: len(known)] = part("ally")
    onehot[order] = part("ty")
    pairs = np.array([(node, other) for node, others in part("graph").items() for other in others]).T
    return csr_array(features), _undirected(pairs, len(features)), onehot.argmax(axis=1)


def load_facebook(folder: Path) -> Loaded:
    """Read ``facebook.npz``: features, edges (2, m), labels."""
    with np.load(folder / "facebook.npz") as file:
        n, d = len(file["labels"]), int(file["num_features"])
        ones = np.ones(len(file["indices"]), np.float32)
        features = csr_array((ones, file["indices"], file["indptr"]), shape=(n, d))
        return features, _undirected(file["edge_index"].astype(np.int64), n), file["labels"]


def _undirected(pairs: np.ndarray, n: int) -> np.ndarray:
    pairs = pairs[:, pairs[0] != pairs[1]]
    keys = np.unique(pairs.min(axis=0) * n + pairs.max(axis=0))
    return np.stack([keys // n, keys % n])


def noisy_adjacency(n: int, edges: np.ndarray, epsilon: float, rng: np.random.Generator) -> csr_array:
    """Randomised response on every row, by skipping from flip to flip."""
    p = 1 / (np.exp(epsilon) + 1)
    flips = np.unique(rng.integers(0, n * n, rng.binomial(n * n, p)))
    true = np.concatenate([edges[0] * n + edges[1], edges[1] * n + edges[0]])
    rows, columns = np.divmod(np.setxor1d(flips, true, assume_unique=True), n)
    kept = rows != columns
    return csr_array((np.ones(int(kept.sum()), np.bool_), (rows[kept], columns[kept])), shape=(n, n))


def noisy_features(features: csr_array, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """uint8 (n, ceil(d / 8)): the 1-bit mechanism on binary features, packed."""
    n, d = features.shape
    q = np.float32(1 / (np.exp(epsilon) + 1))
    packed = np.empty((n, (d + 7) // 8), np.uint8)
    for start in range(0, n, 1024):
        rows = features[start : start + 1024].toarray() > 0
        packed[start : start + 1024] = np.packbits((rng.random(rows.shape, dtype=np.float32) < q) ^ rows, axis=1)
    return packed


def draw(loaded: Loaded) -> tuple[Any, Any]:
    """Return (reports, public knowledge) of one collection."""
    from curator.reports.reports import Reports
    from devices.facts import PublicFacts, PublicKnowledge, Split
    from devices.mechanisms import OneBit, RandomizedResponse
    from devices.query import Ask

    features, edges, labels = loaded
    (n, d), rng = features.shape, np.random.default_rng(0)
    eps_f, eps_a = SHARE * EPSILON, (1 - SHARE) * EPSILON
    facts = PublicFacts(n, d, int(labels.max()) + 1)
    asks = {
        "adjacency": Ask("adjacency", (RandomizedResponse.from_epsilon(eps_a, n=n),)),
        "features": Ask("features", (OneBit.from_epsilon(eps_f, d=d),)),
    }
    everybody = np.ones(n, np.bool_)
    reports = Reports(
        facts, asks, dict.fromkeys(asks, everybody), everybody,
        noisy_adjacency(n, edges, eps_a, rng), noisy_features(features, eps_f, rng),
    )  # fmt: skip
    third = np.array_split(np.arange(n), 3)
    return reports, PublicKnowledge(facts, Split(*third), labels)


def synthesise_ours(reports: Any, public: Any) -> int:
    """Run Algorithms 2 and 3 as the package does; return the number of edges."""
    from curator.methods.local.hogs import HoGS

    graph = HoGS(tau=TAU, l=STEPS).reconstruct(reports, public)
    return graph.edge_index.shape[1] // 2


def synthesise_dense(reports: Any, public: Any) -> int:
    """Run Algorithms 2 and 3 of the textbook version, features standardised as ours are."""
    spec = importlib.util.spec_from_file_location("dense_hogs", ROOT / "tests" / "curator" / "dense_hogs.py")
    assert spec is not None and spec.loader is not None
    dense = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dense)
    features = np.unpackbits(reports.features, axis=1, count=reports.facts.d).astype(np.float32)
    ratio = float(np.exp(-(1 - SHARE) * EPSILON))
    probability = dense.link_probability(reports.adjacency.toarray(), reports.reported("adjacency"), features, ratio)
    kept = dense.edges(probability, TAU)
    rebuilt = dense.reconstruct(probability, features, STEPS)
    rebuilt = (rebuilt - rebuilt.mean(axis=0)) / np.maximum(rebuilt.std(axis=0), 1e-12)
    return int(np.triu(kept).sum())


def _resident(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {name} in /proc/self/status")


def _measured(load: Callable[[Path], Loaded], folder: Path, work: Callable[[Any, Any], int], queue: Any) -> None:
    import curator.methods.local.hogs  # noqa: F401 - imports are no part of the measurement

    reports, public = draw(load(folder))
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    started = time.perf_counter()
    edges = work(reports, public)
    seconds = time.perf_counter() - started
    queue.put((seconds, _resident("VmHWM") - before, _resident("VmHWM"), edges))


def measure(load: Callable[[Path], Loaded], folder: Path, work: Callable[[Any, Any], int]) -> tuple[float, ...]:
    """Return (seconds, extra MB, peak MB, edges) of one run in a fresh process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_measured, args=(load, folder, work, queue))
    process.start()
    result: tuple[float, ...] = queue.get()
    process.join()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("LDPSIM_DATA", ROOT.parent / "shared" / "datasets")
    parser.add_argument("--data-dir", type=Path, default=Path(default))
    parser.add_argument("--runs", type=int, default=3, help="the best of so many runs counts")
    args = parser.parse_args()
    print(
        f"{os.cpu_count()} cores ({platform.machine()}), OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}"
    )

    rows = {}
    for name, work in (("dense", synthesise_dense), ("ours", synthesise_ours)):
        rows[name] = min(measure(load_cora, args.data_dir, work) for _ in range(args.runs))
        print(f"Cora {name:6} {rows[name][0]:7.3f} s  {rows[name][1]:7.1f} MB extra  {rows[name][3]} edges")
    time_ratio, memory_ratio = (rows["ours"][k] / rows["dense"][k] for k in (0, 1))
    same = "the same number of edges" if rows["ours"][3] == rows["dense"][3] else "OTHER EDGES"
    print(f"Cora ours / dense: time {time_ratio:.3f} (aim 1/3), extra memory {memory_ratio:.3f} (aim 1/5), {same}")
    seconds, extra, peak, edges = min(measure(load_facebook, args.data_dir, synthesise_ours) for _ in range(args.runs))
    print(f"Facebook ours {seconds:.2f} s (aim 5)  {extra:.0f} MB extra, peak {peak:.0f} MB  {edges} edges")


if __name__ == "__main__":
    main()

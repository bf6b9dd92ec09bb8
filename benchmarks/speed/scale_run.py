"""One run through the product, with the CPU seconds and memory of its phases, in a process of its own.

    python -m benchmarks.speed.scale_run --method lpgnn --people 30000 [--graph arxiv-like]

It prints one line of JSON. Enrolment, evaluation and the losses of the ledgers are phases of their own, beside those
that a run tells.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.speed.phases import Phases
from ldpsim.devices.datasets.generated import arxiv_like
from ldpsim.devices.datasets.npz_file import write_npz_file
from ldpsim.strategies import RunOptions

GRAPHS = ("generated", "arxiv-like")
BUDGETS: dict[str, dict[str, Any]] = {
    "hogs": {"eps_adjacency": 8.0}, "sbp": {"eps_adjacency": 8.0}, "vote": {"epsilon": 4.0, "volunteers": 0.05}
}  # fmt: skip
UNTRAINED = ("sbp", "vote")  # methods without epochs
# Work inside a phase that is measured apart: its phase, the function, the phase afterwards.
_APART = (
    ("enrol", "ldpsim.strategies.runs.repeat.enrol", "start"),
    ("evaluate", "ldpsim.strategies.results.evaluation.reconstruction", "finish"),
    ("ledgers", "ldpsim.strategies.runs.judging.read_ledgers", "finish"),
)


def measured(method: str, people: int, graph: str, epochs: int, *, nulls: bool) -> dict[str, Any]:
    """Make a run and return its phases, test accuracy and bytes."""
    # Here, because the processes that answer for the devices import this module, and need no torch.
    from ldpsim.curator.linear.threads import limit_threads
    from ldpsim.strategies import simulate

    limit_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="ldpsim-scale-", dir=Path.cwd()))
    try:
        dataset: str = graph
        if graph == "arxiv-like":
            dataset = str(folder / "arxiv-like.npz")
            write_npz_file(arxiv_like(people), Path(dataset))
        settings = {} if method in UNTRAINED else {"epochs": str(epochs)}
        options = RunOptions(
            method=method, dataset=dataset, clients=people, settings=settings, nulls=nulls, reference=nulls,
            state=folder / "state", out=folder / "runs", engine="local", **BUDGETS.get(method, {}),
        )  # fmt: skip
        phases = Phases("population")
        with ExitStack() as stack:
            for name, place, after in _APART:
                stack.enter_context(mock.patch(place, _apart(phases, name, place, after)))
            record = simulate(options, progress=phases, keep_graph=False).record
        costs = phases.done()
        sizes = [(file.name, file.stat().st_size) for file in (folder / "state").rglob("*") if file.is_file()]
        return {
            "method": method, "people": people, "graph": graph, "epochs": epochs, "nulls": nulls, "phases": costs,
            "cpu": sum(phase["cpu"] for phase in costs.values()),
            "wall": sum(phase["wall"] for phase in costs.values()),
            "peak": max(phase["peak"] for phase in costs.values()),
            "test": record["accuracy"]["test"],
            "uplink_bytes": record["communication"]["uplink_bytes"],
            "folder_bytes": sum(size for _, size in sizes),
            "ledger_bytes": sum(size for name, size in sizes if name.startswith("ledger")),
        }  # fmt: skip
    finally:
        shutil.rmtree(folder)


def _apart(phases: Phases, name: str, place: str, after: str) -> Callable[..., Any]:
    """Return the function at a place, which counts as a phase of its own."""
    module, _, function = place.rpartition(".")
    work = getattr(__import__(module, fromlist=[function]), function)

    def counted(*arguments: Any, **more: Any) -> Any:
        phases(name, None)
        try:
            return work(*arguments, **more)
        finally:
            phases(after, None)

    return counted


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", required=True)
    parser.add_argument("--people", type=int, required=True)
    parser.add_argument("--graph", choices=GRAPHS, default=GRAPHS[0])
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--nulls", action="store_true", help="with null models and references")
    print(json.dumps(measured(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()

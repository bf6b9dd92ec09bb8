"""The generated graphs beside real ones: ``docs/results/generated.md``.

python -m benchmarks.papers.generated_page      (LDPSIM_DATA names the data sets)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import RESULTS
from benchmarks.markdown import table
from benchmarks.papers import NOTES
from benchmarks.papers.graph_statistics import Statistics, statistics
from benchmarks.papers.index import write_index
from devices.data.population import Population
from devices.datasets import generated_kinds as kinds
from devices.datasets import load

REAL = ("cora", "citeseer", "facebook")
MADE = ("generated", "generated-v1")
KINDS = (
    kinds.clique_rich,
    kinds.dense,
    kinds.heterophilous,
    kinds.partnered,
    kinds.features_decide,
    kinds.edges_decide,
)


def graphs() -> Iterator[tuple[str, Callable[[], Population]]]:
    """Yield each graph's name, and a function that makes or reads it."""
    for name in (*MADE, *REAL):
        yield name, partial(load, name)
    for kind in KINDS:
        yield f"`{kind.__name__}`", kind


def line(name: str, found: Statistics) -> tuple[str, ...]:
    """Return a row of the table."""
    return (
        name, f"{found.people:,}", f"{found.edges:,}", f"{found.degree:.1f}", f"{100 * found.alone:.1f}",
        f"{found.clustering:.2f}", f"{found.homophily:.2f}", f"{found.auc:.2f}",
        f"{100 * found.largest:.0f} to {100 * found.smallest:.0f}", f"{100 * found.graph_alone:.1f}",
        f"{100 * found.features_alone:.1f}",
    )  # fmt: skip


def main() -> None:
    """Compute the statistics and write the page."""
    heads = ("graph", "people", "edges", "mean degree", "without a neighbour, %", "clustering", "homophily", "AUC",
             "classes, % of the people", "graph alone", "features alone")  # fmt: skip
    lines = [line(name, statistics(made())) for name, made in graphs()]
    (RESULTS / "generated.md").write_text((NOTES / "generated.md").read_text().format(table=table(heads, lines)))
    write_index()


if __name__ == "__main__":
    main()

"""The generated graphs beside real ones: ``docs/results/generated.md``.

python -m benchmarks.papers.generated_page      (LDPSIM_DATA names the data sets)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import RESULTS
from benchmarks.markdown import table
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
HEAD = """# The generated graphs beside real ones

`generated` has the traits that decide what a method can know, near to those of real graphs: friends whose features are
alike beyond their class (the AUC), triangles, unequal classes. `generated-v1` is the former generated graph, kept for
its stored results. Its friends are not more alike than two people of their class. Then come the kinds of
`devices/datasets/generated_kinds.py`, for tests and experiments. Made ones are of seed 0.

- "AUC": chance that an edge within a class has a higher cosine of features than a random pair of that class.
- "graph alone", "features alone": test accuracy in % of the null models on the *true* edges and features, random split.
- "clustering" is the mean local clustering coefficient, "homophily" the share of edges inside a class.
"""


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
    (RESULTS / "generated.md").write_text(f"{HEAD}\n{table(heads, lines)}\n")
    write_index()


if __name__ == "__main__":
    main()

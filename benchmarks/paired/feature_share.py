"""Fit the rule of ``--feature-share auto`` on generated graphs, and write its page.

    python -m benchmarks.paired.feature_share measure [--minutes 25]
    python -m benchmarks.paired.feature_share check --data-dir DIR
    python -m benchmarks.paired.feature_share_page --data-dir DIR

``measure`` runs sbp with fixed shares on graphs of several sizes, degrees, homophilies and feature strengths.
The last fits the two constants of :class:`curator.methods.feature_share.ShareRule` on these rows (:func:`fitted`).
Between measured shares the accuracy is interpolated. ``check`` measures Cora and CiteSeer, which the fit never sees.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

import numpy as np

from benchmarks import RESULTS
from benchmarks.paired.measure import Cell, Reader, measure
from benchmarks.paired.rows import Row, append, read_rows
from curator.methods.feature_share import ShareRule
from devices.data.population import Population
from devices.data.splits import make_split
from devices.datasets.generated import generate
from devices.datasets.generated_kinds import clique_rich, dense, edges_decide, features_decide, heterophilous
from devices.facts import PublicFacts
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import load_population

ROWS = RESULTS / "feature-share.csv"
FITTED, CHECKED = "fit", "check"  # the rows' setting
# (epsilon, share), the telling ones first
_FIRST = ((8.0, 0.0), (8.0, 0.3))
PAIRS = (
    *_FIRST,
    *((8.0, 0.5), (6.0, 0.0), (6.0, 0.3), (5.0, 0.0), (5.0, 0.1), (5.0, 0.3), (4.0, 0.0), (4.0, 0.1), (10.0, 0.0)),
    *((10.0, 0.5), (10.0, 0.3), (3.0, 0.0), (3.0, 0.1), (6.0, 0.1), (8.0, 0.2), (6.0, 0.2), (5.0, 0.2), (8.0, 0.1)),
    *((10.0, 0.2), (6.0, 0.5), (5.0, 0.03), (3.0, 0.03), (4.0, 0.03), (6.0, 0.03), (8.0, 0.03), (10.0, 0.1)),
    *((2.0, 0.0), (2.0, 0.03), (2.0, 0.1), (3.0, 0.3), (4.0, 0.3)),
)
# Kind -> seed, its sizes (all pairs are measured on the first one, the first pairs on the others), and the maker.
KINDS: Mapping[str, tuple[int, tuple[int, ...], Callable[..., Population]]] = {
    "default": (100, (500, 1000, 1200, 2000), generate),
    "plain words": (101, (500, 1500, 2500), partial(generate, d=1400, classes=7, mean_degree=4.0, homophily=0.8,
                                               class_words=0.35, topic_words=0.4)),
    "many columns": (102, (500, 1200), partial(generate, d=2400, mean_degree=2.8, homophily=0.74, class_words=0.3,
                                           topic_words=0.4)),
    "few columns": (103, (500, 1200, 2400, 3000), partial(generate, d=100, classes=4, mean_degree=8.0, homophily=0.7,
                                                     class_words=0.3, topic_words=0.3)),
    "dense": (104, (500, 800, 1200), dense),
    "cliques": (105, (500, 1000, 1200), clique_rich),
    "features decide": (106, (500, 1200), features_decide),
    "edges decide": (107, (500, 1000), edges_decide),
    "heterophilous": (108, (500, 1200), partial(heterophilous, class_words=0.3, topic_words=0.3)),
}  # fmt: skip
_WEIGHT = 2.0  # of a loss against share 0, beside the regret
_LINKS_LOSE = 0.5  # points
REAL, REAL_SEEDS = ("cora", "citeseer"), (100, 101)
_CHECKED_PAIRS = (
    *((8.0, 0.0), (8.0, 0.3), (5.0, 0.0), (5.0, 0.1), (6.0, 0.0), (6.0, 0.3), (8.0, 0.5), (3.0, 0.0), (3.0, 0.1)),
)


@dataclass(frozen=True, eq=False)
class Scored:
    """A graph to measure.

    Args:
        name: Name in the rows.
        seed: Derives split, noise and training; of a generated graph also the people.
        people: Its people.
        setting: :data:`FITTED` or :data:`CHECKED`.
        pairs: The budgets and shares.
    """

    name: str
    seed: int
    people: Population
    setting: str
    pairs: tuple[tuple[float, float], ...] = PAIRS


@dataclass(frozen=True)
class ShareCurve:
    """Accuracy of one graph at one budget by feature share.

    Args:
        name: Graph.
        facts: Its public facts.
        labels: Number of training labels.
        epsilon: The budget.
        shares, tests: The measured shares, rising, and their test accuracy in percent.
    """

    name: str
    facts: PublicFacts
    labels: int
    epsilon: float
    shares: tuple[float, ...]
    tests: tuple[float, ...]

    def at(self, share: float) -> float:
        """Return the accuracy at a share, interpolated; beyond the last share it is that share's."""
        return float(np.interp(share, self.shares, self.tests))

    def chosen(self, rule: ShareRule) -> float:
        """Return the share of a rule."""
        return rule.share(self.facts, self.labels, self.epsilon)

    def gain(self, rule: ShareRule) -> float:
        """Return the points that the rule's share is above share 0."""
        return self.at(self.chosen(rule)) - self.at(0.0)

    def regret(self, rule: ShareRule) -> float:
        """Return the points that the best measured share is above the rule's."""
        return max(self.tests) - self.at(self.chosen(rule))


def cells(graph: Scored) -> Iterator[Cell]:
    """Yield sbp at each budget with each share; a share is a question of its own."""
    for epsilon, share in graph.pairs:
        options = RunOptions(method="sbp", epsilon=epsilon, feature_share=share, out=None, device="cpu", engine="local",
                             reference=False, nulls=False)  # fmt: skip
        yield Cell(graph.setting, f"{epsilon:g}", (Reader(f"share {share:g}", options),), dataset=graph.name)


def measured(graphs: Iterable[Scored], file: Path, until: float) -> Iterator[Row]:
    """Measure what is missing, append each row to the file and yield it; no cell starts after ``until``.

    All graphs have their first cell, then their second one, and so on: what there is no time for is missing everywhere.
    """
    done = {row.key for row in read_rows(file)}
    several = [[(graph, cell) for cell in cells(graph)] for graph in graphs]
    for together in zip_longest(*several):
        for graph, cell in filter(None, together):
            wanted = cell.missing(done, graph.seed)
            if wanted is not None and time.monotonic() < until:
                for row in measure(wanted, graph.seed, graph.people):
                    append(file, row)
                    yield row


def made() -> Iterator[Scored]:
    """Yield the generated graphs; their names have the number of people."""
    for name, (seed, sizes, make) in KINDS.items():
        for n in sizes:
            yield Scored(f"{name}, {n}", seed, make(n, seed=seed), FITTED, PAIRS if n == sizes[0] else _FIRST)


def real(data_dir: Path | None) -> Iterator[Scored]:
    """Yield the real graphs of the check."""
    for name in REAL:
        people = load_population(RunOptions(dataset=name, data_dir=data_dir))
        yield from (Scored(name, seed, people, CHECKED, _CHECKED_PAIRS) for seed in REAL_SEEDS)


def curves(rows: Iterable[Row], graphs: Iterable[Scored]) -> list[ShareCurve]:
    """Return the curves of these graphs; the seeds of one graph are averaged."""
    found: dict[tuple[str, float], dict[float, list[float]]] = {}
    known: dict[str, tuple[PublicFacts, int]] = {}
    rows = list(rows)
    for graph in graphs:
        known[graph.name] = graph.people.facts, len(make_split("random", graph.people, graph.seed).train)
        for row in rows:
            if (row.dataset, row.seed, row.setting) == (graph.name, graph.seed, graph.setting):
                tests = found.setdefault((graph.name, float(row.budget)), {})
                tests.setdefault(float(row.method.removeprefix("share ")), []).append(row.test)
    return [
        ShareCurve(name, *known[name], epsilon, tuple(sorted(tests)),
                   tuple(float(np.mean(tests[share])) for share in sorted(tests)))
        for (name, epsilon), tests in sorted(found.items()) if 0.0 in tests
    ]  # fmt: skip


def links_loss(several: Iterable[ShareCurve], margin: float) -> float:
    """Return how many points share 0 loses where its budget is what the rule leaves to links; the mean over graphs.

    The loss is against the largest measured budget. Graphs with fewer than four budgets are left out.
    """
    graphs: dict[str, list[ShareCurve]] = {}
    for curve in several:
        graphs.setdefault(curve.name, []).append(curve)
    losses = []
    for found in graphs.values():
        known = sorted((curve.epsilon, curve.at(0.0)) for curve in found)
        if len(known) >= 4:
            budgets, tests = zip(*known, strict=True)
            of_links = float(np.interp((np.log(found[0].facts.n) + margin) / 2, budgets, tests))
            losses.append(known[-1][1] - of_links)
    return float(np.mean(losses))


def fitted(several: Iterable[ShareCurve]) -> ShareRule:
    """Return the rule for these curves.

    The margin is the least one (in steps of .25) at which links lose no more than half a point. The evidence then has
    the least mean cost, and of equal ones the largest: the regret, and twice the points that the rule loses against
    share 0. A default that makes things worse weighs more than a gain that is missed.
    """
    several = list(several)
    margin = next(each for each in np.arange(-4, 12, 0.25).tolist() if links_loss(several, each) <= _LINKS_LOSE)
    rules = [ShareRule(margin, evidence) for evidence in range(300, 0, -5)]

    def cost(rule: ShareRule) -> float:
        costs = [
            curve.regret(rule) + _WEIGHT * max(0.0, -curve.gain(rule)) for curve in several if len(curve.shares) > 1
        ]
        return round(float(np.mean(costs)), 3)

    return min(rules, key=cost)


def main() -> None:
    """Measure or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "check"))
    parser.add_argument("--minutes", type=float, default=25.0, help="no cell starts after this time")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--file", type=Path, default=ROWS)
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    graphs = made() if given.what == "measure" else real(given.data_dir)
    for row in measured(graphs, given.file, time.monotonic() + 60 * given.minutes):
        print(f"{row.dataset} {row.budget} {row.seed} {row.method} {row.test:.2f} {row.cpu:.1f} s", flush=True)


if __name__ == "__main__":
    main()

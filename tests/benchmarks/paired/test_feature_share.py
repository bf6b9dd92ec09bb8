from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.paired import feature_share
from benchmarks.paired.feature_share import (
    CHECKED,
    FITTED,
    Scored,
    ShareCurve,
    cells,
    curves,
    fitted,
    links_loss,
    measured,
)
from benchmarks.paired.feature_share_page import write_page
from benchmarks.paired.rows import Row, read_rows
from curator.methods.feature_share import ShareRule
from devices.data.population import Population
from devices.facts import PublicFacts
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import load_population

FACTS = PublicFacts(n=2000, d=1000, classes=5)


def curve(epsilon: float, *tests: float, facts: PublicFacts = FACTS) -> ShareCurve:
    return ShareCurve("a", facts, 1000, epsilon, (0.0, 0.1, 0.3, 0.5)[: len(tests)], tests)


@pytest.fixture(scope="module")
def people() -> Population:
    return load_population(RunOptions(clients=40, out=None))


def test_regret_is_what_the_best_share_is_above_the_rule() -> None:
    one = curve(8.0, 70, 72, 76, 60)
    rule = ShareRule(margin=3.6, evidence=1.0)  # (ln 2000 + 3.6) / 2 = 5.6: a share of .3
    assert one.chosen(rule) == 0.3 and one.regret(rule) == 0
    assert one.at(0.2) == 74 and one.at(0.9) == 60
    never = ShareRule(margin=50.0, evidence=1.0)
    assert never.share(FACTS, 1000, 8.0) == 0 and one.regret(never) == 6


def test_the_fit_finds_the_constants_that_made_the_curves() -> None:
    true = ShareRule(margin=2.0, evidence=40.0)
    made = []
    for n, d in ((500, 2000), (2000, 1000), (8000, 100)):
        facts = PublicFacts(n=n, d=d, classes=5)
        for epsilon in (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0):
            links = 80 - 5 * max(0.0, (math.log(n) + 2.0) / 2 - epsilon)
            best = true.share(facts, 1000, epsilon)
            gains = (0.0, *((10 if best else -10) for _ in range(3)))
            made.append(replace(curve(epsilon, *(links + gain for gain in gains), facts=facts), name=str(n)))
    found = fitted(made)
    assert found.margin == pytest.approx(2.0, abs=0.75)  # between budgets the accuracy is interpolated
    assert links_loss(made, found.margin) <= 0.5 < links_loss(made, found.margin - 0.25)


def test_graphs_are_measured_side_by_side_once_each(
    people: Population, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def measure(cell: Any, seed: int, population: Population) -> list[Row]:
        asked.append((cell.dataset, cell.budget))
        share = cell.readers[0].options.feature_share
        return [Row(cell.dataset, cell.setting, cell.budget, seed, cell.readers[0].name, "", 50 + 10 * share, 0, 1, 1,
                    "q", "r", "c")]  # fmt: skip

    monkeypatch.setattr(feature_share, "measure", measure)
    graphs = [Scored("a", 1, people, FITTED), Scored("b", 2, people, FITTED, ((8.0, 0.0), (8.0, 0.3)))]
    file = tmp_path / "rows.csv"
    assert len(list(measured(graphs, file, math.inf))) == len(asked) == sum(len(list(cells(graph))) for graph in graphs)
    assert asked[:4] == [("a", "8"), ("b", "8"), ("a", "8"), ("b", "8")]  # not one graph after the other
    assert not list(measured(graphs, file, math.inf)) and not list(measured(graphs, tmp_path / "other", -math.inf))
    found = curves(read_rows(file), graphs)
    assert [(each.name, each.epsilon) for each in found[:2]] == [("a", 2.0), ("a", 3.0)]
    last = next(each for each in found if each.epsilon == 10)
    assert last.shares == (0.0, 0.1, 0.2, 0.3, 0.5) and last.tests[-1] == 55 and last.labels == 20
    assert not curves(read_rows(file), [Scored("a", 1, people, CHECKED)])

    page = tmp_path / "page.md"
    write_page(page, ShareRule(margin=2.0, evidence=40.0), found, [])
    text = page.read_text()
    assert "(ln n + 2) / 2" in text and "| a | 10 | 50.0 | 0.5 | 55.0 |" in text and "Not measured." in text
    assert "The rule in force has other constants" in text

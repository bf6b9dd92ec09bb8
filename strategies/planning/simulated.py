"""Rows of a plan with their likely worth: miniatures of each setting, and a search for the smallest budget."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from curator.methods import find
from curator.methods.owner.owner import LabelAnswers
from strategies.engines.pool import available_cores, processes
from strategies.planning import miniature as small
from strategies.planning import worth as worths
from strategies.planning.on_paper import OnPaper
from strategies.planning.rows import PlanRow, row_of
from strategies.planning.wishes import Wishes
from strategies.progress import Progress
from strategies.setup.options import RunOptions

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0)  # that a search for a target tries
LAMBDAS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # and of an owner's methods
OPTIMISM = 0.1  # most by which a miniature was above the full size where it was tried (docs/commands/plan.md)


def with_worth(
    paper: OnPaper, rows: Mapping[str, PlanRow], wishes: Wishes, speed: float, people: int, repeats: int,
    workers: int | None, progress: Progress,
) -> tuple[dict[str, PlanRow], dict[str, worths.Worth], dict[str, Any]]:  # fmt: skip
    """Return the rows with their worth, that of asking nobody, and notes on the simulation."""
    started, runs = time.perf_counter(), 0
    kept = dict(rows)
    with tempfile.TemporaryDirectory(prefix="ldpsim-plan-") as folder, _pool(workers) as pool:
        graphs = small.make(paper.facts, Path(folder), people=people, repeats=repeats)
        size = small.size_of(paper.facts, people)
        progress("simulating", 0.0)
        nulls = list(pool.in_order(worths.nothing_trial, graphs))

        def tried(several: Mapping[str, PlanRow], number: int) -> dict[str, list[float] | str]:
            nonlocal runs
            trials = {name: worths.trials_of(_in_miniature(paper, row.options, size), graphs[:number])
                      for name, row in several.items()}  # fmt: skip
            runs += sum(map(len, trials.values()))
            return worths.run_all(pool, trials)

        if wishes.accuracy is not None and wishes.loss is None:
            kept = _cheapest(paper, kept, wishes, speed, lambda several: tried(several, min(2, repeats)), progress)
        able = {name: row for name, row in kept.items() if not any(why.startswith("no setting") for why in row.why)}
        found: dict[str, list[float] | str] = {}
        names = list(able)
        for start in range(0, len(names), 4):  # in parts, so that the bar moves
            found |= tried({name: able[name] for name in names[start : start + 4]}, repeats)
            progress("simulating", (start + 4) / max(len(names), 4) if start + 4 < len(names) else 1.0)
    values = {name: each for name, each in found.items() if not isinstance(each, str)}
    shown = worths.intervals({**values, **{f" {name}": [each[name] for each in nulls if name in each]
                                           for name in nulls[0]}})  # fmt: skip
    nothing = {name: shown[f" {name}"] for name in nulls[0]}
    for name in able:
        row, result = kept[name], found[name]
        if isinstance(result, str):
            kept[name] = row.but(f"its miniature failed: {result}")
            continue
        better = shown[name]
        if small.of_a_bit(paper.set_up(row.options)) is not None and size < paper.facts.n:
            better = replace(better, low=max(0.0, better.low - OPTIMISM))
        kept[name] = replace(row, worth=better, bar=_bar(paper, row.options, nothing))
    notes = {"people": size, "repeats": repeats, "runs": runs, "seconds": time.perf_counter() - started}
    return kept, nothing, notes


def _pool(workers: int | None) -> Any:
    return processes(workers or available_cores())


def _in_miniature(paper: OnPaper, options: RunOptions, size: int) -> RunOptions:
    """Return the options of a miniature; an owner asks as many queries as its public people allow."""
    setup = paper.set_up(options)
    kept = small.with_kept_noise(setup, paper.facts.n, size)
    if isinstance(setup.method, LabelAnswers):
        kept = replace(kept, settings={**kept.settings, "queries": str(min(setup.method.queries, int(0.25 * size)))})
    return kept


def _bar(paper: OnPaper, options: RunOptions, nothing: Mapping[str, worths.Worth]) -> tuple[str, float]:
    """Return the best null model that the method's public data allow, and its accuracy."""
    setup = paper.set_up(options)
    allowed = ["chance"]
    allowed += ["features alone"] if setup.budget.public_features else []
    allowed += ["graph alone"] if setup.method.knows_graph() else []
    best = max((name for name in allowed if name in nothing), key=lambda name: nothing[name].test)
    return best, nothing[best].test


def _cheapest(
    paper: OnPaper, rows: Mapping[str, PlanRow], wishes: Wishes, speed: float,
    tried: Callable[[Mapping[str, PlanRow]], dict[str, list[float] | str]], progress: Progress,
) -> dict[str, PlanRow]:  # fmt: skip
    """Return each method at the smallest budget whose miniature reaches the target, by bisection.

    A method that does not reach it with the largest budget keeps that one, with the reason.
    """
    assert wishes.accuracy is not None
    kept, best, reached = dict(rows), dict[str, PlanRow](), dict[str, float]()
    ladder = {name: LAMBDAS if issubclass(find(name), LabelAnswers) else EPSILONS for name in rows}
    span = {name: (0, len(steps) - 1) for name, steps in ladder.items()}
    first = True
    while span:
        several: dict[str, PlanRow] = {}
        for name, (low, high) in list(span.items()):
            middle = high if first else (low + high) // 2
            try:
                several[name] = row_of(paper, _at(rows[name].options, ladder[name][middle]), wishes.level, speed)
            except ValueError as error:
                kept[name] = rows[name].but(f"no setting: {' '.join(str(error).split())}")
                del span[name]
        for name, found in tried(several).items():
            low, high = span[name]
            middle = high if first else (low + high) // 2
            mean = 0.0 if isinstance(found, str) else sum(found) / len(found)
            reached[name] = mean
            if mean >= wishes.accuracy:
                best[name], high = several[name], middle - 1
            elif first:
                kept[name] = several[name]
                low = high + 1
            else:
                low = middle + 1
            if low > high:
                del span[name]
            else:
                span[name] = low, high
        first = False
        progress("searching", None)
    return {name: best.get(name, row) for name, row in kept.items()}


def _at(options: RunOptions, budget: float) -> RunOptions:
    if issubclass(find(options.method), LabelAnswers):
        return replace(options, settings={**options.settings, "lambda_": repr(budget)})
    return replace(options, epsilon=budget)

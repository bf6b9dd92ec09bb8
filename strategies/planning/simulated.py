"""Rows of a plan with their likely worth: a race of all settings, and a search where there is a target.

Data that are there are rehearsed on at their full size where that takes less than a minute by the estimate. Else the
runs are miniatures: made-up people with the facts of the data. Null models are measured on the data in both cases.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from strategies.engines.pool import processes
from strategies.estimate.asked import questions_on_paper
from strategies.estimate.fits import load_of
from strategies.planning import miniature as small
from strategies.planning import worth as worths
from strategies.planning.information import LEAST_GAIN, most_gained
from strategies.planning.on_paper import OnPaper
from strategies.planning.race import Race, Trialled
from strategies.planning.rows import PlanRow, plan_row
from strategies.planning.search import cheapest
from strategies.planning.wishes import Wishes, missed_on_paper
from strategies.planning.worth import Worth
from strategies.progress import Progress
from strategies.results import folder as run_folder
from strategies.setup.options import RunOptions

SECONDS = 120.0  # that worth is simulated for
GRAPHS = 2  # of each size but the largest, which has one
# Settings are run on larger graphs if they are so little below the null models on small ones, and so far above chance.
HOPE, ABOVE_CHANCE = 0.1, 0.04
LAST = 4  # settings that are run on the largest graph
REHEARSED = 60.0  # CPU seconds of all runs on data, by the estimate, above which miniatures are run
_SEARCHED = 6  # runs of a method that a search for a target takes
_SMALL, _LARGER = 0.4, 0.8  # parts of the time after which no further graph of these sizes is begun


def with_worth(
    paper: OnPaper, rows: Mapping[str, PlanRow], wishes: Wishes, speed: float, people: int, repeats: int,
    workers: int | None, seconds: float, progress: Progress, data: RunOptions | None = None,
) -> tuple[dict[str, PlanRow], dict[str, Worth], dict[str, Any]]:  # fmt: skip
    """Return the rows with their worth, that of asking nobody, and notes on the simulation.

    A row that misses a wish on paper is not simulated, nor one whose reports say next to nothing. One that does not
    fit this machine is, after all others. ``data`` are options whose people are there; None: all people are made up.
    """
    started, n = time.perf_counter(), paper.facts.n
    kept = {name: row if row.why else _told_enough(paper, row) for name, row in rows.items()}
    able = {name: row for name, row in kept.items() if not row.why and not missed_on_paper(row, wishes)}
    able = dict(sorted(able.items(), key=lambda item: item[1].figures["fits"] is False))
    with tempfile.TemporaryDirectory(prefix="ldpsim-plan-") as folder, processes(workers) as pool:
        rehearsed = data is not None and _takes(able, paper, speed, wishes, repeats) < REHEARSED
        sizes = (n,) if rehearsed else small.sizes_of(paper.facts, people)
        graphs: dict[int, Sequence[Path | None]] = {n: [None] * repeats} if rehearsed else {
            size: small.make(paper.facts, Path(folder), people=size, repeats=repeats if place < 2 else 1)
            for place, size in enumerate(sizes)}  # fmt: skip
        whole = data or small.make(paper.facts, Path(folder), people=min(n, small.NOBODY_ASKED), repeats=1)[0]
        progress("null models", None)
        rate = next(iter(rows.values())).options.label_rate
        small_ones = [path for path in graphs[sizes[0]] if path is not None]
        *few, nothing = pool.in_order(worths.nothing_trial, [(each, rate) for each in (*small_ones, whole)])
        few = few or [nothing]
        race = Race(
            pool, graphs, lambda options, size: options if rehearsed else _in_miniature(paper, options, size),
            seconds, progress,
        )  # fmt: skip

        def seen() -> dict[Trialled, Worth]:
            nulls: dict[Trialled, worths.TestScores] = {
                ("", place): {sizes[0]: [each[name].test for each in few if name in each]}
                for place, name in enumerate(few[0])
            }
            found = worths.intervals({**nulls, **race.scores}, n)
            return {key: worth for key, worth in found.items() if key[0]}

        keys: dict[str, Trialled] = {name: (name, 0.0) for name in able}
        if wishes.accuracy is not None and wishes.loss is None:
            found, keys = cheapest(
                race, able, wishes.accuracy, lambda options: plan_row(paper, options, wishes.level, speed), seen
            )
            kept |= found
        else:
            _race(paper, race, able, keys, few)
        if len(sizes) > 2:
            _last_ones(race, kept, keys, seen(), wishes, lambda row: _bar(paper, row.options, nothing)[1])
        final = seen()
    for name in able:
        row, key = kept[name], keys.get(name)
        if key in final:
            kept[name] = replace(row, worth=final[key], bar=_bar(paper, row.options, nothing))
        elif not row.why:
            failed = race.failed.get(key or (name, 0.0))
            kept[name] = row.with_reasons(
                f"miniature failed: {failed}" if failed else f"not simulated in {seconds:g} s"
            )
    data_name = None if data is None else run_folder.name_of_data(data.dataset)
    words = worths.MADE_UP if data is None else f"rehearsed on {data_name}" if rehearsed else \
        f"simulated on made-up people with the facts of {data_name}, whose runs would take more than a minute; " \
        "no coverage is promised"  # fmt: skip
    notes = {"words": words, "data": data_name, "rehearsed": rehearsed,
             "people": sizes[0], "sizes": list(sizes), "repeats": repeats, "runs": race.runs,
             "seconds": time.perf_counter() - started, "stopped": race.stopped}  # fmt: skip
    return kept, nothing, notes


def _takes(rows: Mapping[str, PlanRow], paper: OnPaper, speed: float, wishes: Wishes, repeats: int) -> float:
    """Return the CPU seconds of all runs at the full size, by the estimate; a run of which nothing is known has none.

    Where the estimate is too low, or missing, the time limit of the race ends it.
    """
    each = (load_of(replace(row.options, clients=paper.facts.n, nulls=False, reference=False), paper.facts, speed=speed)
            for row in rows.values())  # fmt: skip
    runs = repeats if wishes.accuracy is None else _SEARCHED * repeats
    return runs * sum(load.total for load in each if load is not None and not load.noisy)


def _race(
    paper: OnPaper, race: Race, rows: Mapping[str, PlanRow], keys: Mapping[str, Trialled], nulls: list[dict[str, Worth]]
) -> None:
    """Run all settings on small graphs, and on larger ones those that are near what needs nobody's answer, or above."""
    settings = {keys[name]: row.options for name, row in rows.items()}
    means = {name: sum(each[name].test for each in nulls if name in each) / len(nulls) for name in nulls[0]}
    bars = {keys[name]: [means[null] for null in _allowed(paper, row.options, means)] for name, row in rows.items()}

    def hopeful(key: Trialled) -> bool:
        mean = race.mean(key)
        return mean is None or mean > max(means["chance"] + ABOVE_CHANCE, *(bar - HOPE for bar in bars[key]))

    race.run(settings, race.sizes[0], graphs=1)
    race.run(settings, race.sizes[0], hopeful, share=_SMALL if len(race.sizes) > 1 else 1.0)
    if len(race.sizes) > 1:
        race.run({key: options for key, options in settings.items() if key in race.scores and hopeful(key)},
                 race.sizes[1], share=_LARGER)  # fmt: skip


def _last_ones(
    race: Race, rows: Mapping[str, PlanRow], keys: Mapping[str, Trialled], worths: Mapping[Trialled, Worth],
    wishes: Wishes, bar: Callable[[PlanRow], float],
) -> None:  # fmt: skip
    """Run the settings that are likely to be chosen on the largest graph."""
    known = {name: worths[key] for name, key in keys.items() if key in worths and not rows[name].why}
    good = [name for name, worth in known.items() if worth.test > bar(rows[name])]
    if wishes.accuracy is None:
        good.sort(key=lambda name: -known[name].test)
    else:
        good = sorted((name for name in good if known[name].test >= wishes.accuracy), key=lambda name: rows[name].loss)
    race.run({keys[name]: rows[name].options for name in good[:LAST]}, race.sizes[-1])


def _told_enough(paper: OnPaper, row: PlanRow) -> PlanRow:
    """Return the row, with a reason against it if its reports cannot raise the accuracy."""
    setup, facts = paper.set_up(row.options), paper.facts.public()
    asked = questions_on_paper(setup.method, facts, setup.budget, row.options.label_rate)
    gain = most_gained(asked, paper.people[0])
    if not asked or setup.method.trained_by == "owner" or gain >= LEAST_GAIN:
        return row
    return row.with_reasons(f"reports say next to nothing (worth less than {100 * LEAST_GAIN:g} point): not simulated")


def _in_miniature(paper: OnPaper, options: RunOptions, size: int) -> RunOptions:
    """Return the options of a miniature; an owner asks as many queries as its public people allow."""
    setup = paper.set_up(options)
    kept = small.with_kept_noise(setup, paper.facts.n, size)
    return replace(kept, settings={**kept.settings, **setup.method.fitting(int(0.25 * size))})


def _bar(paper: OnPaper, options: RunOptions, nothing: Mapping[str, Worth]) -> tuple[str, float]:
    """Return the best null model that the method's public data allow, and its accuracy."""
    best = max(_allowed(paper, options, nothing), key=lambda name: nothing[name].test)
    return best, nothing[best].test


def _allowed(paper: OnPaper, options: RunOptions, known: Mapping[str, Any]) -> list[str]:
    """Return the null models that need no more than what is public to the method: without public labels, chance."""
    setup = paper.set_up(options)
    allowed = ["chance"]
    if setup.method.trained_by == "curator":
        asked = questions_on_paper(setup.method, setup.population.facts, setup.budget)
        if not any(ask.attribute == "label" for question in asked for stage in question.query.plan for ask in stage):
            allowed += ["features alone"] if setup.budget.public_features else []
            allowed += ["graph alone"] if setup.method.knows_graph() else []
    return [name for name in allowed if name in known]

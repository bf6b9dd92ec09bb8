"""Page of ``sbp`` beside the papers' methods and the null models (``docs/results/sbp.md``), from measured rows.

    python -m benchmarks.paired.sbp_page [--home DIR]

Rows of ``docs/results/sbp.csv`` and of ``rows.csv`` below ``--home`` are joined; the table of the page is
written again.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.markdown import table
from benchmarks.paired.calibration import Calibration, read_bins
from benchmarks.paired.calibration import draw as draw_calibration
from benchmarks.paired.cells import LPGNN, PRIVATE, PUBLIC, RGNN, SOLITUDE
from benchmarks.paired.goals import GOALS, PROTOTYPE, SAFETY
from benchmarks.paired.picture import draw
from benchmarks.paired.rows import Row, read_rows, write_rows
from benchmarks.paired.run import ROWS
from benchmarks.paired.summary import NOT_RUN, Place, Results, difference, in_words
from strategies.results.averages import Interval, spread

NAME, TABLE, PICTURE = "sbp.md", "sbp.csv", "figures/sbp.png"
BINS, CALIBRATION_PICTURE = "sbp-calibration.csv", "figures/sbp-calibration.png"
Bins = Mapping[str, Mapping[str, tuple[Calibration, int]]]
NOTES = Path(__file__).parent / "notes"
METHOD = "sbp"
DATASETS = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "facebook": "Facebook",
    "generated": "Generated",
}
BUDGETS = ("1", "2", "3", "5")
PRIVATE_BUDGETS = ("2", "3", "4", "5")
PUBLIC_METHODS = ("hogs", "hogs, stored settings", "blink-soft", "blink-hard", "lp-and", "features alone", "chance",
                  "no noise")  # fmt: skip
PRIVATE_METHODS = ("hogs", "lp-and", "features alone", "chance", "no noise")
OTHERS = ((RGNN, "RGNN's question: public graph, eps_x 1, eps_y as stated", "eps_y"),
          (LPGNN, "LPGNN's question: public graph, eps_x 1, eps_y as stated", "eps_y"),
          (SOLITUDE, "Solitude's question: eps_x 1, eps_a as stated", "eps_a"))  # fmt: skip
RIVALS = ("hogs", "hogs, stored settings", "blink-soft", "blink-hard", "lp-and", "features alone", "rgnn", "lpgnn",
          "solitude", "graph alone")  # fmt: skip
SAFE = ("features alone", "lp-and", "graph alone", "chance")  # nobody may do worse than these
HEAD = """Test accuracy in percent: mean ± sample standard deviation (number of seeds). The seeds are 2000 to 2009.
They were not used during development: all settings were chosen on other seeds. A seed derives the split (50/25/25,
random), the noise and the training. In one cell (data set, setting, epsilon, seed) the devices were asked once, and all
curators of that question read the same bytes. Differences are paired over the seeds, with Student's 95 % interval.

- *features alone* is the null model of `result.json`: the better one of ridge regression and a perceptron, by
  validation. Where features are private, it reads HoGS's reports of them.
- *lp-and* spreads the training labels over the pairs that both ends reported; all of epsilon goes to the lists.
- *graph alone* does the same on the public graph, or on the pairs of that question.
- *no noise* is a GCN on the true graph and the true features.
- Blink asks a question of its own, with a share for the degree. Its settings are the published ones on Cora and
  CiteSeer, and the defaults elsewhere. *hogs, stored settings* was tuned on the split of Blink's code.

Written by `python -m benchmarks.paired.sbp_page` from [sbp.csv](sbp.csv), which has a line for
every curator, cell and seed."""


def page(results: Results, bins: Bins) -> str:
    """Return the page of the rows and the bins of the calibration."""
    parts = ["# `sbp`: a posterior from the same reports", HEAD, *_note("summary")]
    parts += ["## Goals and what was reached", headline(results), _goals(results)]
    parts += ["## Public features", f"![Accuracy against epsilon]({PICTURE})"]
    for dataset, title in DATASETS.items():
        parts += list(_block(results, dataset, title, PUBLIC, BUDGETS, PUBLIC_METHODS))
    parts += list(_other_graphs(results))
    parts += ["## Private features", *_note("private")]
    for dataset in ("cora", "citeseer"):
        parts += list(_block(results, dataset, DATASETS[dataset], PRIVATE, PRIVATE_BUDGETS, PRIVATE_METHODS))
    parts += ["## Other questions", *_note("questions")]
    for setting, title, budget in OTHERS:
        places = sorted(results.places(setting), key=lambda place: float(place[2]))
        methods = (METHOD, setting, "graph alone", "features alone", "chance", "no noise")
        parts += [f"### {title}", _table(results, places, methods, budget) if places else NOT_RUN.capitalize() + "."]
    parts += ["## Paired differences", "`sbp` minus the other, in points.", _differences(results)]
    parts += ["## Never worse than asking nobody", _safety(results), *_note("safety")]
    parts += ["## Ablation", *_ablation(results), *_note("ablation")]
    parts += ["## Calibration", *_calibration(bins), *_note("calibration")]
    parts += ["## CPU time", *_note("cpu"), _seconds(results)]
    parts += ["## What failed, and why", *(_note("failed"))]
    return "\n\n".join(parts) + "\n"


def headline(results: Results) -> str:
    """Return the counts of goals and of safe cells as one sentence each."""
    found = {place: results.accuracy(place, METHOD) for place in GOALS}
    run = [place for place, value in found.items() if value is not None]
    reached = sum((found[place] or 0.0) >= GOALS[place] for place in run)
    places = _places(results)
    safe = sum(is_safe(results, place) for place in places)
    less = [_above_goal(results, place) for place in run]
    near = sum(each is not None and each.value < 0 <= each.high for each in less)
    return (
        f"Of {len(GOALS)} goals {reached} were reached, {len(run) - reached} were missed ({near} of them by less than\n"
        f"the interval of the mean over the seeds) and {len(GOALS) - len(run)} were not run. `sbp` is safe beside the\n"
        f"null models in {safe} of {len(places)} cells; a table below says which."
    )


def _note(name: str) -> Iterator[str]:
    """Yield a part of the page that is written by hand, if it is there."""
    file = NOTES / f"sbp-{name}.md"
    if file.is_file():
        yield file.read_text().strip()


def _goals(results: Results) -> str:
    lines = []
    for place, goal in GOALS.items():
        dataset, setting, budget = place
        found = results.accuracy(place, METHOD)
        less = _above_goal(results, place)
        reached = "-" if found is None else "yes" if found >= goal else f"no, {found - goal:+.2f}"
        reached += f" [{less.low:+.1f}, {less.high:+.1f}]" if less is not None and reached.startswith("no") else ""
        before = f"{PROTOTYPE[place]:g}" if place in PROTOTYPE else "-"
        shown = (DATASETS[dataset], setting, budget, f"{goal:g}", results.shown(place, METHOD), reached, before)
        lines.append(shown)
    return table(("data set", "setting", "epsilon", "goal", "sbp", "reached", "prototype, other seeds"), lines)


def _above_goal(results: Results, place: Place) -> Interval | None:
    """Return how many points the method is above its goal, with Student's interval over the seeds."""
    ours = results.of(place, METHOD)
    return difference(ours, {seed: replace(row, test=GOALS[place]) for seed, row in ours.items()})


def _block(
    results: Results, dataset: str, title: str, setting: str, budgets: Iterable[str], methods: Sequence[str]
) -> Iterator[str]:
    yield f"### {title}"
    yield _table(results, [(dataset, setting, budget) for budget in budgets], (METHOD, *methods), "epsilon")


def _other_graphs(results: Results) -> Iterator[str]:
    """Yield a table of the graphs without a block of their own."""
    places = [place for place in results.places(PUBLIC) if place[0] not in DATASETS and results.of(place, METHOD)]
    if places:
        yield "### Other graphs"
        yield from _note("graphs")
        names = (METHOD, "features alone", "lp-and", "chance")
        lines = [(place[0], place[2], *(results.shown(place, name) for name in names)) for place in sorted(places)]
        yield table(("graph", "epsilon", *names), lines)


def _table(results: Results, places: Sequence[Place], methods: Sequence[str], budget: str) -> str:
    several = len({place[0] for place in places}) > 1
    heads = [f"{place[0] + ', ' if several else ''}{budget} {place[2]}" for place in places]
    lines = [(method, *(results.shown(place, method) for place in places)) for method in methods]
    return table(("", *heads), [line for line in lines if line[0] == METHOD or set(line[1:]) != {NOT_RUN}])


def _ablation(results: Results) -> Iterator[str]:
    """Yield accuracy of the parts of the method, and their difference to its answer."""
    places = [place for place in _places(results) if any(results.of(place, name) for name in _parts(results))]
    if not places:
        yield NOT_RUN.capitalize() + "."
        return
    heads = [
        "",
        *(
            text
            for place in places
            for text in (f"{DATASETS.get(place[0], place[0])}, epsilon {place[2]}", "minus `sbp`")
        ),
    ]
    lines = []
    for name in (METHOD, *_parts(results)):
        cells = []
        for place in places:
            less = "-" if name == METHOD else in_words(results.difference(place, name, METHOD))
            cells += [results.shown(place, name), less]
        lines.append((name.removeprefix("sbp: "), *cells))
    yield table(heads, lines)


def _parts(results: Results) -> list[str]:
    names = dict.fromkeys(row.method for row in results.rows if row.method.startswith("sbp: "))
    return sorted(names, key=lambda name: not name.endswith(" alone"))


def _calibration(bins: Bins) -> Iterator[str]:
    """Yield the picture of the calibration and a table of expected against true."""
    if not bins:
        yield NOT_RUN.capitalize() + "."
        return
    yield f"![Predicted probability against what is true]({CALIBRATION_PICTURE})"
    lines = []
    for kind, cases in bins.items():
        for case, (found, missed) in cases.items():
            lines.append((kind, case, f"{sum(found.count):,}", f"{found.expected:,.0f}", f"{found.happened:,.0f}",
                          f"{missed:,}" if missed else "-", f"{found.error:.3f}"))  # fmt: skip
    yield table(("of", "cell", "cases", "expected", "true", "true, but outside", "calibration error"), lines)


def _places(results: Results) -> list[Place]:
    """Return every place with a row of the method: by setting, data set and budget."""
    found = {(row.dataset, row.setting, row.budget) for row in results.rows if row.method == METHOD}
    settings, datasets = (PUBLIC, PRIVATE, *(setting for setting, _, _ in OTHERS)), (*DATASETS,)

    def order(place: Place) -> tuple[int, int, str, float]:
        known = datasets.index(place[0]) if place[0] in datasets else len(datasets)
        return settings.index(place[1]), known, place[0], float(place[2])

    return sorted(found, key=order)


def _differences(results: Results) -> str:
    places = _places(results)
    if not places:
        return NOT_RUN.capitalize() + "."
    rivals = [name for name in RIVALS if any(results.of(place, name) for place in places)]
    lines = []
    for place in places:
        cells = [in_words(results.difference(place, METHOD, name)) for name in rivals]
        lines.append((", ".join(place), *("-" if cell == NOT_RUN else cell for cell in cells)))
    return table(("cell", *rivals), lines)


def _safety(results: Results) -> str:
    lines = []
    for place in _places(results):
        best, found = results.over_best(place, METHOD, SAFE)
        if found is None:
            continue
        seeds = len(results.of(place, METHOD).keys() & results.of(place, best).keys())
        lines.append(
            (", ".join(place), best, in_words(found), str(seeds), "yes" if is_safe(results, place) else "**no**")
        )
    if not lines:
        return NOT_RUN.capitalize() + "."
    return table(("cell", "best of the nulls", "sbp minus it", "seeds", f"at least -max({SAFETY:g}, 2 s.e.)"), lines)


def is_safe(results: Results, place: Place) -> bool:
    """Return whether the method is at most half a point, or two standard errors, below the best null model."""
    best, found = results.over_best(place, METHOD, SAFE)
    if found is None:
        return True
    ours, theirs = results.of(place, METHOD), results.of(place, best)
    each = [ours[seed].test - theirs[seed].test for seed in ours.keys() & theirs.keys()]
    error = (spread(each) or 0.0) / len(each) ** 0.5
    return found.value >= -max(SAFETY, 2 * error)


def _seconds(results: Results) -> str:
    lines = []
    for place in _places(results):
        names = (METHOD, "hogs", "blink-soft", "blink-hard", "lp-and")
        shown = [results.seconds(place, name) for name in names]
        lines.append((", ".join(place), *("-" if value is None else f"{value:.1f}" for value in shown)))
    return table(("CPU seconds", METHOD, "hogs", "blink-soft", "blink-hard", "lp-and"), lines)


def write(rows: Sequence[Row], where: Path = RESULTS) -> None:
    """Write the table, the page and the pictures; the bins of the calibration are read from their table there."""
    write_rows(where / TABLE, rows)
    results, bins = Results(rows), read_bins(where / BINS)
    (where / NAME).write_text(page(results, bins))
    if bins:
        drawn = {kind: {case: one for case, (one, _) in cases.items()} for kind, cases in bins.items()}
        draw_calibration(drawn, where / CALIBRATION_PICTURE)
    panels = [(dataset, PUBLIC, f"{title}, public features") for dataset, title in DATASETS.items()
              if any(results.of((dataset, PUBLIC, budget), METHOD) for budget in BUDGETS)]  # fmt: skip
    if panels:
        draw(results, panels, BUDGETS, where / PICTURE)


def joined(*files: Path) -> list[Row]:
    """Return the rows of several files; of one key the last one counts."""
    return list({row.key: row for file in files for row in read_rows(file)}.values())


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("runs") / "paired")
    home = parser.parse_args().home
    if (home / "calibration.csv").is_file():
        shutil.copy(home / "calibration.csv", RESULTS / BINS)
    write(joined(RESULTS / TABLE, home / ROWS))


if __name__ == "__main__":
    main()

"""Page of ``vote`` beside the strong null and other methods (``docs/results/vote.md``), from measured rows.

    python -m benchmarks.paired.vote_page [--file vote-rows.csv] [--others rows.csv]

Rows of ``docs/results/vote.csv`` and of the two files are joined; the table, the page and the picture are
written again. Text that is written by hand stands in ``benchmarks/paired/notes/vote-*.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.markdown import table
from benchmarks.paired.cells import NOBODY, PUBLIC
from benchmarks.paired.measure import CHANCE, FEATURES_ALONE, STRONG_NULL
from benchmarks.paired.rows import Row, write_rows
from benchmarks.paired.sbp_page import joined
from benchmarks.paired.summary import NOT_RUN, Place, Results, difference, in_words
from benchmarks.paired.vote_cells import (
    BATCHES,
    FEW,
    FEW_LABELS,
    KINDS,
    LIARS,
    LIARS_ANYWHERE,
    LIARS_UNLABELLED,
    LYING,
    NO_FEATURES,
    OF_A_PERSON,
    PRIVATE_LABELS,
    RATES,
    SHARES,
    VOTE,
    homophily_name,
)
from benchmarks.paired.vote_goals import ACCURACIES, GAINS, SAFETY
from benchmarks.paired.vote_picture import draw, points
from strategies.results.averages import spread

NAME, TABLE, PICTURE = "vote.md", "vote.csv", "figures/vote.png"
NOTES = Path(__file__).parent / "notes"
DATASETS = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed", "facebook": "Facebook"}
EPSILONS = ("1", "2", "4", "8")
RIVALS = ("sbp", "hogs", "blink-soft", "blink-hard", "lp-and")
NULLS = (FEATURES_ALONE, STRONG_NULL)
_PARTS = (("holds", "What holds"), ("engines", "Engines, vaults and cost"), ("stress", "Under attack"),
          ("ablation", "Ablation: the open points"), ("own-features", "Private features, read by their own device"),
          ("family", "Others in the family"),
          ("prior", "Prior work"), ("missing", "Not run"))  # fmt: skip


def page(results: Results) -> str:
    """Return the page."""
    parts = ["# `vote`: one small question, all that a person reports protected", *note("head")]
    parts += ["## Goals and what was reached", headline(results), _goals(results), *note("goals")]
    parts += ["## Accuracy and the epsilon of a person", f"![Accuracy against two levels]({PICTURE})", *note("picture")]
    parts += ["## Public features"]
    for dataset, title in DATASETS.items():
        places = [(dataset, PUBLIC, epsilon) for epsilon in EPSILONS]
        parts += [f"### {title}", accuracies(results, places, (VOTE, STRONG_NULL, FEATURES_ALONE, "no noise", CHANCE))]
    parts += ["Paired differences, `vote` minus the other, in points, with 95 % intervals:"]
    parts += [_differences(results, [(name, PUBLIC, eps) for name in DATASETS for eps in EPSILONS], NULLS)]
    parts += ["## The same loss of a relationship", *note("relationship"), _relationship(results)]
    parts += ["## The same loss of a person", *note("person"), _person(results)]
    parts += ["## Without features", *note("without")]
    several = f"{NO_FEATURES}, three batches"
    shown = [(name, setting, eps) for name in ("cora", "citeseer") for setting in (NO_FEATURES, several)
             for eps in ("2", "4", "8")]  # fmt: skip
    parts += [accuracies(results, [place for place in shown if results.of(place, VOTE)], (VOTE, CHANCE), full=True)]
    parts += ["## A tenth of the people with a known label", *note("few"), _few(results)]
    parts += ["## Private labels", *note("private"), _private(results)]
    parts += ["## What it cannot do", *note("cannot"), _homophily(results), *note("homophily")]
    parts += [*note("rates"), _rates(results)]
    parts += ["## Never worse than asking nobody", safe_line(results), _safety(results)]
    for name, title in _PARTS:
        found = [*note(name), *([_liars(results)] if name == "stress" else [])]
        parts += [f"## {title}", *found] if found else []
    return "\n\n".join(part for part in parts if part) + "\n"


def note(name: str) -> Iterator[str]:
    """Yield a part of the page that is written by hand, if it is there."""
    file = NOTES / f"vote-{name}.md"
    if file.is_file():
        yield file.read_text().strip()


def reached(results: Results) -> list[tuple[Place, str, float, float, str]]:
    """Return place, kind, goal, measured value and its text of each goal that was run."""
    found = []
    for place, goal in GAINS.items():
        gained = results.difference(place, _name(place), STRONG_NULL)
        if gained is not None:
            seeds = len(results.of(place, _name(place)).keys() & results.of(place, STRONG_NULL).keys())
            words = f"{in_words(gained)} ({seeds})"
            found.append((place, "points above the strong null", goal, gained.value, words))
    for place, goal in ACCURACIES.items():
        best = _best_without(results, place)
        value = results.accuracy(best, VOTE)
        if value is not None:
            batches = ", three batches" if best[1] != place[1] else ""
            found.append((place, "accuracy, %", goal, value, results.shown(best, VOTE) + batches))
    return found


def headline(results: Results) -> str:
    """Return the count of goals as one sentence."""
    found = reached(results)
    met = sum(round(value, 1) >= goal for _, _, goal, value, _ in found)
    count = len(GAINS) + len(ACCURACIES)
    return (f"Of {count} goals {met} were reached, {len(found) - met} were missed and {count - len(found)} were not "
            "run. Seeds in brackets.")  # fmt: skip


def _name(place: Place) -> str:
    return BATCHES if place[1] == FEW else VOTE


def _best_without(results: Results, place: Place) -> Place:
    """Return the place with the most batches that was run."""
    more = (place[0], f"{place[1]}, three batches", place[2])
    return more if results.of(more, VOTE) else place


def _goals(results: Results) -> str:
    lines = []
    for (dataset, setting, budget), kind, goal, value, words in reached(results):
        met = "yes" if round(value, 1) >= goal else f"no, {value - goal:+.1f}"
        lines.append((DATASETS[dataset], setting, budget, kind, f"{goal:g}", words, met))
    return table(("data set", "setting", "epsilon", "measure", "goal", VOTE, "reached"), lines) if lines else ""


def accuracies(results: Results, places: Sequence[Place], methods: Sequence[str], *, full: bool = False) -> str:
    """Return a table of accuracies, a column a place."""
    if not any(results.of(place, methods[0]) for place in places):
        return NOT_RUN.capitalize() + "."
    heads = [", ".join(place) if full else f"epsilon {place[2]}" for place in places]
    lines = [(method, *(results.shown(place, method) for place in places)) for method in methods]
    return table(("", *heads), lines)


def _differences(results: Results, places: Sequence[Place], others: Sequence[str]) -> str:
    lines = [(", ".join(place), *(_gap(results, place, VOTE, other) for other in others))
             for place in places if results.of(place, VOTE)]  # fmt: skip
    return table(("cell", *others), lines) if lines else NOT_RUN.capitalize() + "."


def _gap(results: Results, place: Place, method: str, other: str) -> str:
    """Return a paired difference as text; of two seeds or one there is none."""
    found = results.difference(place, method, other)
    few = found is None and results.of(place, method) and results.of(place, other)
    return "fewer than 3 seeds" if few else in_words(found)


def _relationship(results: Results) -> str:
    places = [(name, PUBLIC, eps) for name in DATASETS for eps in ("1", "2", "3", "5")]
    kept = [place for place in places if results.of(place, VOTE) and any(results.of(place, name) for name in RIVALS)]
    return _differences(results, kept, RIVALS)


def _person(results: Results) -> str:
    ours, matched = results.of(("cora", PUBLIC, "4"), VOTE), ("cora", PUBLIC, f"{OF_A_PERSON:g}")
    lines = [("vote", f"{4:g}", results.shown(("cora", PUBLIC, "4"), VOTE), "")]
    for name in ("sbp", "hogs", "blink-soft"):
        theirs = results.of(matched, name)
        lines.append((name, f"{OF_A_PERSON:.5f}", results.shown(matched, name), in_words(difference(ours, theirs))))
    lines += [(name, "nobody asked", results.shown(("cora", NOBODY, ""), name), in_words(difference(
        ours, results.of(("cora", NOBODY, ""), name)))) for name in NULLS]  # fmt: skip
    return table(("Cora, a person's epsilon 4", "epsilon of a bit", "accuracy", "vote minus it"), lines)


def _few(results: Results) -> str:
    place = ("cora", FEW, "4")
    lines = []
    for name in (VOTE, BATCHES, *NULLS):
        others = (_gap(results, place, name, other) if name in (VOTE, BATCHES) else "" for other in NULLS)
        lines.append((name, results.shown(place, name), *others))
    return table(("Cora, epsilon 4", "accuracy", *(f"minus {name}" for name in NULLS)), lines)


def _private(results: Results) -> str:
    place = ("cora", PRIVATE_LABELS, "2")
    lines = [(name, results.shown(place, name)) for name in (VOTE, *NULLS)]
    lines += [(f"rgnn, public graph, eps_x 1, eps_y {eps}", results.shown(("cora", "rgnn", eps), "rgnn"))
              for eps in ("2", "3") if results.of(("cora", "rgnn", eps), "rgnn")]  # fmt: skip
    return table(("Cora", "accuracy"), lines)


def _homophily(results: Results) -> str:
    lines = []
    for name, shown in [
        *((homophily_name(share), f"{share:g}") for share in SHARES),
        *((kind, kind) for kind in KINDS),
    ]:
        place = (name, PUBLIC, "4")
        if results.of(place, VOTE):
            lines.append((shown, *(results.shown(place, each) for each in (VOTE, *NULLS, "no noise")),
                          _gap(results, place, VOTE, FEATURES_ALONE)))  # fmt: skip
    heads = ("homophily, or kind", VOTE, *NULLS, "no noise", "vote minus features alone")
    return table(heads, lines) if lines else NOT_RUN.capitalize() + "."


def _rates(results: Results) -> str:
    lines = []
    for rate in RATES:
        place = ("cora", FEW_LABELS, f"{rate:g}")
        if results.of(place, VOTE):
            lines.append((f"{rate:g}", *(results.shown(place, each) for each in (VOTE, BATCHES, *NULLS)),
                          _gap(results, place, VOTE, FEATURES_ALONE)))  # fmt: skip
    heads = ("training share", VOTE, BATCHES, *NULLS, "vote minus features alone")
    return table(heads, lines) if lines else NOT_RUN.capitalize() + "."


def _liars(results: Results) -> str:
    places = [("cora", LIARS, f"{share:g}") for share in LYING]
    if not any(results.of(place, LIARS_ANYWHERE) for place in places):
        return ""
    lines = [(name, *(results.shown(place, name) for place in places)) for name in (LIARS_ANYWHERE, LIARS_UNLABELLED)]
    return table(("Cora, epsilon 4: share of liars", *(f"{share:g}" for share in LYING)), lines)


def _safe(results: Results) -> list[tuple[Place, str, int, bool]]:
    """Return place, difference to features alone, seeds and whether it is safe."""
    found = []
    for place in dict.fromkeys((row.dataset, row.setting, row.budget) for row in results.rows):
        for name in (VOTE, BATCHES):
            ours, theirs = results.of(place, name), results.of(place, FEATURES_ALONE)
            gained = difference(ours, theirs)
            if gained is None or place[1] == NOBODY:
                continue
            each = [ours[seed].test - theirs[seed].test for seed in ours.keys() & theirs.keys()]
            error = (spread(each) or 0.0) / len(each) ** 0.5
            found.append((place, f"{name}: {in_words(gained)}", len(each), gained.value >= -max(SAFETY, 2 * error)))
    return found


def safe_line(results: Results) -> str:
    """Return the count of safe cells as one sentence."""
    found = _safe(results)
    safe = sum(entry[3] for entry in found)
    return (f"The paired difference to features alone is at least -max({SAFETY:g} points, 2 standard errors) in "
            f"{safe} of {len(found)} cells." + (" These are not:" if safe < len(found) else ""))  # fmt: skip


def _safety(results: Results) -> str:
    lines = [(", ".join(place), words, str(seeds)) for place, words, seeds, safe in _safe(results) if not safe]
    return table(("cell", "minus features alone", "seeds"), lines) if lines else ""


def write(rows: Sequence[Row], where: Path = RESULTS, *, picture: bool = True) -> None:
    """Write the table, the page and the picture; the picture needs the data of Cora."""
    write_rows(where / TABLE, rows)
    results = Results(rows)
    (where / NAME).write_text(page(results))
    if picture:
        levels = {name: results.accuracy(("cora", NOBODY, ""), name) for name in (*reversed(NULLS), CHANCE)}
        known = {name: value for name, value in levels.items() if value is not None}
        draw(points(results), known, where / PICTURE)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=Path("runs") / "paired" / "vote-rows.csv")
    parser.add_argument("--others", type=Path, default=Path("runs") / "paired" / "rows.csv")
    given = parser.parse_args()
    others = [
        row for row in joined(given.others) if row.dataset in DATASETS and row.setting in (PUBLIC, NOBODY, "rgnn")
    ]
    rows = {row.key: row for row in [*joined(RESULTS / TABLE), *others, *joined(given.file)]}
    write(list(rows.values()))


if __name__ == "__main__":
    main()

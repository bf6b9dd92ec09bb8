"""``docs/results/privgnn.md`` from the tables of ``tables_privgnn.py``, the benchmarks, and ``notes/privgnn.md``."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks import RESULTS, markdown
from benchmarks.papers import NOTES
from benchmarks.study import Row, read_rows
from ldpsim.curator.owner.teachers.answering import Teaching
from ldpsim.strategies.results.averages import spread

Rows = Sequence[Row]


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table with a line end after it."""
    return markdown.table(heads, lines) + "\n"


def values(group: Rows, column: str = "accuracy") -> list[float]:
    """Return a column's numbers."""
    return [float(row[column]) for row in group if row[column]]


def mean(group: Rows, column: str, digits: int = 3) -> str:
    """Return a column's mean over the draws, with its spread if there is one; empty without rows."""
    found = values(group, column)
    if not found:
        return ""
    apart = spread(found) if len(set(found)) > 1 else None
    return f"{statistics.fmean(found):.{digits}f}" + ("" if apart is None else f" ± {apart:.{digits}f}")


def grouped(found: Rows, *keys: str) -> dict[tuple[str, ...], list[Row]]:
    """Return the rows by the values of some columns, in the order in which they come."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in found:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def of_privgnn(found: Rows, scores: str) -> Rows:
    """Return the rows of one kind of noise."""
    return [row for row in found if row["scores"] == scores]


def stated(found: Rows, *keys: str) -> str:
    """Return the table of the algorithm as stated."""
    lines = [
        [*key, str(len(g)), *(mean(g, name) for name in ("teachers", "pseudo_labels", "ceiling", "accuracy")),
         *(mean(g, name, 2) for name in ("paper", "label", "vector", "printed"))]
        for key, g in grouped(found, *keys).items()
    ]  # fmt: skip
    return table([*keys, "n", "teachers", "labels", "at most", "student", "paper", "label", "vector", "printed"], lines)


def compared(found: Rows) -> dict[str, Any]:
    """Return the table of the variant beside the algorithm as stated, perfect teachers and the paper; its counts."""
    plain, perfect = grouped(of_privgnn(found, "posterior"), "K", "queries", "gamma", "lambda"), {}
    for (lambda_,), g in grouped(of_privgnn(found, "perfect"), "lambda").items():
        perfect[lambda_] = g
    lines, near, above, distances = [], 0, 0, []
    for (size, lambda_), g in grouped(of_privgnn(found, "log-posterior"), "K", "lambda").items():
        beside, best = plain.get((size, "1000", "0.3", lambda_), []), perfect.get(lambda_, [])
        if not (beside and best):
            continue
        figure, ours = float(g[0]["paper"]), statistics.fmean(values(g))
        top = values(best)
        room = max(2 * (spread(top) or 0.0), 0.02)
        nearer = abs(figure - ours) < abs(figure - statistics.fmean(values(beside)))
        near, above = near + nearer, above + (figure > statistics.fmean(top) + room)
        distances.append(abs(figure - ours))
        lines.append([size, lambda_, str(len(g)), mean(g, "pseudo_labels"), mean(g, "accuracy"), f"{figure:.2f}",
                      mean(beside, "accuracy"), mean(best, "accuracy"), "yes" if nearer else "no"])  # fmt: skip
    heads = ("K", "lambda", "n", "labels", "student", "paper", "as stated", "perfect teachers", "nearer")
    return {"compared": table(heads, lines), "near": near, "settings": len(lines), "above": above,
            "far": statistics.fmean(distances)}  # fmt: skip


def page(found: Rows) -> str:
    """Return the page."""
    plain = of_privgnn(found, "posterior")
    main = [row for row in plain if row["gamma"] == "0.3" and row["queries"] == "1000"]
    perfect = [[*key, str(len(g)), mean(g, "pseudo_labels"), mean(g, "ceiling"), mean(g, "accuracy")]
               for key, g in grouped(of_privgnn(found, "perfect"), "lambda").items()]  # fmt: skip
    others = [
        [*key, str(len(g)), mean(g, "teachers"), mean(g, "pseudo_labels"), mean(g, "accuracy"), mean(g, "label", 2),
         mean(g, "printed", 2)]
        for key, g in grouped([row for row in found if row["method"] != "privgnn"], "method", "lambda").items()
    ]  # fmt: skip
    speed = read_rows(RESULTS / "privgnn-measured.csv")
    sample = Teaching(classes=10, gamma=0.1, noise_seed=1, training_seed=2)
    words = {
        "stated": stated(main, "K", "lambda"),
        "perfect": table(("lambda", "n", "labels", "at most", "student"), perfect),
        **compared(found),
        "more": sum(len(sample.sample(2500, query)) > 300 for query in range(1000)),
        "most": 1000,
        "others": table(("method", "lambda", "n", "teachers", "labels", "student", "holds", "printed"), others),
        "speed": table(tuple(speed[0]), [list(row.values()) for row in speed]),
    }  # fmt: skip
    return (NOTES / "privgnn.md").read_text().format(**words)

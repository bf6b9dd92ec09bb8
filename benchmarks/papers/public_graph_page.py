"""Pages of UPGNet and PrivGE in ``docs/results``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from benchmarks.markdown import table
from benchmarks.papers import NOTES
from benchmarks.papers.agreement import AGREES, Accuracy, bound, judge
from benchmarks.papers.table_cell import note
from benchmarks.papers.value_row import interval, judgement, null_cells, null_heads, with_spread
from benchmarks.study import Row

TITLES = {"upgnet": "UPGNet: accuracy and null models", "privge": "PrivGE: accuracy and null models"}


def page(method: str, rows: Sequence[Row], missing: Sequence[str]) -> str:
    """Return a method's page.

    Args:
        method: Name.
        rows: Rows of its table.
        missing: The cells that were not run, each in a line.
    """
    beside = [row for row in rows if row["oracle"]]
    nulls = [row for row in rows if row["table"] == "Null models"]
    parts = [
        f"# {TITLES[method]}",
        note("public-graph-head"),
        _counts(beside, nulls),
        "## Verdict",
        "\n".join(map(_filled, verdicts(nulls))),
    ]
    if nulls:
        parts += ["## Null models", note("public-graph-nulls"), _nulls(nulls)]
    if beside:
        parts += ["## Cora, beside the oracle", note("public-graph-oracle"), _beside(beside)]
    notes = NOTES / f"{method}.md"
    if notes.is_file():
        parts.append(notes.read_text().strip())
    parts += ["## Commands", f"The last columns of [{method}.csv]({method}.csv) hold the command of every cell. The "
              f"command\n`python -m benchmarks.papers.public_graph {method}` runs all cells\nthat have no result below "
              "`runs/public-graph`."]  # fmt: skip
    if missing:
        parts.append(
            "\n".join([f"{len(missing)} cells were not run, for lack of time:\n", *(f"- {one}" for one in missing)])
        )
    return "\n\n".join(parts) + "\n"


def _counts(beside: Sequence[Row], nulls: Sequence[Row]) -> str:
    agree = sum(comparison(row)[1] == AGREES for row in beside)
    above = sum(row["above_nulls"] == "yes" for row in nulls)
    return (f"{agree} of {len(beside)} figures agree with the oracle. {above} of {len(nulls)} cells are above "
            "every null model.")  # fmt: skip


def verdicts(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what the private features added, by data set."""
    for dataset in dict.fromkeys(row["data set"] for row in rows):
        found = [row for row in rows if row["data set"] == dataset and row["bought_features"]]
        said = "; ".join(f"{added(row)} at {row['budget']}" for row in found)
        clear = [row["budget"] for row in found if float(row["bought_features_low"]) > 0]
        judged = f"measurable at {', '.join(clear)}" if clear else "nothing measurable"
        network = max(found, key=lambda row: float(row["accuracy"]))
        yield (f"- {dataset} ({found[0]['n']} runs): private features add {said}: {judged}. Label propagation has "
               f"{with_spread(network, 'graph_alone')}.")  # fmt: skip


def added(row: Row) -> str:
    """Return what the features added, in points with half the width of the 95 % interval.

    >>> added({"bought_features": "1.04", "bought_features_low": "0.50", "bought_features_high": "1.58"})
    '+1.0 ± 0.5 points'
    """
    half = (float(row["bought_features_high"]) - float(row["bought_features_low"])) / 2
    return f"{float(row['bought_features']):+.1f} ± {half:.1f} points"


def _nulls(rows: Sequence[Row]) -> str:
    heads = ["data set", "budget", "runs", "accuracy", *null_heads(), "over the best null", "verdict"]
    return table(heads, [
        [row["data set"], row["budget"], row["n"], with_spread(row, "accuracy", "std"), *null_cells(row),
         interval(row, "margin"), judgement(row)]
        for row in rows
    ])  # fmt: skip


def comparison(row: Row) -> tuple[float, str]:
    """Return the difference from the oracle in points, and the judgement of it."""
    ours = Accuracy(float(row["accuracy"]), float(row["std"]), int(row["n"]))
    other = Accuracy(float(row["oracle"]), float(row["oracle_std"]), int(row["oracle_n"]))
    difference = ours.mean - other.mean
    return difference, judge(ours.runs, difference, bound(ours, other))


def _beside(rows: Sequence[Row]) -> str:
    heads = ("model", "budget", "ours", "oracle", "comparison", "ours, features of others",
             "oracle, features of others")  # fmt: skip
    lines = []
    for row in rows:
        difference, decided = comparison(row)
        lines.append([row["model"], row["budget"], f"{with_spread(row, 'accuracy', 'std')} ({row['n']})",
                      f"{with_spread(row, 'oracle')} ({row['oracle_n']})",
                      f"{decided} ({difference:+.1f})" if decided == AGREES else f"**{difference:+.1f}**",
                      with_spread(row, "shuffled_features"), with_spread(row, "oracle_shuffled")])  # fmt: skip
    return table(heads, lines)


def _filled(text: str) -> str:
    return textwrap.fill(text, 118, subsequent_indent="  ", break_on_hyphens=False)

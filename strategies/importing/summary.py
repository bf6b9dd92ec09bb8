"""Summary of an import: the people, edges and columns that were read, what was left out, and what would be public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.array_layouts import PARTS
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.people import ImportedGraph

NOT_PUBLIC = (
    "who is linked with whom (public for lpgnn and rgnn)",
    "feature values (public with --public-features)",
    "labels of test people; those of training and validation people are public unless a run has --private-labels",
)
MOST_COLUMNS = 8  # of which a summary shows values
_ROWS = 3  # of people whose values are shown


def summary(
    population: Population, graph: ImportedGraph, options: ImportOptions, range_from: str, notes: Sequence[str]
) -> dict[str, Any]:
    """Return what was read of the files, what was left out, what would be public, and warnings: JSON-ready."""
    facts, split, labels = population.facts, population.own_split, population.labels
    masks = [part for part in PARTS if part in graph.arrays]
    unlabelled = int(np.sum(labels < 0))
    left, right = edges = np.asarray(graph.arrays["edge_index"])
    loops, count = int(np.sum(left == right)), population.edges.shape[1]
    warnings = []
    if options.scale == "minmax":
        warnings.append("--scale minmax: each feature's range is computed from the data, which is itself a release")
    if 0 < len(masks) < len(PARTS):
        absent = ", ".join(part for part in PARTS if part not in masks)
        warnings.append(f"masks: {', '.join(masks)} found without {absent}; left out, since --split file needs all")
    largest = int(np.unique(labels[labels >= 0], return_counts=True)[1].max(initial=0))
    if facts.classes > max(10, facts.n / 2) or (largest == 1 and facts.classes > 3):
        warnings.append("most people have a class of their own: --label names the class, --ignore drops a column")
    if not count:
        given = f" (self-loops: {loops:,})" if loops else ""
        warnings.append(f"there is no edge between two people{given}: nothing can be learned from the graph")
    if unlabelled == facts.n:
        warnings.append(
            "nobody has a label: a run needs some; --label NAME takes a column as the class, "
            "or a CSV with the columns id and label adds them"
        )
    return {
        "people": facts.n,
        "directed": graph.directed,
        "edges": {"given": edges.shape[1], "kept": count, "self_loops_dropped": loops,
                  "repeats_dropped": edges.shape[1] - loops - count},
        "isolated": int(np.sum(population.degrees == 0)),
        "classes": facts.classes,
        "largest_class": largest,
        "without_label": unlabelled,
        "features": facts.d,
        "read": _read(graph, population),
        "left_out": list(notes),
        "homophily": population.homophily if np.isfinite(population.homophily) else None,
        "masks": {"found": masks, "kept": split is not None},
        "public": {
            "people": facts.n,
            "features": facts.d,
            "feature_range": [facts.feature_low, facts.feature_high],
            "feature_range_from": range_from,
            "classes": facts.classes,
            "classes_from": "stated" if graph.classes_stated else "labels",
            "class_names": list(facts.class_names),
            "split": {part: len(getattr(split, part)) for part in PARTS} if split else None,
        },
        "not_public": list(NOT_PUBLIC),
        "warnings": warnings,
    }  # fmt: skip


def _read(graph: ImportedGraph, population: Population) -> dict[str, Any]:
    """Return the first people and the columns of their features, each with its kind and the values of these people.

    Values are those of the files, with what was put into empty cells, and before ``--scale``.
    """
    a, n, d = graph.arrays, population.facts.n, population.facts.d
    rows = range(min(_ROWS, n))
    matrix = csr_array((np.asarray(a["values"], np.float64), a["indices"], a["indptr"]), shape=(n, d))
    names = graph.columns or tuple(map(str, range(min(d, MOST_COLUMNS))))
    sources = [source if source in graph.texts else name
               for source, name in zip(graph.sources or names, names, strict=True)]  # fmt: skip
    every = dict.fromkeys(sources)
    columns = []
    for source in list(every)[:MOST_COLUMNS]:
        here = [place for place, name in enumerate(sources) if name == source]
        if source in graph.texts:
            values = [names[place].removeprefix(f"{source}=") for place in here]
            kind, first = _kind_of_values(len(values)), [_value(row, values) for row in matrix[rows][:, here].toarray()]
        else:
            numbers = matrix[:, here].toarray().ravel()
            kind, first = _kind_of_numbers(numbers), [f"{value:.4g}" for value in numbers[rows]]
        columns.append({"name": source or "''", "kind": kind, "first": first})
    more = (len(every) if graph.columns else d) - len(columns)
    labels, classes = population.labels, population.facts.class_names
    label = [(classes[k] if classes else str(k)) if k >= 0 else "" for k in labels[rows].tolist()]
    columns.append({"name": "class", "kind": f"{population.facts.classes:,} classes", "first": label})
    people = [graph.ids[k] if graph.ids else str(k) for k in rows]
    return {"people": people, "columns": columns, "more_columns": more}


def _value(row: Any, values: Sequence[str]) -> str:
    """Return the value of a text column in a row of 0 and 1; empty where the row has none."""
    return values[int(row.argmax())] if len(row) and row.max() == 1 else ""


def _kind_of_values(number: int) -> str:
    return f"text, {number:,} {'value' if number == 1 else 'values'}"


def _kind_of_numbers(numbers: Any) -> str:
    """Return the words for a column of numbers.

    >>> [_kind_of_numbers(np.array(column)) for column in ([0.0, 1.0], [2.0, 2.0], [2.0, 5.0])]
    ['0 or 1', 'always 2', '2 to 5']
    """
    if not len(numbers):
        return "no number"
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        return f"always {high:.4g}"
    return "0 or 1" if bool(np.isin(numbers, (0, 1)).all()) else f"{low:.4g} to {high:.4g}"

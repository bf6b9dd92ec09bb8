"""Summary of an import: counts, and all that a curator would know without asking anybody."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.population import Population, distinct
from ldpsim.strategies.importing.parts import PARTS

NOT_PUBLIC = (
    "who is linked with whom (public for lpgnn and rgnn)",
    "feature values (public with --public-features)",
    "labels of test people; those of training and validation people are public unless a run has --private-labels",
)


def edge_counts(given: IntArray, kept: int, n: int) -> dict[str, int]:
    """Count edges as given (2, m) and what becomes of them; ``kept`` counts each undirected edge once."""
    left, right = given[:, given[0] != given[1]]
    pairs = len(distinct(left * n + right))
    return {
        "given": given.shape[1],
        "kept": kept,
        "self_loops_dropped": given.shape[1] - len(left),
        "repeats_dropped": len(left) - pairs,
        "pairs_in_both_directions": pairs - kept,
        "pairs_in_one_direction": 2 * kept - pairs,
    }


def summarize(
    population: Population, given: IntArray, *, directed: bool | None, found_masks: list[str], range_from: str,
    classes_from: str,
) -> dict[str, Any]:  # fmt: skip
    """Return the counts of a population and the preview of what is public about it.

    Args:
        population: The checked population.
        given: int64 (2, m), the edges as given.
        directed: Whether the file says that direction counts; None: it does not say.
        found_masks: Masks that the files have.
        range_from: ``stated``, ``default`` or ``data``.
        classes_from: ``stated`` or ``labels``.
    """
    facts, split, labels = population.facts, population.own_split, population.labels
    sizes = {part: len(getattr(split, part)) for part in PARTS} if split else None
    values = population.feature_values
    cells = facts.n * facts.d
    ends = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if len(values) < cells:
        ends = (min(ends[0], 0.0), max(ends[1], 0.0))
    return {
        "people": facts.n,
        "directed": directed,
        "edges": edge_counts(given, population.edges.shape[1], facts.n),
        "isolated": int(np.sum(population.degrees == 0)),
        "classes": facts.classes,
        "largest_class": int(np.bincount(labels[labels >= 0], minlength=1).max()),
        "without_label": int(np.sum(labels < 0)),
        "features": facts.d,
        "feature_rate": len(values) / cells if cells else None,
        "feature_values": {"low": ends[0], "high": ends[1]} if cells else None,
        "homophily": population.homophily if np.isfinite(population.homophily) else None,
        "masks": {"found": found_masks, "kept": split is not None},
        "public": {
            "people": facts.n,
            "features": facts.d,
            "feature_range": [facts.feature_low, facts.feature_high],
            "feature_range_from": range_from,
            "classes": facts.classes,
            "classes_from": classes_from,
            "class_names": list(facts.class_names),
            "split": sizes,
        },
        "not_public": list(NOT_PUBLIC),
    }


def next_command(out: Path | None, population: Population) -> str | None:
    """Return the command that uses the file, None where there is none or nobody has a label."""
    if out is None or not (population.labels >= 0).any():
        return None
    method = "" if population.facts.d else " --method blink"  # the default method compares features
    split = " --split file" if population.own_split else ""
    return f"ldpsim run --dataset {shlex.quote(str(out))}{method}{split}"

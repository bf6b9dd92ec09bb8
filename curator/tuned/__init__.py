"""Stored hyper-parameters, for ``--tuned``: one TOML file a method in this folder.

Each table says where its values come from: ``published`` with the source, or ``ours``
with the search that found them (grid, seeds, how many collections it used).

    [[setting]]
    dataset = "cora"
    gnn = "gcn"
    split = "split42"          # left out: any split
    epsilon = 3.0              # left out: any budget; eps_adjacency, eps_features, eps_labels likewise
    feature_share = 0.1        # a query parameter that was searched too; left out: none was
    public_features = true     # left out: either
    when = { variant = "soft" }  # left out: any; the method's own parameters that it was found for
    provenance = "ours"
    source = "validation accuracy over ..."
    collections = 270
    values = { tau = 0.9, lr = 0.01 }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from curator.methods.base import Budget

_CONDITIONS = ("dataset", "gnn", "split", "epsilon", "eps_adjacency", "eps_features", "eps_labels", "public_features")


@dataclass(frozen=True)
class Tuned:
    """Stored values, where they come from, and how many collections the search used.

    Args:
        values: Parameters of the method and its training.
        feature_share: The share of the budget that the search chose, None where it chose none.
        provenance: ``published`` or ``ours``, and the source.
        collections: Collections of simulated people that the search asked.
    """

    values: Mapping[str, Any]
    feature_share: float | None
    provenance: str
    collections: int


@cache
def settings_of(method: str) -> tuple[Mapping[str, Any], ...]:
    """Return all stored settings of a method, in the file's order; empty where there are none."""
    file = files(__name__).joinpath(f"{method.replace('-', '_')}.toml")
    return tuple(tomllib.loads(file.read_text()).get("setting", ())) if file.is_file() else ()


def stored(
    method: str,
    *,
    dataset: str,
    gnn: str,
    split: str,
    budget: Budget,
    feature_share: float | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Tuned:
    """Return the stored setting that fits; the first with the most conditions wins.

    Args:
        method, dataset, gnn, split, budget: Of the run.
        feature_share: The share that the person insists on, None where the stored one may be taken.
        parameters: The method's own parameters, as ``--set`` and its defaults have them.

    Raises:
        ValueError: where none is stored; the line says for what there is one.
    """
    run = {
        "dataset": dataset, "gnn": gnn, "split": split, "epsilon": budget.epsilon,
        "eps_adjacency": budget.eps_adjacency, "eps_features": budget.eps_features, "eps_labels": budget.eps_labels,
        "public_features": budget.public_features,
    }  # fmt: skip
    fitting = [s for s in settings_of(method) if all(s[c] == run[c] for c in _CONDITIONS if c in s)]
    own = parameters or {}
    fitting = [s for s in fitting if all(own.get(key) == value for key, value in s.get("when", {}).items())]
    if feature_share is not None:
        fitting = [s for s in fitting if s.get("feature_share", feature_share) == feature_share]
    if not fitting:
        there = sorted({str(s.get("dataset", "any data set")) for s in settings_of(method)})
        known = f"stored for {method}: {', '.join(there)}" if there else f"nothing is stored for {method}"
        raise ValueError(
            f"--tuned: no stored setting for {method}, {dataset}, {gnn}, epsilon {budget.epsilon:g} ({known})"
        )
    best = max(fitting, key=lambda s: sum(c in s for c in _CONDITIONS))
    provenance = f"{best['provenance']}: {best['source']}"
    return Tuned(best["values"], best.get("feature_share"), provenance, int(best.get("collections", 0)))

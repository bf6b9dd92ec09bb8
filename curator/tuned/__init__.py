"""Stored hyper-parameters, for ``--tuned``: one TOML file a method in this folder.

Each table names the source of its values: ``published`` with the paper or code, or ``ours``
with the search that found them (grid, seeds, number of collections).

    [[setting]]
    dataset = "cora"
    gnn = "gcn"
    split = "split42"          # left out: any split
    epsilon = 3.0              # left out: any budget; eps_adjacency, eps_features, eps_labels likewise
    feature_share = 0.1        # the searched share of the budget; left out: not searched
    public_features = true     # left out: either
    when = { variant = "soft" }  # the method's own parameters during the search; left out: any
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

from ldpsim.curator.methods.base import Budget

_CONDITIONS = ("dataset", "gnn", "split", "epsilon", "eps_adjacency", "eps_features", "eps_labels", "public_features")


@dataclass(frozen=True)
class Tuned:
    """Stored values and their source.

    Args:
        values: Parameters of the method and its training.
        feature_share: The share of the budget that the search chose, None if it chose none.
        provenance: ``published`` or ``ours``, and the source.
        collections: Number of collections that the search used.
    """

    values: Mapping[str, Any]
    feature_share: float | None
    provenance: str
    collections: int


@cache
def settings_of(method: str) -> tuple[Mapping[str, Any], ...]:
    """Return all stored settings of a method, in the file's order."""
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
    """Return the stored setting that fits with the most conditions, the first of equal ones.

    Args:
        method, dataset, gnn, split, budget: Those of the run.
        feature_share: The share given on the command line, None to accept the stored one.
        parameters: The method's own parameters, from ``--set`` and its defaults.

    Raises:
        ValueError: if none fits; the message names the stored ones.
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
        text = f"stored for {method}: {', '.join(there)}" if there else f"nothing is stored for {method}"
        raise ValueError(
            f"--tuned: no stored setting for {method}, {dataset}, {gnn}, {_named(budget)} ({text}); "
            f"`ldpsim tune {method} --dataset {dataset}` searches for one"
        )
    best = max(fitting, key=lambda s: sum(c in s for c in _CONDITIONS))
    provenance = f"{best['provenance']}: {best['source']}"
    return Tuned(best["values"], best.get("feature_share"), provenance, int(best.get("collections", 0)))


def _named(budget: Budget) -> str:
    """Return the budgets in force, in words; the total only where it is not the default beside finer ones."""
    parts = [f"{name.replace('_', '-')} {value:g}" for name in ("eps_adjacency", "eps_features", "eps_labels")
             if (value := getattr(budget, name)) is not None]  # fmt: skip
    if not parts or budget.epsilon != Budget().epsilon:
        default = " (the default)" if budget.epsilon == Budget().epsilon else ""
        parts.insert(0, f"epsilon {budget.epsilon:g}{default}")
    return ", ".join(parts)

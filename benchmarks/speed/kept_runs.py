"""Runs of docs/results/scale.json, with the options and facts that a plan would have for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.speed.bench_scale import KEPT
from benchmarks.speed.scale_run import BUDGETS, UNTRAINED
from ldpsim.devices.datasets.generated import arxiv_like
from ldpsim.strategies.estimate.graph_facts import GraphFacts, measured
from ldpsim.strategies.setup.options import RunOptions


def kept_runs() -> list[dict[str, Any]]:
    """Return the runs of docs/results/scale.json."""
    found: list[dict[str, Any]] = json.loads(KEPT.read_text())["runs"]
    return found


def options_of_kept(run: Mapping[str, Any]) -> RunOptions:
    """Return the options of a run of :mod:`benchmarks.speed.scale_run`, without its devices' folders."""
    settings = {} if run["method"] in UNTRAINED else {"epochs": str(run["epochs"])}
    return RunOptions(method=run["method"], dataset="generated", clients=run["people"], settings=settings, out=None,
                      nulls=run["nulls"], reference=run["nulls"], **BUDGETS.get(run["method"], {}))  # fmt: skip


def facts_of_kept(run: Mapping[str, Any]) -> GraphFacts:
    """Return the facts of its graph."""
    if run["graph"] == "arxiv-like":
        few = measured(arxiv_like(3_000))
        return replace(few, n=run["people"])
    # The generated graph of those runs has left the product.
    return GraphFacts(run["people"], features=256, classes=5, mean_degree=7.0, homophily=0.62, words=16.0)

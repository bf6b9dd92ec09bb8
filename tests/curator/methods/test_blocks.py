"""Graphs made in small blocks of rows and strips of columns are those made at once, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.linear import strips
from ldpsim.curator.links import hogs
from ldpsim.curator.methods import Budget, Graph, find
from ldpsim.curator.methods.base import Question
from ldpsim.curator.reports import pairs
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.facts import PublicKnowledge
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.engines.collect import collect

COLLECTION = "c" * 32
PEOPLE = generate(160, 136, 3, seed=2)
BUDGETS: dict[str, dict[str, float]] = {
    "hogs": {"eps_adjacency": 4.0, "eps_features": 2.0}, "sbp": {"eps_adjacency": 4.0, "eps_features": 2.0},
    "lp-and": {"eps_adjacency": 4.0}, "rgnn": {"epsilon": 8.0}, "lpgnn": {"epsilon": 8.0},
}  # fmt: skip


def _collected(questions: Sequence[Question], folder: Path) -> Reports:
    enrol(folder, PEOPLE, policy_for([question.query for question in questions], PEOPLE.facts), seed=3).close()
    reports = collect(folder, questions, devices=len(PEOPLE), engine="local", facts=PEOPLE.facts).decoded
    assert reports is not None and reports.answered.all()
    return reports


def _graph(name: str, folder: Path) -> Graph:
    method = find(name)()
    split = make_split("random", PEOPLE, 0)
    questions = method.questions(PEOPLE.facts, split, Budget(**BUDGETS[name]), COLLECTION)  # type: ignore[arg-type]
    reports = _collected(questions, folder)
    labels = np.where(np.isin(np.arange(160), split.labelled), PEOPLE.labels, -1)
    edges = PEOPLE.edges if method.effective_spec().public_graph else None
    return method.reconstruct(reports, PublicKnowledge(PEOPLE.facts, split, labels, None, edges))


def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "_ENTRIES", 1)  # 8 columns
    monkeypatch.setattr(pairs, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(hogs, "_ROWS_AT_ONCE", 5)


@pytest.mark.parametrize("name", BUDGETS)
def test_blocks_and_strips_change_no_bit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _graph(name, tmp_path / "whole")
    _small(monkeypatch)
    parts = _graph(name, tmp_path / "parts")
    assert whole.edge_index.shape[1] > 50
    assert np.array_equal(whole.edge_index, parts.edge_index)
    assert np.array_equal(np.asarray(whole.edge_weight), np.asarray(parts.edge_weight))
    first, second = (_values(graph.features) for graph in (whole, parts))
    assert np.array_equal(first, second)


def _values(features: Any) -> np.ndarray:
    return np.asarray(features.toarray() if isinstance(features, csr_array) else features)

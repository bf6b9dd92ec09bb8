"""Levels of random methods, options and facts: panel and pages show exactly the figures of the fields.

Covers the way of a guarantee to the panel (cli/summary.py) and to the pages (cli/words.py, cli/report/page.py).
"""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from ldpsim.cli import words
from ldpsim.cli.report import page
from ldpsim.cli.report.page import row_of
from ldpsim.cli.summary import _holds
from ldpsim.cli.words import epsilon
from ldpsim.curator.methods import Budget, find
from ldpsim.curator.methods.base import questions_asked
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.strategies.outputs.groups import groups_of
from ldpsim.strategies.results.in_words import compared_levels, held, shown_levels
from tests.cli.conftest import RECORD

_FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
METHODS = ("hogs", "solitude", "lpgnn", "rgnn", "blink", "rr", "sbp", "vote", "ldp-fedavg", "dp-fedavg", "mlp", "raw")


@st.composite
def guarantees(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Levels of any method at any options that fit it, over some collections, as a result has them."""
    method = find(draw(st.sampled_from(METHODS)))()
    n, classes = draw(st.integers(12, 60)), draw(st.integers(2, 5))
    facts = PublicFacts(n, draw(st.integers(10, 50)), classes)
    split = Split(*np.array_split(np.arange(n), 3))
    budget = Budget(
        epsilon=draw(st.floats(0.5, 8.0)), public_features=method.spec.public_features or draw(st.booleans()),
        eps_labels=draw(st.sampled_from((None, 1.5))), private_labels=False,
        reporting=draw(st.sampled_from(("both", "one-end"))),
    )  # fmt: skip
    times = draw(st.integers(1, 4))
    try:
        questions = questions_asked(method, facts, split, budget, "c")
        many = method.guarantee(facts, questions, budget, collections=times).over(times)
        one = method.guarantee(facts, questions, budget)
    except ValueError:  # these options do not fit the method
        return {name: Level("not asked").to_dict() for name in LEVELS}
    found = many.beside(one) if times > 1 and draw(st.booleans()) else many
    return dict(found.to_dict()["holds"])


def fields(entry: dict[str, Any]) -> list[float]:
    """Return the losses and deltas that a level has."""
    one = entry["of_one"] or {"value": None, "delta": 0.0}
    private = entry["private_value"] is not None
    deltas = [entry["delta"] or None, entry["private_delta"] or None if private else None, one["delta"] or None]
    wanted = [entry["value"], entry["private_value"], entry["own"], entry["per_list"], one["value"], *deltas]
    return [value for value in wanted if value is not None]


def wrong(holds: dict[str, dict[str, Any]]) -> str:
    """Return the level at which a page shows other figures than its fields; empty if there is none."""
    record = copy.deepcopy(RECORD)
    record["privacy"]["holds"] = holds
    (group,) = groups_of([record])
    said = {name: entry["words"] for name, entry in row_of(group)["levels"].items()}
    for level in shown_levels():
        entry = held(holds, level)
        count = 1 if entry["of_one"] else 0  # "in all T" has T besides
        shown = [figure.replace(",", "") for figure in _FIGURE.findall(said[level])]
        losses = [epsilon(value).replace(",", "") for value in
                  (entry["value"], entry["private_value"], entry["own"], entry["per_list"],
                   (entry["of_one"] or {}).get("value")) if value is not None]  # fmt: skip
        left = list(shown)
        for figure in losses:
            if figure not in left:
                return f"{level}: {figure} is missing in {said[level]}"
            left.remove(figure)
        if len(shown) != len(fields(entry)) + count:
            return f"{level}: {said[level]}"
    return ""


@given(guarantees())
@settings(deadline=None, max_examples=60)
def test_a_page_shows_exactly_the_figures_of_the_fields(holds: dict[str, dict[str, Any]]) -> None:
    assert not wrong(holds)


@given(guarantees())
@settings(deadline=None, max_examples=40)
def test_the_panel_shows_every_loss(holds: dict[str, dict[str, Any]]) -> None:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(_holds(holds))
    lines = captured.get()
    for entry in holds.values():
        for name in ("value", "private_value", "own", "per_list"):
            assert entry[name] is None or epsilon(entry[name]) in lines


def test_a_page_without_the_private_rest_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ``private_value`` the words are others."""
    method, budget = find("vote")(), Budget(epsilon=4.0, public_features=True)
    facts, split = PublicFacts(30, 4, 3), Split(*np.array_split(np.arange(30), 3))
    holds = dict(method.guarantee(facts, questions_asked(method, facts, split, budget, "c"), budget).to_dict()["holds"])
    assert not wrong(holds) and held(holds, "user")["private_value"] == 4.0
    whole = words.level
    monkeypatch.setattr(page, "level", lambda entry: whole({**entry, "private_value": None}))
    assert wrong(holds).startswith("user: 4 is missing")
    assert set(compared_levels()) >= set(shown_levels())

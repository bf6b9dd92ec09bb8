from __future__ import annotations

from dataclasses import replace

import pytest

from strategies.estimate.graph_facts import GraphFacts
from strategies.planning.on_paper import OnPaper
from strategies.planning.rows import given_settings, plan_row
from strategies.setup.options import RunOptions

PAPER = OnPaper(GraphFacts(40_000, features=40, classes=3, words=5.0))


def test_a_row_has_bytes_seconds_and_memory_and_says_whether_it_fits() -> None:
    row = plan_row(PAPER, RunOptions(method="hogs"), "relationship", 1.0)
    assert row.loss == 14.4 and row.at_level["level"] == "relationship" and 0.9 < row.at_level["best_guess"] < 1
    figures = row.figures
    assert figures["bytes_per_device"] == figures["bytes"]["down"] + figures["bytes"]["up"]
    assert figures["bytes"]["in_all"] == figures["bytes_per_device"] * 40_000
    assert figures["fits"] is (figures["machines"] == 1)
    slower = plan_row(PAPER, RunOptions(method="hogs"), "relationship", 2.0)
    assert slower.figures["seconds"] == 2 * figures["seconds"]


def test_a_method_that_was_not_measured_cannot_fit_where_its_reports_alone_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("strategies.planning.rows.load_of", lambda *given, **named: None)
    few = plan_row(PAPER, RunOptions(method="hogs"), "user", 1.0).figures
    assert few["fits"] is None and few["machines"] is None and few["memory_factor"] is None
    many = plan_row(OnPaper(GraphFacts(10**8)), RunOptions(method="hogs"), "user", 1.0).figures
    assert many["fits"] is False and many["machines"] > 100


def test_the_private_part_stands_for_a_record_of_which_a_part_is_public() -> None:
    row = plan_row(PAPER, RunOptions(method="lpgnn"), "user", 1.0)
    assert row.private_only == "list" and row.loss == 8.0
    assert "a relationship" in row.not_protected
    clear = plan_row(PAPER, RunOptions(method="fedavg-mlp"), "user", 1.0)
    assert "a person" in clear.not_protected and "a relationship" not in clear.not_protected
    assert clear.loss == float("inf") and "best_guess" not in clear.at_level


def test_a_row_says_in_words_what_its_losses_leave_hidden() -> None:
    hogs = plan_row(PAPER, RunOptions(method="hogs"), "user", 1.0)
    assert hogs.not_protected.startswith(
        "a relationship, all features, a person, a person as others report it: no mean"
    )
    assert hogs.protected.startswith("a bit (one feature): ")
    clear = plan_row(PAPER, RunOptions(method="fedavg-mlp"), "user", 1.0)
    assert clear.not_protected.endswith(": in clear") and not clear.protected


def test_settings_are_what_is_not_the_default() -> None:
    options = RunOptions(method="vote", epsilon=3.0, settings={"homophily": "0.6"}, clients=77)
    assert given_settings(options) == {"epsilon": 3.0, "set": {"homophily": "0.6"}}


def test_what_a_row_must_beat_has_a_name_and_a_figure() -> None:
    row = plan_row(PAPER, RunOptions(method="hogs"), "user", 1.0)
    assert row.to_dict()["above"] is None
    assert replace(row, bar=("features alone", 0.25)).to_dict()["above"] == {"name": "features alone", "test": 0.25}
    assert row.meets and not row.with_reasons("too dear").with_reasons("too slow").meets
    assert row.with_reasons("too dear").with_reasons("too slow").to_dict()["why"] == ["too dear", "too slow"]

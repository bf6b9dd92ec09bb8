from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.strategies.estimate.asked import largest_question, questions_on_paper
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.load import TIME_ERROR, Load
from ldpsim.strategies.estimate.traffic import expected_traffic, training_traffic
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.planning.rows import PlanRow, given_settings, plan_row
from ldpsim.strategies.planning.worth import Worth
from ldpsim.strategies.results.in_words import guess
from ldpsim.strategies.setup.options import RunOptions

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
    monkeypatch.setattr("ldpsim.strategies.planning.rows.load_of", lambda *given, **named: None)
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
    assert hogs.protected.startswith("a feature: ")
    clear = plan_row(PAPER, RunOptions(method="fedavg-mlp"), "user", 1.0)
    assert clear.not_protected.endswith(": in clear") and not clear.protected


def test_settings_are_what_is_not_the_default() -> None:
    options = RunOptions(method="vote", epsilon=3.0, settings={"homophily": "0.6"}, clients=77)
    assert given_settings(options) == {"epsilon": 3.0, "set": {"homophily": "0.6"}}


def test_a_row_with_a_reason_does_not_meet_the_wishes() -> None:
    row = plan_row(PAPER, RunOptions(method="hogs"), "user", 1.0)
    assert row.meets and not row.with_reasons("too dear").with_reasons("too slow").meets
    assert row.with_reasons("too dear").with_reasons("too slow").to_dict()["why"] == ["too dear", "too slow"]


def load(**changed: Any) -> Load:
    return Load(**{"seconds": {"start": 1.0, "collect": 8.0, "train": 3.0}, "memory_bytes": 5e9, "measured": 10_000,
                   "people": 40_000, "by_law": False} | changed)  # fmt: skip


@pytest.mark.parametrize(("given", "memory", "wanted"), [
    (load(), 16e9, {"seconds": 12.0, "seconds_per_device": 8.0 / 40_000, "seconds_factor": TIME_ERROR,
                    "memory_bytes": 5e9, "memory_factor": load().memory_error, "measured_up_to": 10_000, "fits": True,
                    "machines": 1}),
    (load(memory_bytes=16e9), 16e9, {"fits": True, "machines": 1}),
    (load(memory_bytes=16.1e9), 16e9, {"fits": False, "machines": 2}),
    (load(memory_bytes=33e9), 16e9, {"fits": False, "machines": 3}),
    (load(measured=9999), 16e9, {"seconds": 12.0, "seconds_factor": None}),
    (load(noisy=True), 16e9, {"seconds": None, "seconds_by_phase": None, "seconds_per_device": None,
                              "memory_bytes": None, "measured_up_to": None, "fits": None, "machines": None}),
    (load(noisy=True, knows_pairs=True), 16e9, {"seconds": None, "memory_bytes": 5e9, "machines": 1}),
    (None, 1e3, {"seconds": None, "memory_bytes": None, "memory_factor": None, "fits": False}),
])  # fmt: skip
def test_the_load_of_a_row(
    monkeypatch: pytest.MonkeyPatch, given: Load | None, memory: float, wanted: dict[str, Any]
) -> None:
    asked = []
    monkeypatch.setattr(
        "ldpsim.strategies.planning.rows.load_of", lambda *of, **named: asked.append((of, named)) or given
    )
    monkeypatch.setattr("ldpsim.strategies.planning.rows.memory_bytes", lambda: memory)
    options = RunOptions(method="hogs", clients=77)
    figures = plan_row(PAPER, options, "user", 0.5).figures
    assert {name: figures[name] for name in wanted} == wanted
    assert asked == [((replace(options, clients=40_000), PAPER.facts), {"speed": 0.5})]


def test_the_figures_of_a_row_are_those_of_its_questions() -> None:
    options = RunOptions(method="hogs", epsilon=6.0, label_rate=0.2)
    row = plan_row(PAPER, options, "user", 1.0)
    setup = PAPER.set_up(options)
    asked = questions_on_paper(setup.method, PAPER.facts.public(), setup.budget, options)
    traffic = expected_traffic(asked, PAPER.facts)
    assert row.figures["bytes"] == {
        "down": traffic.down,
        "up": traffic.up,
        "asked": traffic.asked,
        "rounds": traffic.rounds,
        "in_all": traffic.each * traffic.asked * 40_000,
    }
    assert row.figures["question_bytes"] == largest_question(asked, 40_000) and row.figures["epsilon"] == 6.0
    assert (
        row.figures["holds"] == PAPER.guarantee(setup).to_dict()["holds"]
        and row.figures["trust"] == "untrusted curator"
    )
    assert row.figures["bytes_per_device"] == traffic.each and row.shown_budget == "6"
    vote = plan_row(PAPER, RunOptions(method="vote"), "user", 1.0)
    assert vote.figures["bytes"]["rounds"] is None  # its batches are asked one after another
    fedavg = plan_row(PAPER, RunOptions(method="ldp-fedavg"), "user", 1.0)
    fewer = training_traffic(PAPER.set_up(fedavg.options).method, PAPER.facts, TrainingSettings().hidden)  # type: ignore[arg-type]
    assert fedavg.figures["bytes_per_device"] == fewer.each and fedavg.figures["bytes"]["rounds"] == fewer.rounds


@pytest.mark.parametrize(("given", "shown"), [
    (RunOptions(method="hogs"), "8"), (RunOptions(method="hogs", epsilon=2.0, eps_features=0.25), "2, eps_f 0.25"),
    (RunOptions(method="rr", epsilon=None, eps_adjacency=3.14159), "eps_a 3.14"),
    (RunOptions(method="pate-m"), "lambda 0.4"),
    (RunOptions(method="pate-m", settings={"lambda_": "0.12345"}), "lambda 0.123"),
])  # fmt: skip
def test_a_budget_in_words(given: RunOptions, shown: str) -> None:
    assert plan_row(PAPER, given, "user", 1.0).shown_budget.replace("λ", "lambda") == shown


@pytest.mark.parametrize(("method", "level", "found"), [
    ("pate-m", "user", "central_node"), ("pate-m", "node", "central_node"), ("vote", "user", "user"),
    ("vote", "node", "node"), ("vote", "relationship", "relationship"),
])  # fmt: skip
def test_the_level_of_a_row(method: str, level: str, found: str) -> None:
    row = plan_row(PAPER, RunOptions(method=method), level, 1.0)
    assert row.at_level["level"] == found
    best = guess(row.at_level["value"], row.at_level["delta"]) if row.at_level["value"] is not None else None
    assert row.at_level.get("best_guess") == best


def test_a_row_as_json() -> None:
    row = PlanRow(RunOptions(method="vote", epsilon=3.0), {"a": 1}, {"status": "bounded", "value": 2.0})
    plain = {"method": "vote", "name": "vote", "in_clear": "",
             "asks": "one vote on the neighbours' classes", "group": "asking less",
             "settings": {"epsilon": 3.0}, "mechanisms": [], "a": 1, "worth": None,
             "at_level": {"status": "bounded", "value": 2.0, "public": None}, "meets": True, "why": []}  # fmt: skip
    assert row.to_dict() == plain and row.loss == 2.0
    more = replace(row, worth=Worth(0.5, 0.1), private_only="list").to_dict()
    assert more == plain | {
        "worth": Worth(0.5, 0.1).to_dict(),
        "at_level": {"status": "bounded", "value": 2.0, "public": "list"},
    }
    assert replace(row, at_level={"status": "not asked"}).loss == 0.0
    assert replace(row, at_level={"status": "unprotected", "value": None}).loss == float("inf")
    others = {
        name: PlanRow(RunOptions(method=name), {}, {}).listed for name in ("raw", "privgnn", "silo-fedprox", "rr")
    }
    assert {name: (each.group, each.asks) for name, each in others.items()} == {
        "raw": ("nothing", "nothing"), "privgnn": ("other trust", "adjacency, features, label"),
        "silo-fedprox": ("other trust", "nothing"), "rr": ("asking less", "links"),
    }  # fmt: skip

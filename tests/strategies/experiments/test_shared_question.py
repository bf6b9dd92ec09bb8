from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from curator import methods
from curator.methods import Question
from curator.methods.base import Budget
from curator.methods.local.lp_and import LPAnd
from devices.facts import PublicFacts, Split
from strategies.experiments.compare import Comparison, compare
from strategies.experiments.shared_question import questions_of_others
from strategies.runs import same_reports
from strategies.runs.simulate import simulate
from strategies.setup.options import RunOptions
from strategies.setup.read_options import read_alone

OPTIONS = RunOptions(
    clients=60, reference=False, nulls=False, device="cpu", settings={"epochs": "3"}, repeats=2, public_features=True
)


@dataclass(frozen=True)
class Reader(LPAnd):
    """A method that asks the question of another one."""

    asks: str = "rr"
    name: ClassVar[str] = "reader"
    asks_questions_of: ClassVar[str] = "asks"

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        return methods.find(self.asks)().questions(facts, split, budget, collection)


@pytest.fixture(autouse=True)
def here(cells_in_this_process: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the reader of this file a method of another package."""
    entry = EntryPoint("reader", "tests.strategies.experiments.test_shared_question:Reader", "ldpsim.methods")
    monkeypatch.setattr(methods, "entry_points", lambda **_: [entry])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the methods for which people were asked, one a collection."""
    found: list[str] = []
    from strategies.runs import one_report

    for module in (same_reports, one_report):
        ask = module.gather_reports
        monkeypatch.setattr(
            module, "gather_reports", lambda scene, ask=ask: found.append(scene.setup.method.name) or ask(scene)
        )
    return found


def together(folder: Path, *names: str, **more: Any) -> Comparison:
    return compare(names, replace(OPTIONS, out=folder, **more), same_reports=True)


def test_one_collection_for_all_that_ask_the_same_and_the_others_are_named(tmp_path: Path, asked: list[str]) -> None:
    found = together(tmp_path, "rr", "blink", "lp-and", "raw", "hogs")
    assert [record["method"] for record in found.records] == ["rr", "blink", "lp-and", "raw", "hogs"]
    assert len(asked) == 4 and asked.count("blink") == 2  # two repeats, one collection each, and blink's own
    rr, blink, lp_and, _, hogs = (record["devices"]["reports_sha256"] for record in found.records)
    assert rr == lp_and == hogs != blink
    said = found.same_reports
    assert said is not None and json.loads((found.folder / "compare.json").read_text())["same_reports"] == said
    (group,) = said["groups"]
    assert group["methods"] == ["rr", "lp-and", "hogs"] and group["to"] == "rr"
    assert set(group["differences"]) == {"lp-and", "hogs"}
    by_name = {record["method"]: record["accuracy"]["test"] for record in found.records}
    for name, entry in group["differences"].items():
        assert entry["value"] == pytest.approx(by_name[name] - by_name["rr"])
        assert entry["low"] <= entry["value"] <= entry["high"]
    assert said["alone"] == {
        "blink": "blink asks another question than rr: it runs by itself, and no difference to it is paired",
        "raw": "raw asks for no report: it runs by itself, and no difference to it is paired",
    }


def test_results_are_those_without_the_switch(tmp_path: Path) -> None:
    found = together(tmp_path, "rr", "hogs", repeats=1)
    for record in found.records:
        alone = simulate(read_alone(replace(OPTIONS, repeats=1, out=None, method=record["method"]))[0]).record
        for part in ("config_hash", "devices", "accuracy", "privacy"):
            assert record[part] == alone[part], part


def test_a_comparison_that_was_stopped_or_gets_one_more_method_asks_nobody_again(
    tmp_path: Path, asked: list[str]
) -> None:
    first = together(tmp_path, "rr", "hogs")
    (first.folder / first.folders[1] / "result.json").unlink()
    again = together(tmp_path, "rr", "hogs")
    assert again.found == 1 and again.same_reports == first.same_reports and len(asked) == 2
    more = together(tmp_path, "rr", "hogs", "lp-and")
    assert more.found == 2 and len(asked) == 2
    assert more.same_reports is not None and set(more.same_reports["groups"][0]["differences"]) == {"hogs", "lp-and"}


def test_a_result_with_devices_of_its_own_does_not_do(tmp_path: Path, asked: list[str]) -> None:
    before = compare(("rr", "hogs"), replace(OPTIONS, out=tmp_path, repeats=1))
    found = together(tmp_path, "rr", "hogs", repeats=1)
    assert found.folder != before.folder and found.found == 0 and len(asked) == 3
    assert together(tmp_path, "rr", "hogs", repeats=1).found == 2
    assert [record["config_hash"] for record in found.records] == [record["config_hash"] for record in before.records]


def test_a_method_that_can_take_over_a_question_takes_the_first_one_unless_told(tmp_path: Path) -> None:
    assert questions_of_others(["mlp", "reader", "hogs", "rgnn"]) == {"reader": {"asks": "hogs"}}
    assert questions_of_others(["reader", "mlp"]) == {} == questions_of_others(["hogs", "rgnn"])
    found = together(tmp_path, "reader", "blink", repeats=1)
    assert found.same_reports is not None and found.same_reports["groups"][0]["methods"] == ["reader", "blink"]
    assert found.records[0]["config"]["parameters"]["asks"] == "blink"
    with pytest.raises(ValueError, match="no two of reader, blink ask the same question"):
        together(tmp_path, "reader", "blink", settings={"asks": "rr", "epochs": "3"}, repeats=1)


def test_nothing_to_share_is_a_mistake_of_one_line_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="--same-reports: no two of hogs, raw ask the same question of the same people"
    ):
        together(tmp_path, "hogs", "raw")
    assert not list(tmp_path.iterdir())

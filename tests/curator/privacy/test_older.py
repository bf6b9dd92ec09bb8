"""Stored results of schema 1 (schema_1.json): their sentences become fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curator.privacy.level import Level
from curator.privacy.older import level_of_before
from strategies.experiments.match_budgets import guarantee_before
from strategies.runs.set_up import set_up
from strategies.setup.options import RunOptions

RESULTS: dict[str, Any] = json.loads(Path(__file__).with_name("schema_1.json").read_text())
READ = ("status", "value", "delta", "counted", "public", "not_counted", "private_value", "private_delta", "own",
        "per_list")  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_the_fields_of_a_stored_result_are_those_of_the_same_run_today(name: str) -> None:
    config = RESULTS[name]["config"]
    given = {key: config[key] for key in ("method", "clients", "epsilon", "public_features", "settings")}
    today = guarantee_before(set_up(RunOptions(**given, out=None)))
    for level, entry in RESULTS[name]["privacy"]["holds"].items():
        found, wanted = level_of_before(entry), today.holds[level]
        assert {part: getattr(found, part) for part in READ} == {part: getattr(wanted, part) for part in READ}, level
        assert found.kind == (None if wanted.kind is None else "bound") and found.of_one is None


def test_the_figures_of_several_repeats_are_multiplied() -> None:
    entry = RESULTS["hogs-three-repeats"]["privacy"]["holds"]["bit_adjacency"]
    level = level_of_before(entry, 3)
    assert (level.value, level.of_one and level.of_one.to_dict()) == (10.8, {"value": 3.6, "delta": 0.0, "of": 3})
    entry = RESULTS["vote-public-features"]["privacy"]["holds"]["node"]
    level = level_of_before(entry, 2)
    assert (level.value, level.private_value, level.own, level.per_list) == (None, 480.0, 8.0, 16.0)
    assert level.of_one is not None and level.of_one.value == 240.0
    entry = RESULTS["privgnn"]["privacy"]["holds"]["central_node"]
    assert level_of_before(entry, 4).delta == pytest.approx(0.04)


def test_an_unknown_sentence_is_kept_as_it_is() -> None:
    for detail in ("raw data, no noise", "a {strange} one; and alone: x", "list or so"):
        assert level_of_before({"status": "unprotected", "value": None, "delta": 0.0, "detail": detail}) == Level(
            "unprotected", reason=detail.replace("{", "{{").replace("}", "}}")
        )
        assert Level("unprotected", reason=detail.replace("{", "{{").replace("}", "}}")).detail == detail

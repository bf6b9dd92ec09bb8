"""docs/result-json.md has every key of a result's first level and of the sections that it explains, and no other."""

from __future__ import annotations

import re
from typing import Any

import pytest

from docs.layers import ROOT
from ldpsim.strategies import RunOptions, simulate

PAGE = (ROOT / "docs" / "result-json.md").read_text()
QUICK: dict[str, Any] = {"clients": 80, "out": None, "reference": False}


def named(heading: str) -> set[str]:
    """Return the names in the first column of the table whose heading row begins so."""
    rows = PAGE.partition(f"\n| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    """Return results of the kinds of methods that have sections of their own."""
    given: list[dict[str, Any]] = [
        {"method": "hogs", "defence": "degree", "settings": {"epochs": "1"}},
        {"method": "fedavg-mlp", "settings": {"rounds": "1"}, "nulls": False},
        {"method": "pate-m", "settings": {"epochs": "1", "queries": "8", "teachers": "2"}, "nulls": False},
        {"method": "gap", "settings": {"epochs": "1"}, "nulls": False},
    ]
    return [dict(simulate(RunOptions(**{**QUICK, **options})).record) for options in given]


def test_the_first_level(records: list[dict[str, Any]]) -> None:
    assert set().union(*records) == named("key")


def test_the_fields_of_a_level(records: list[dict[str, Any]]) -> None:
    fields = set(records[0]["privacy"]["holds"]["user"])
    assert fields - {"detail"} <= named("field") and "`detail`" in PAGE


def test_the_simpler_models_and_the_groups(records: list[dict[str, Any]]) -> None:
    assert set(records[0]["nulls"]) | set(records[0]["nulls_not_taken"]) <= named("field of `nulls`")
    text = PAGE.partition("\n## Groups\n")[2]
    shown = set(re.findall(r"`(\w+)`", text))
    assert set(records[0]["groups"]) | set(records[0]["groups"]["rows"][0]) <= shown
    text = PAGE.partition("\n## Simpler models\n")[2].partition("\n## ")[0]
    assert set(records[0]["verdict"]) <= set(re.findall(r"`(\w+)`", text))

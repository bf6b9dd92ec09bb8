"""Results below folders: what is shown, what is left out and why, and that a foreign file breaks nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpsim.cli.report.gather import gather, read_record
from ldpsim.cli.report.page import render
from tests.cli.conftest import RECORD, WITH_NULLS


def test_results_are_found_at_any_depth_and_those_of_devices_are_not(
    tmp_path: Path, write_result: Callable[..., Path]
) -> None:
    run = write_result(tmp_path / "deep" / "er", "hogs-0")
    write_result(run / "state", "inside")
    write_result(tmp_path, ".hidden")
    (tmp_path / "stopped").mkdir()
    (tmp_path / "stopped" / "config.toml").write_text("")
    found = gather([tmp_path, tmp_path / "deep"])
    assert list(found.records) == [run]
    assert [(each.what, each.why) for each in found.left_out] == [
        ("stopped", "no result: interrupted, or still running")
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "cannot be read"),
        ("[]", "no JSON object"),
        ('{"schema": 7}', "schema 7, this version reads schema 2"),
        ('{"schema": true}', "schema True"),
        ('{"schema": 2}', "lacks a part of a result"),
        ('{"schema": 2, "rows": []}', "a result of `ldpsim stress`"),
        ('{"schema": 2, "x": NaN}', "cannot be read"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_another_file_is_left_out_with_one_line(
    text: str, why: str, tmp_path: Path, write_result: Callable[..., Path]
) -> None:
    write_result(tmp_path, "hogs-0")
    (write_result(tmp_path, "other") / "result.json").write_text(text)
    found = gather([tmp_path])
    assert len(found.records) == 1
    (problem,) = found.left_out
    assert problem.what == "other" and why in problem.why and "\n" not in problem.why


def _paths(part: Any, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(part, dict):
        return [before]
    return [before, *(path for key, value in part.items() for path in _paths(value, (*before, key)))]


@settings(max_examples=60, deadline=None)
@given(
    path=st.sampled_from(_paths(RECORD)[1:]),
    value=st.sampled_from(["text", -1, 10**400, 1e308, True, None, [], {}, [None], "\x1b[31m<b>\u202e"]),
)
def test_any_field_of_another_kind_is_shown_or_left_out(
    path: tuple[str, ...], value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A foreign record never breaks the page of the others."""
    record = copy.deepcopy(RECORD)
    part = record
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    folder = tmp_path_factory.mktemp("foreign")
    for name, content in (("own", RECORD), ("foreign", record)):
        (folder / name).mkdir()
        (folder / name / "result.json").write_text(json.dumps(content))
    page = render(gather([folder]))
    assert "\x1b" not in page and "\u202e" not in page


@pytest.mark.parametrize(
    ("path", "value"),
    [("privacy/collections", 10**400), ("privacy/collections", 1 << 63), ("nulls/graph_alone/std", 10**400),
     ("nulls/graph_alone/std", "text"), ("nulls/graph_alone/test", 1e308), ("verdict/text", 10**400)],
)  # fmt: skip
def test_a_figure_that_no_table_and_no_chart_holds_leaves_its_own_result_out_alone(
    path: str, value: Any, tmp_path: Path, write_result: Callable[..., Path]
) -> None:
    write_result(tmp_path, "own")
    write_result(tmp_path, "foreign", {**copy.deepcopy(WITH_NULLS), path: value})
    found = gather([tmp_path])
    assert [problem.what for problem in found.left_out] == ["foreign"] and "generated" in render(found)


def test_an_infinite_number_is_no_figure(tmp_path: Path, write_result: Callable[..., Path]) -> None:
    run = write_result(tmp_path, "a", {"accuracy/test": "HERE"})
    text = (run / "result.json").read_text()
    (run / "result.json").write_text(text.replace('"HERE"', "1e999"))
    with pytest.raises(ValueError, match="no number"):
        read_record(run / "result.json")


def test_a_comparison_has_its_order_its_match_and_the_runs_of_its_last_command(comparison: Path) -> None:
    document = {"folders": ["raw-0", None, "hogs-0"],
                "match": {"level": "user", "target": 2.0, "unmatched": {"raw": "no noise"}}}  # fmt: skip
    (comparison / "compare.json").write_text(json.dumps(document))
    found = gather([comparison])
    assert [group.method for group in found.groups] == ["raw", "hogs"] and found.match == document["match"]
    for broken in ({}, {**document, "match": {**document["match"], "level": "x"}}):  # type: ignore[dict-item]
        (comparison / "compare.json").write_text(json.dumps(broken))
        found = gather([comparison])
        assert [each.what for each in found.left_out] == ["compare.json"] and len(found.groups) == 5

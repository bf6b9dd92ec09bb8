"""Lists of methods and data sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.methods import names


def test_one_line_each() -> None:
    from ldpsim.curator.methods import table

    shown = CliRunner().invoke(app, ["methods"])
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for name in table():
        assert sum(line.split()[0] == name for line in lines) == 1
    assert any(line.startswith("hogs") and "untrusted" in line and " EF " in line for line in lines)


def test_as_json() -> None:
    shown = CliRunner().invoke(app, ["methods", "--json"])
    rows = json.loads(shown.stdout)
    assert all(set(row) == {"name", "paper", "trust", "private", "mechanisms"} for row in rows)
    hogs = next(row for row in rows if row["name"] == "hogs")
    assert hogs["trust"] == "untrusted curator"
    assert hogs["private"] == ["adjacency", "features"]
    assert {"randomized_response", "one_bit"} <= set(hogs["mechanisms"])
    assert "HoGS" in hogs["paper"]


@pytest.mark.parametrize("name", sorted(names())[::4])
def test_one_method_lists_the_options_and_parameters_that_it_reads(name: str) -> None:
    about = json.loads(CliRunner().invoke(app, ["methods", name, "--json"]).stdout)
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["methods", name])
    assert shown.exit_code == 0 and max(map(len, shown.stdout.splitlines())) <= 80
    assert all(word in shown.stdout for word in (*about["options"], *about["rare"], *about["parameters"]))


def test_what_a_method_lists() -> None:
    about = json.loads(CliRunner().invoke(app, ["methods", "privgnn", "--json"]).stdout)
    assert about["parameters"]["queries"] == 1000 and "--epsilon" not in about["options"]


NAMES = {
    "generated", "cora", "citeseer", "citeseer-3312", "citeseer-lcc", "citeseer-full", "pubmed", "dblp",
    "computers", "facebook", "github", "german", "student", "lastfm", "deezer-europe", "twitch-de", "twitch-engb",
    "coauthor-cs", "flickr", "facebook100-reed98", "facebook100-amherst41",
}  # fmt: skip


def test_one_line_a_data_set(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["datasets", "--data-dir", str(tmp_path)])
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line)
    assert {line.split()[0] for line in lines} >= NAMES
    assert len(lines) == len(NAMES) + 2 and "…" not in shown.stdout
    assert " yes " in next(line for line in lines if line.startswith("generated"))
    assert " no " in next(line for line in lines if line.startswith("cora"))


def test_data_sets_as_json(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["datasets", "--json", "--data-dir", str(tmp_path)])
    rows = json.loads(shown.stdout)
    assert {row["name"] for row in rows} == NAMES
    keys = {"name", "people", "source", "licence", "checksum", "on_disk", "nodes", "edges", "features", "classes"}
    assert all(set(row) == keys and row["people"] and row["source"] and row["licence"] for row in rows)
    assert [row["name"] for row in rows if row["on_disk"]] == ["generated"]

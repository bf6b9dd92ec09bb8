from __future__ import annotations

import json

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

from __future__ import annotations

import json

from typer.testing import CliRunner

from ldpsim.cli.main import app


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

"""Lists of methods and data sets, and plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.methods import names
from ldpsim.curator.privacy.level import Level


def test_one_line_each() -> None:
    from ldpsim.curator.methods import table

    shown = CliRunner().invoke(app, ["methods"])
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for name in table():
        assert sum(line.split()[0] == name for line in lines) == 1
    assert any(line.startswith("hogs") and " nobody " in line and " EF " in line for line in lines)


def test_as_json() -> None:
    shown = CliRunner().invoke(app, ["methods", "--json"])
    rows = json.loads(shown.stdout)
    assert all(set(row) == {"name", "paper", "trust", "trusted", "private", "mechanisms"} for row in rows)
    hogs = next(row for row in rows if row["name"] == "hogs")
    assert hogs["trust"] == "untrusted curator" and hogs["trusted"] == "nobody"
    assert hogs["private"] == ["adjacency", "features"]
    assert {"randomized_response", "one_bit"} <= set(hogs["mechanisms"])
    assert "HoGS" in hogs["paper"]


def test_who_is_trusted() -> None:
    rows = {row["name"]: row["trusted"] for row in json.loads(CliRunner().invoke(app, ["methods", "--json"]).stdout)}
    expected = {"vote": "nobody", "ldp-fedavg": "nobody", "isolate": "nobody", "dp-fedavg": "server",
                "silo-fedgcn": "server", "privgnn": "owner", "gap": "owner", "b1": "owner", "raw": "owner"}  # fmt: skip
    assert {name: rows[name] for name in expected} == expected


@pytest.mark.parametrize("name", sorted(names())[::4])
def test_one_method_lists_the_options_and_parameters_that_it_reads(name: str) -> None:
    about = json.loads(CliRunner().invoke(app, ["methods", name, "--json"]).stdout)
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["methods", name])
    assert shown.exit_code == 0 and max(map(len, shown.stdout.splitlines())) <= 80
    assert all(word in shown.stdout for word in (*about["options"], *about["parameters"]))


def test_what_a_method_lists() -> None:
    about = json.loads(CliRunner().invoke(app, ["methods", "privgnn", "--json"]).stdout)
    assert about["parameters"]["queries"] == 1000 and about["parameters"]["lambda"] == 0.4
    assert "--epsilon" not in about["options"]


NAMES = {
    "generated", "cora", "citeseer", "citeseer-3312", "citeseer-lcc", "citeseer-full", "pubmed", "dblp",
    "computers", "facebook", "github", "german", "student", "lastfm", "lastfm-graph", "deezer-europe", "twitch-de",
    "twitch-engb", "coauthor-cs", "flickr", "facebook100-reed98", "facebook100-amherst41",
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


def plan(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def planned(*arguments: object, out: Path) -> dict:  # type: ignore[type-arg]
    shown = plan(*arguments, "--json", "--out", out)
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout)  # type: ignore[no-any-return]


def test_a_plan_depends_on_facts_alone_and_nobody_is_enrolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("ldpsim.devices.enrolment.state.enrol", "ldpsim.strategies.runs.repeat.enrol"):
        monkeypatch.setattr(place, lambda *_, **__: pytest.fail("somebody was enrolled"))
    found = planned("hogs", "lpgnn", "vote", "--clients", "1e8", "--level", "person", "--holds", "4", out=tmp_path)
    assert found["facts"]["n"] == 10**8
    rows = {row["method"]: row for row in found["rows"]}
    assert rows["hogs"]["memory"] == "does not fit" and rows["vote"]["settings"]["epsilon"] == pytest.approx(4)
    assert any("a device reads" in why for why in rows["vote"]["why"])
    assert not list(tmp_path.rglob("ledger*"))


def test_the_document_has_what_scripts_rely_on(tmp_path: Path) -> None:
    found = planned("hogs", "--clients", "2000", "--mean-degree", "9", "--number-of-features", "50", out=tmp_path)
    assert {"facts", "rows", "target", "command"} <= set(found)
    assert found["facts"]["mean_degree"] == 9 and found["facts"]["features"] == 50
    (row,) = found["rows"]
    assert {"method", "settings", "holds", "bytes_per_device", "memory"} <= set(row) and row["memory"] == "fits"
    assert row["holds"]["relationship"] == Level("bounded", 14.4, kind="exact").to_dict()
    wanted = "ldpsim compare hogs --clients 2000 --mean-degree 9 --number-of-features 50 "
    assert found["command"] == f"{wanted}--out {tmp_path}"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_table_fits_the_terminal(width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpsim.cli.plan.console", lambda: Console(width=width, color_system=None))
    shown = plan("hogs", "vote", "fp-solitude", "pate-m", "--clients", "50000", "--level", "relationship",
                   "--holds", "4", "--out", tmp_path)  # fmt: skip
    assert shown.exit_code == 0 and "fp-solitude" in shown.stdout
    table = shown.stdout.partition("Written to")[0]
    assert max(map(len, table.splitlines())) <= width and "…" not in table
    last = shown.stdout.splitlines()[-1]
    assert last.startswith("  ldpsim compare ") and f"{4} --clients 2000" in last
    assert ("does not fit" in table or " fits" in table) is (width > 40)
    assert [path.name for path in tmp_path.rglob("plan*/*")] == ["plan.json"]


def test_quiet_prints_the_path_of_the_plan_and_nothing_else(tmp_path: Path) -> None:
    shown = plan("vote", "--quiet", "--out", tmp_path)
    (path,) = tmp_path.rglob("plan.json")
    assert shown.exit_code == 0 and shown.output == f"{path}\n"

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from ldpsim.cli.main import app

NAMES = {
    "generated", "cora", "citeseer", "citeseer-3312", "citeseer-lcc", "citeseer-full", "pubmed", "dblp",
    "computers", "facebook", "github", "german", "student", "lastfm", "deezer-europe", "twitch-de", "twitch-engb",
    "coauthor-cs", "flickr", "facebook100-reed98", "facebook100-amherst41",
}  # fmt: skip


def test_one_line_each(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["datasets", "--data-dir", str(tmp_path)])
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line)
    assert {line.split()[0] for line in lines} >= NAMES
    assert len(lines) == len(NAMES) + 2 and "…" not in shown.stdout
    assert " yes " in next(line for line in lines if line.startswith("generated"))
    assert " no " in next(line for line in lines if line.startswith("cora"))


def test_as_json(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["datasets", "--json", "--data-dir", str(tmp_path)])
    rows = json.loads(shown.stdout)
    assert {row["name"] for row in rows} == NAMES
    keys = {"name", "people", "source", "licence", "checksum", "on_disk", "nodes", "edges", "features", "classes"}
    assert all(set(row) == keys and row["people"] and row["source"] and row["licence"] for row in rows)
    assert [row["name"] for row in rows if row["on_disk"]] == ["generated"]

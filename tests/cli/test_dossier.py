"""``ldpsim dossier`` on the command line.

It covers ``cli.report.dossier_page`` too.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from cli.main import app
from strategies import RunOptions, simulate

FEW = ("--clients", "120", "--set", "epochs=5", "--quiet")


def ldpsim(*words: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, words)
    return found.exit_code, found.stdout, found.stderr


def test_a_run_gives_a_page_and_a_text(tmp_path: Path) -> None:
    folder = simulate(RunOptions(clients=120, settings={"epochs": "5"}, out=tmp_path)).folder
    code, out, _ = ldpsim("dossier", str(folder), "--out", str(tmp_path / "dossier"))
    page, text = ((tmp_path / "dossier" / name).read_text() for name in ("dossier.html", "dossier.md"))
    assert code == 0 and out.startswith("Dossier of hogs for 120 people.") and "not protected, or hardly: " in out
    assert len(page.encode()) < 300_000 and "<script" not in page and "http://" not in page
    titles = re.findall(r"<h2[^>]*>(.*)</h2>", page)
    assert titles == re.findall("^## (.*)$", text, re.M) and len(titles) == 8
    assert page.count("to be filled by") == text.count("to be filled by")
    for value in re.findall(r"<data [^>]*>(\d[^<]*)</data>", page):
        assert value in text.replace("\\", "")
    code, out, _ = ldpsim("dossier", str(folder), "--json")
    assert set(json.loads(out)) == {"dossier.html", "dossier.md"} and (folder / "dossier.md").is_file()  # type: ignore[operator]
    assert ldpsim("dossier", str(folder), "--quiet")[1].strip() == f"{folder}/dossier.html"


def test_mistakes_are_one_line_and_exit_code_2(tmp_path: Path) -> None:
    for words in ([str(tmp_path)], [str(tmp_path / "nowhere")], []):
        code, out, error = ldpsim("dossier", *words)
        assert code == 2 and out == "" and len(error.strip().splitlines()) == 1
    (tmp_path / "result.json").write_text("[]")
    code, _, error = ldpsim("dossier", str(tmp_path))
    assert code == 2 and error.startswith("error: ")

"""``ldpsim dossier``: every figure against the key that it names, in both formats, and text of a hostile file."""

from __future__ import annotations

import copy
import json
import re
from functools import cache
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ldpsim.cli.documents import page
from ldpsim.cli.dossier import made_of
from ldpsim.cli.main import app
from ldpsim.curator.privacy.level import Level, OfOne
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.experiments.compare import compare
from ldpsim.strategies.results.folder import text_of
from ldpsim.strategies.results.in_words import PROTECTIONS, of_100

RUNS: dict[str, dict[str, Any]] = {
    "hogs": {"settings": {"epochs": "5"}, "repeats": 2},
    "hogs-public": {"method": "hogs", "public_features": True, "settings": {"epochs": "5"}, "nulls": False},
    "vote": {"settings": {"epochs": "5"}, "volunteers": 0.2, "private_labels": True},
    "privgnn": {"settings": {"K": "8", "queries": "5", "epochs": "3"}, "clients": 200, "nulls": False},
    "ldp-fedavg": {"settings": {"rounds": "2"}, "nulls": False},
    "raw": {"settings": {"epochs": "5"}, "nulls": False},
}
WORDS = [each.word for each in PROTECTIONS]


@cache
def record_of(name: str) -> str:
    return text_of(simulate(RunOptions(**{"method": name, "clients": 120, "out": None, **RUNS[name]})).record)


def written(folder: Path, content: Any, name: str = "result.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def rows(made: str) -> list[list[str]]:
    """Return the cells of all tables of a Markdown document, by code of this test."""
    found = []
    for line in made.splitlines():
        if line.startswith("|"):
            cells = [re.sub(r"(?<!\\)\*", "", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found.append([re.sub(r"\\([\W_])", r"\1", cell) for cell in cells])
    return [cells for cells in found if set("".join(cells)) != {"-"}]


class Cells(HTMLParser):
    """Cells of all tables of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag not in ("script", "img", "a", "iframe") and not any(name.startswith("on") for name, _ in attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def value_at(document: Any, path: str) -> Any:
    for name in path.rstrip(".").split("."):
        document = document[int(name) if isinstance(document, list) else name]
    return document


def check_figures(folder: Path, made: str) -> int:
    """Compare what a row shows with what stands at the key that it names; return the number of these rows."""
    count = 0
    for cells in rows(made):
        source = re.fullmatch(r"(theorem|run): (\S+), (.*)", cells[-1])
        if not source or cells[1] == "none":
            continue
        value = value_at(json.loads((folder / source[2]).read_text()), source[3])
        count += 1
        if source[1] == "theorem" and len(cells) == 7:
            check_level(cells, value)
        elif type(value) in (int, float) and len(cells) <= 3 and re.fullmatch(r"[\d,.]+( %)?", cells[1]):
            shown = float(cells[1].removesuffix(" %").replace(",", "")) * (0.01 if cells[1].endswith("%") else 1)
            assert shown == pytest.approx(value, abs=0.005 if cells[1].endswith("%") else 0.5)
    return count


def check_level(cells: list[str], entry: dict[str, Any]) -> None:
    """Check the row of a level: its losses, its odds, and that nothing without a bound has a word of protection."""
    _, status, loss, guess, word, _, _ = cells
    one = entry.get("of_one") or entry
    assert status == ("in clear" if entry["status"] == "unprotected" else entry["status"])
    figures = [float(each.replace(",", "")) for each in re.findall(r"epsilon ([\d,.]*\d)", loss)]
    if status == "bounded":
        expected = [one["value"], entry["value"]] if entry.get("of_one") else [entry["value"]]
        assert all(0 <= got - true + 1e-9 <= 1.1e-4 for got, true in zip(figures, expected, strict=True))
        assert guess == f"at most {of_100(entry)} of 100 times"
    else:
        assert word == ("not protected" if status == "in clear" else status) and word not in WORDS
        assert guess == ("at most 100 of 100 times" if status == "in clear" else "–")
        assert not figures or loss.startswith("the rest:")


@pytest.mark.parametrize("name", RUNS)
def test_every_figure_of_a_run_is_that_of_its_key_in_both_formats(name: str, tmp_path: Path) -> None:
    made = made_of(written(tmp_path, record_of(name)))
    assert check_figures(tmp_path, made) > 25
    assert Cells(page(made)).rows == rows(made)
    holds = json.loads(record_of(name))["privacy"]["holds"]
    first = made.partition("## 0.")[0].replace("\\", "")
    for level, spec in LEVELS.items():
        assert (f"- {spec.term}: not protected" in first) == (holds[level]["status"] == "unprotected")


@pytest.mark.usefixtures("cells_in_this_process")
def test_a_comparison_shows_the_other_methods(tmp_path: Path) -> None:
    options = RunOptions(clients=120, settings={"epochs": "5"}, nulls=False, reference=False, out=tmp_path)
    folder = compare(["hogs", "raw"], options, engine="local", workers=1).folder
    made = made_of(folder)
    check_figures(folder, made)
    (place,) = (path.parent.name for path in folder.glob("raw-*/result.json"))
    (row,) = (cells for cells in rows(made) if cells[0] == "raw")
    test = json.loads((folder / place / "result.json").read_text())["accuracy"]["test"]
    assert row[1:4] == [f"accuracy {100 * test:.1f} %", "person –", "relationship –"]
    assert row[-1] == f"run: {place}/result.json" and made_of(folder, "raw").startswith("# Dossier: raw for 120")


def test_what_is_unprotected_is_never_called_protected(tmp_path: Path) -> None:
    """Combinations of statuses; a loss beside a status that is not bounded changes nothing."""
    record = json.loads(record_of("hogs"))
    record |= {"reconstruction": {}, "groups": None}
    levels = ("relationship", "label", "user")
    for statuses in product(("bounded", "unprotected", "not asked"), repeat=len(levels)):
        given = copy.deepcopy(record)
        for loss, (level, status) in enumerate(zip(levels, statuses, strict=True), 1):
            given["privacy"]["holds"][level] = {
                **Level(status, reason="why", of_one=OfOne(0.1, 0.0, 2)).to_dict(),
                "value": loss / 10, "private_value": loss / 10,
            }  # fmt: skip
        made = made_of(written(tmp_path, given))
        assert check_figures(tmp_path, made) > 25
        for level, status in zip(levels, statuses, strict=True):
            first = made.partition("## 0.")[0]
            assert (f"- {LEVELS[level].term}: not protected" in first) == (status == "unprotected")


def test_text_of_a_file_stays_text_in_both_formats(tmp_path: Path) -> None:
    record = json.loads(record_of("hogs"))
    hostile = "a|b <script>x</script> [c](http://d) ![e](f) `g` **h** &lt; ~~i~~ \\| {{ 1 }}\n\n# j\n<img src=k>"
    record["dataset"]["name"] = hostile
    record["verdict"]["text"] = "<b onclick=x>l</b>"
    record["groups"]["rows"][1] |= {"by": "other", "group": hostile}
    made = made_of(written(tmp_path, record))
    assert "\n# j" not in made and made.count("\n# ") == 0
    cells = Cells(page(made)).rows  # it refuses elements of the file
    assert "<script" not in page("# a\n\n<script>b</script>")  # nor does the converter let one pass
    (row,) = (each for each in cells if each[0] == "data set")
    assert row[1] == " ".join(hostile.split()) and cells == rows(made)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "a part that a dossier needs"),
        ("no JSON", "cannot be read"),
        ([1], "no JSON object"),
        ({"schema": 2, "method": "hogs", "privacy": {"holds": {}}}, "has no"),
        ({"accuracy": {"test": "much"}}, None),
        ({"dataset": {"nodes": []}}, None),
        ({"method": "nobody"}, None),
        ({"privacy": {"holds": {"user": {"status": "bounded", "value": None}}}}, None),
    ],
    ids=str,
)
def test_bad_files_are_errors_of_one_line(content: Any, said: str | None, tmp_path: Path) -> None:
    """A content without words is a change of a whole record."""
    content = content if said else json.loads(record_of("hogs")) | content
    with pytest.raises(ValueError, match=said) as error:
        made_of(written(tmp_path, content))
    assert "\n" not in str(error.value)


def test_the_command_writes_both_files(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", record_of("raw"))

    def ldpsim(*words: object) -> tuple[int, str, str]:
        found = CliRunner().invoke(app, ["dossier", *map(str, words)])
        return found.exit_code, found.stdout, found.stderr

    code, out, _ = ldpsim(folder, "--out", tmp_path / "d")
    text, html = ((tmp_path / "d" / name).read_text() for name in ("dossier.md", "dossier.html"))
    assert code == 0 and out.split() == f"Written to {tmp_path}/d/dossier.html and {tmp_path}/d/dossier.md".split()
    assert text == made_of(folder) and html == page(text) and "<title>Dossier: raw for 120 people</title>" in html
    assert len(html.encode()) < 300_000 and "http://" not in html
    assert set(json.loads(ldpsim(folder, "--json")[1])) == {"dossier.html", "dossier.md"}
    assert ldpsim(folder, "--quiet")[1].strip() == f"{folder}/dossier.html"
    written(tmp_path / "empty", {"folders": []}, "compare.json")
    for words in ([tmp_path], [tmp_path / "nowhere"], [], [tmp_path / "empty"], [folder, "vote"]):
        code, out, error = ldpsim(*words)
        assert code == 2 and out == "" and len(error.strip().splitlines()) == 1

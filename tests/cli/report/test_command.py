from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app, version
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.palette import SERIES


def report(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["report", *map(str, arguments)])


def test_the_page_lies_in_the_folder(comparison: Path) -> None:
    shown = report(comparison)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == f"5 results of generated.\nWritten to {comparison / 'report.html'}\n"
    assert "<title>generated: 5 results side by side</title>" in (comparison / "report.html").read_text()
    assert report(comparison, "--quiet", "--out", comparison / "mine.html").stdout == f"{comparison / 'mine.html'}\n"
    one = comparison / "one"
    for option, *more in (("--out", one / "p.html"), ("--out", comparison), ("--latex", one / "t.tex"),
                          ("--latex", one, "--out", one)):  # fmt: skip
        wrong = report(comparison, option, *more)
        assert (wrong.exit_code, wrong.stdout, len(wrong.stderr.splitlines())) == (2, "", 1) and option in wrong.stderr
    assert not one.exists()


def test_json_has_the_results_and_the_page(comparison: Path) -> None:
    document = json.loads(report(comparison, "--json").stdout)
    assert set(document) == {"results", "html"}
    assert [record["method"] for record in document["results"]] == ["dp-fedavg", "hogs", "lpgnn", "mlp", "raw"]
    assert Path(document["html"]).is_absolute() and Path(document["html"]).is_file()


def test_a_table_for_a_paper(comparison: Path, tmp_path: Path) -> None:
    file = tmp_path / "my t.tex"
    shown = report(comparison, "--latex", file)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[1:] == [f"Written to {comparison / 'report.html'}", f"       and {file}"]
    comment, *lines = file.read_text().splitlines()
    words = ["ldpsim", "report", str(comparison), "--latex", str(file)]
    assert shlex.split(comment.partition(": ")[2]) == words and comment.startswith(f"% ldpsim {version()}: ")
    rows = [line.partition(" ")[0] for line in lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]]
    document = json.loads(report(comparison, "--json", "--latex", file).stdout)
    assert sorted(rows) == [record["method"] for record in document["results"]] and document["latex"] == str(file)


def test_a_table_of_a_comparison_has_the_rows_of_its_last_command_alone(comparison: Path, tmp_path: Path) -> None:
    (comparison / "compare.json").write_text(json.dumps({"folders": ["raw-0", "hogs-0"], "match": None}))
    assert report(comparison, "--latex", tmp_path / "t.tex").exit_code == 0
    body = (tmp_path / "t.tex").read_text().partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    assert [line.partition(" ")[0] for line in body.strip().splitlines()] == ["raw", "hogs"]


def test_a_figure_is_as_wide_as_a_column_and_has_colours_of_its_own(comparison: Path, tmp_path: Path) -> None:
    for end in ("svg", "pdf", "PNG"):
        file = tmp_path / f"accuracy.{end}"
        shown = report(comparison, "--figure", file)
        assert shown.exit_code == 0 and shown.stdout.endswith(f"       and {file}\n"), shown.output
    width = 8.5 / 2.54 * 72  # points
    svg = (tmp_path / "accuracy.svg").read_text()
    (found,) = re.findall(r'<svg [^>]*width="([\d.]+)pt"', svg)
    assert float(found) == pytest.approx(width)
    assert "var(" not in svg and SERIES[0] in svg and "epsilon for a person (log scale)" in svg
    for name in ("dp-fedavg", "hogs", "lpgnn", "mlp", "raw", "graph alone 78.8"):
        assert f">{name}</text>" in svg, name
    pdf = (tmp_path / "accuracy.pdf").read_bytes()
    (box,) = re.findall(rb"MediaBox \[0 0 ([\d.]+)", pdf)
    assert pdf.startswith(b"%PDF") and float(box) == pytest.approx(width, abs=0.1)
    png = (tmp_path / "accuracy.PNG").read_bytes()
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20]) == pytest.approx(8.5 / 2.54 * 300, abs=1)
    assert json.loads(report(comparison, "--json", "--figure", file).stdout)["figure"] == str(file)


def test_a_figure_has_another_level_than_that_of_a_match_and_names_the_data_set_it_shows(
    tmp_path: Path, write_result: Callable[..., Path]
) -> None:
    folder = tmp_path / "c"
    write_result(folder, "a")
    match = {"level": "user", "target": 21797.6, "unmatched": {}}  # all points would have one place
    (folder / "compare.json").write_text(json.dumps({"folders": ["a"], "match": match}))
    write_result(tmp_path / "d", "b", {"dataset/name": "other"})
    assert report(folder, "--figure", tmp_path / "f.svg").stdout.count("alone") == 0
    assert ">epsilon for a friendship (log scale)</text>" in (tmp_path / "f.svg").read_text()
    shown = report(folder, tmp_path / "d", "--figure", tmp_path / "f.svg", "--out", tmp_path / "p.html")
    assert "f.svg shows generated alone" in shown.stdout


def test_a_method_with_the_name_of_a_colour_is_drawn(tmp_path: Path, write_result: Callable[..., Path]) -> None:
    write_result(tmp_path, "foreign", {"method": "var(--x)"})
    shown = report(tmp_path, "--figure", tmp_path / "f.svg")
    assert shown.exit_code == 0 and ">var(--x)</text>" in (tmp_path / "f.svg").read_text(), shown.output


def test_a_figure_of_no_known_format_is_one_line(
    comparison: Path, tmp_path: Path, listing: Callable[[Path], dict[str, str]]
) -> None:
    before = listing(tmp_path)
    for name in ("f.jpg", "f"):
        shown = report(comparison, "--figure", tmp_path / name)
        assert (shown.exit_code, shown.stdout, len(shown.stderr.splitlines())) == (2, "", 1)
        assert ".pdf, .svg or .png" in shown.stderr and listing(tmp_path) == before


def test_registry_records_of_a_run(tmp_path: Path, write_result: Callable[..., Path]) -> None:
    run = write_result(tmp_path, "hogs-0")
    (run / "registry-label.yaml").write_text("of an earlier result")
    shown = report(run, "--registry")
    assert shown.exit_code == 0, shown.output
    files = [run / f"registry-{unit}.yaml" for unit in ("relationship", "user", "node")]
    assert sorted(run.glob("registry-*")) == sorted(files)
    assert shown.stdout.splitlines()[1:] == [f"Written to {run / 'report.html'}", *(f"       and {p}" for p in files)]
    losses = [yaml.safe_load(path.read_text())["deployment"]["privacy_loss"] for path in files]
    assert [loss["privacy_parameters"] for loss in losses] == [{"epsilon": e} for e in (14.4, 21797.6, 43390.4)]
    document = json.loads(report(run, "--registry", "--json").stdout)
    assert document["registry"] == [str(path) for path in files]


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ({"a": {}, "b": {"config/seed": 1, "accuracy/test": 0.5}}, "2 results are there"),
        ({"a": {"privacy/holds": dict.fromkeys(LEVELS, Level("unprotected").to_dict())}},
         "hogs has no record, because no unit of privacy is bounded"),
    ],
)  # fmt: skip
def test_a_registry_record_that_cannot_be_is_one_line(
    results: dict[str, dict[str, object]], said: str, tmp_path: Path,
    write_result: Callable[..., Path], listing: Callable[[Path], dict[str, str]],
) -> None:  # fmt: skip
    for name, changes in results.items():
        write_result(tmp_path, name, changes)
    before = listing(tmp_path)
    shown = report(tmp_path, "--registry")
    assert shown.exit_code == 2 and shown.stdout == "" and len(shown.stderr.splitlines()) == 1
    assert said in shown.stderr and listing(tmp_path) == before

"""A company's messy tables to a page in three commands: the first tells all, the last answers yes or no."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.strategies.importing.graph_import import import_graph
from ldpsim.strategies.importing.options import ImportOptions
from tests.cli.company_table import write_tables

FILES = ("referrals.csv", "customers.csv")


def ldpsim(*words: str) -> Result:
    return CliRunner().invoke(app, [*words])


def options_named(told: str) -> list[str]:
    """Return the options of a first message, as a person takes them over: each once, the first of two ways."""
    assert "Traceback" not in told
    by_hand = ["--ignore Since", "--scale minmax", "--label Segment", "--without-row drop", "--duplicates first"]
    assert all(option.rpartition(" ")[2] in told and option.partition(" ")[0] in told for option in by_hand)
    found = re.findall(r"--source \w+ --target \w+|--id '[^']+'|--one-hot City|--decimal ,|--missing \w+|--ignore-case",
                       told)  # fmt: skip
    return [word for option in dict.fromkeys([*found, *by_hand]) for word in shlex.split(option)]


@pytest.mark.usefixtures("cells_in_this_process")
def test_three_commands_lead_to_a_page_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path, 200)
    refused = ldpsim("import", *FILES, "--out", "mine.npz")
    assert refused.exit_code == 2 and not Path("mine.npz").exists()
    made = ldpsim("import", *FILES, "--out", "mine.npz", *options_named(refused.stderr))
    assert made.exit_code == 0, made.output
    (command,) = re.findall(r"Yes or no:\n  (ldpsim compare .*)", made.stdout)
    answered = ldpsim(*shlex.split(command)[1:])
    assert answered.exit_code == 0, answered.output
    words = " ".join(answered.stdout.split())
    assert re.search(r"asking gains \+[\d.]+ points over .* \(95 % CI .*\): (yes|no|not measurable)", words), words
    (page,) = Path("runs").glob("compare-*/compare.html")
    assert "asking gains" in page.read_text()


def test_five_thousand_people_are_read_in_the_second_try(tmp_path: Path) -> None:
    """Nothing is lost but what the message said: counts by hand from the script."""
    write_tables(tmp_path, 5000)
    options = ImportOptions(
        source="Giver", target="Taker", id="Customer No", label="Segment", ignore=("Since",), one_hot=("City",),
        missing="unknown", ignore_case=True, decimal=",", duplicates="first", without_row="drop", scale="minmax",
    )  # fmt: skip
    found = import_graph([tmp_path / name for name in FILES], options=options)
    assert (found["people"], found["features"], found["classes"]) == (5000, 6, 3)
    without = len({k for k in range(5000) if k % 37 == 0 and k % 11})
    assert found["without_label"] == without and found["public"]["class_names"] == ["lapsed", "new", "regular"]
    edges = found["edges"]
    assert edges["self_loops_dropped"] >= 250 and edges["repeats_dropped"] >= 500 and edges["kept"] > 19_000
    told = " ".join(found["left_out"])
    for part in ("not read: Weight", "not read: Since (--ignore)", "read as no label: -, n/a, unknown",
                 "have one already: 20", "without a row of features, left out: 1", "with their people: 2"):  # fmt: skip
        assert part in told, part

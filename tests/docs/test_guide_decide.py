"""The five commands of the guide for people who decide, on a made-up customer table: they end at what the plan said."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from docs.layers import ROOT
from ldpsim.cli.main import app
from ldpsim.strategies.results.in_words import PROTECTIONS, guess, protection, which_epsilon_hides
from ldpsim.strategies.results.numbers import guessed

PEOPLE = 1200


def _customers(folder: Path) -> None:
    rng = np.random.default_rng(0)
    segment = rng.integers(0, 4, PEOPLE)
    region = np.where(rng.random(PEOPLE) < 0.4, segment % 3, rng.integers(0, 3, PEOPLE))
    ends = rng.integers(0, PEOPLE, (2, 20 * PEOPLE))
    ends = ends[:, (segment[ends[0]] == segment[ends[1]]) | (rng.random(20 * PEOPLE) < 0.1)][:, : 3 * PEOPLE]
    pd.DataFrame({"id": [f"C{number}" for number in range(PEOPLE)],
                  "segment": np.array(["new", "regular", "loyal", "lapsed"])[segment],
                  "region": np.array(["north", "south", "west"])[region], "orders": rng.poisson(3, PEOPLE)}
                 ).to_csv(folder / "people.csv", index=False)  # fmt: skip
    pd.DataFrame(ends.T, columns=["source", "target"]).map("C{}".format).to_csv(folder / "edges.csv", index=False)


def _ldpsim(command: str, *more: str) -> Any:
    shown = CliRunner().invoke(app, [*shlex.split(command)[1:], *more])
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout) if more else shown.stdout


def test_the_guide_says_which_epsilon_hides_before_it_asks_for_one() -> None:
    """The figures are those of the one rule for the words, and each word but that of the last degree has a line."""
    guide = (ROOT / "docs" / "guide-decide.md").read_text()
    before = guide.partition("--holds")[0]
    lines = re.findall(r"^\| ([\d.]+) \| ([\d.]+ %) \| ([a-z ]+) \|$", before, re.MULTILINE)
    assert [word for *_, word in lines] == [each.word for each in PROTECTIONS[:-1]]
    for epsilon, chance, word in lines:
        assert (guessed(guess(float(epsilon))), protection(float(epsilon)).word) == (chance, word)
    (above,) = re.findall(r"Above ([\d.]+) it is \*([a-z ]+)\*", before)
    assert above[1] == PROTECTIONS[-1].word == protection(float(above[0])).word
    assert protection(float(above[0]) - 0.1).word == lines[-1][2]
    asked = re.findall(r"--(?:holds|epsilon|match \w+) ([\d.]+)", guide)
    assert asked and {float(each) for each in asked} == {4.0} and "The 4 of the commands below hides little" in before


def test_readme_and_plan_say_it_too(tmp_path: Path) -> None:
    """In the words of the same rule, before the first number is asked for."""
    readme = (ROOT / "README.md").read_text()
    (sentence,) = re.findall(r"An epsilon of ([^(]+) \(\[odds\]\(docs/guide-decide\.md#which-epsilon-hides\)\)", readme)
    said = re.findall(r"([\d.]+) (?:hides )?([a-z ]+)", sentence)
    assert [protection(float(epsilon)).word for epsilon, _ in said] == [each.word for each in PROTECTIONS[:-1]]
    assert all(set(words.split()) <= set(protection(float(epsilon)).word.split()) for epsilon, words in said)
    assert readme.index(sentence) < readme.index("epsilon=4")
    shown = _ldpsim(f"ldpsim plan vote --clients 1000 --level person --holds 4 --out {tmp_path}")
    words = " ".join(shown.partition("method ")[0].split())
    assert which_epsilon_hides() in words and "98.3 % at most: hardly hidden." in words


@pytest.mark.slow
def test_the_five_commands_end_at_what_the_plan_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _customers(tmp_path)
    section = (ROOT / "docs" / "guide-decide.md").read_text().partition("## 4 ")[2]
    (block,) = re.findall(r"```sh\n(.*?)```", section.partition("## 5 ")[0], re.DOTALL)
    imports, plans, runs, compares, dossier = block.splitlines()
    _ldpsim(imports)
    plan = _ldpsim(plans, "--json")
    row = next(row for row in plan["rows"] if row["method"] == "vote")
    assert "--match person 4 --dataset mine.npz" in plan["command"] and "--private-labels" in plan["command"]
    record = _ldpsim(runs, "--json")
    assert record["method"] == "vote"
    assert record["verdict"]["above_chance"] and record["verdict"]["over_chance"]["low"] > 0.1
    for level, planned in row["holds"].items():
        held = record["privacy"]["holds"][level]
        assert (held["status"], held["value"]) == (planned["status"], planned["value"]), level
    sent = record["communication"]
    assert sent["uplink_bytes_per_device"] == pytest.approx(row["bytes"]["up"], rel=0.1)
    assert sent["downlink_bytes_per_device"] == pytest.approx(row["bytes"]["down"], rel=0.25)
    compared = _ldpsim(compares, "--json")
    assert len(compared["results"]) == 3 and not compared["failed"]
    folder = next((tmp_path / "runs").glob("compare-*"))
    assert "dossier" in _ldpsim(
        dossier.replace("runs/compare-mine.npz-0123456789ab", str(folder.relative_to(tmp_path)))
    )
    assert list(tmp_path.glob("dossier*"))

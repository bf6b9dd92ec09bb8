"""First screen of a run and its tables: short for every method, every figure on any width."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ldpsim.cli.output import console
from ldpsim.cli.summary import first_screen, summary, verdict
from ldpsim.curator.methods import BUILT_IN
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies.experiments.compare import guarantee_before
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions


def shown(record: dict[str, Any], folder: Path | None = Path("runs/a")) -> str:
    screen = console()
    with screen.capture() as capture:
        screen.print(summary(record, folder=folder))
    return capture.get()


def words(text: str) -> str:
    """The text without its frame and line breaks."""
    return " ".join(text.replace("│", " ").split())


def test_what_a_person_reads(record: dict[str, Any]) -> None:
    text = words(shown(record))
    for expected in (
        "hogs on generated", "3,000, 10,500 edges, 256 features, 5 classes", "61.2 %", "without noise 85.1 %",
        "null models not taken", "untrusted curator", "Theorem 4",
        "a list entry 7.2 >99.9 %", "a feature 0.8 69 %",
        "all features 204.8",
        "a person's label in clear", "a person: all that a person reports 21,797.6",
        "a person in owned data not asked",
        "an undirected edge stands in both ends' lists", "nodes are public in this",
        "asked 3,000, reported 2,890, replayed 10, refused 50, silent 49, failed 1",
        "refused by code REPORT COLLECTED 50",
        "downlink bytes per device 400", "collect 0.42", "edge precision 0.81, edge recall 0.79, edges 10,238",
        "Simulated from a seed: not private", "Result: runs/a/result.json",
    ):  # fmt: skip
        assert expected in text, expected


def test_the_next_command_says_that_it_asks_again(record: dict[str, Any]) -> None:
    for seeded in (True, False):
        screen = Console(record=True, width=80)
        found = {**record, "simulation_seeded": seeded}
        screen.print(first_screen(found, folder=None, next_command="ldpsim compare hogs raw"))
        assert ("asks these people again, and losses add" in screen.export_text()) is not seeded


def test_an_unbounded_or_unknown_life_is_not_made_small(record: dict[str, Any]) -> None:
    record["privacy"]["lifetime_per_device"] |= {"user": {"max": None, "mean": None}, "complete": False}
    text = words(shown(record))
    assert "in the ledgers in clear; not all of it is known" in text


def printed(shown: object, width: int = 80) -> list[str]:
    screen = Console(width=width, highlight=False)
    with screen.capture() as capture:
        screen.print(shown, crop=False)
    return capture.get().splitlines()


def said(record: dict[str, Any], width: int = 80) -> str:
    return " ".join(" ".join(printed(verdict(record), width)).split())


@pytest.mark.parametrize("width", [40, 80])
def test_what_a_person_reads_first(with_nulls: dict[str, Any], width: int) -> None:
    text = said(with_nulls, width)
    for expected in (
        "accuracy 61.2 %; asking nobody 30.2 % (shuffled all); without noise 85.1 %",
        "is below the best null model (graph alone, 78.8 %): -17.6 (-18.9 to -16.2) points",
        "- a feature: hidden fairly well (best guess 69 %)",
        "- a friendship: not hidden (79.0 % recovered, precision 81.0 %)",
        "- all features, a person, a person as others report it: no meaningful protection",
        "- a person's label: in clear (public for training and validation)",
        "cost 400 B down, 410 B up a device in 1 round; 2.4 MB in all; 14.2 s",
        "claimed epsilon-LDP of links and features, epsilon = 8 (Theorem 4)",
    ):
        assert expected in text, expected
    assert max(map(len, printed(verdict(with_nulls), width))) <= width


INTERVAL = {"value": 0.02, "low": -0.01, "high": 0.05}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"above_nulls": True, "margin": {"value": 0.05, "low": 0.01, "high": 0.09}},
         "beats the best null model (graph alone, 78.8 %): +5.0 (+1.0 to +9.0) points"),
        ({"margin": INTERVAL},
         "does not measurably beat the best null model (graph alone, 78.8 %): +2.0 (-1.0 to +5.0) points"),
        ({"margin": INTERVAL, "best_null": "features_alone"}, "(features alone, 55.0 %)"),
        ({"above_chance": False, "over_chance": INTERVAL},
         "not measurably above chance: +2.0 (-1.0 to +5.0) points; the best null model is graph alone, 78.8 %"),
        ({"above_chance": False, "over_chance": {"value": -0.2, "low": -0.3, "high": -0.1}},
         "below chance: -20.0 (-30.0 to -10.0) points; the best null model is graph alone, 78.8 %"),
        ({"above_chance": False, "over_chance": None},
         "not measurably above chance; the best null model is graph alone, 78.8 %"),
        ({"above_chance": False, "over_chance": INTERVAL, "best_null": "chance"},
         "not measurably above chance: +2.0 (-1.0 to +5.0) points; the best null model is chance, 30.1 %"),
        ({"margin": None, "above_nulls": None, "over_chance": INTERVAL},
         "above chance: +2.0 (-1.0 to +5.0) points; the best null model is graph alone, 78.8 %"),
        ({"margin": None, "above_nulls": None, "above_chance": None}, "null models: not taken"),
    ],
)  # fmt: skip
def test_each_standing_has_its_sentence(with_nulls: dict[str, Any], changes: dict[str, Any], expected: str) -> None:
    with_nulls["verdict"] |= changes
    assert expected in said(with_nulls)


def test_beside_a_device_stands_what_it_knows_alone(with_nulls: dict[str, Any]) -> None:
    """With its list, by own features, and the largest class; the details have them as null models, or the reason."""
    alone, features = {"device_alone": {"test": 0.672, "std": None}}, {"device_features": {"test": 0.55, "std": None}}
    for section, expected in (
        ({}, "curator 61.2 %; a device for itself 70.0 % claimed"),
        (alone, "a device for itself 70.0 %, 67.2 % with no reports (largest class 30.1 %)"),
        (alone | features, "67.2 % with no reports (own features 55.0 %, largest class 30.1 %)"),
    ):
        found = {**with_nulls, "nulls": {**with_nulls["nulls"], **section}}
        assert expected in said(found)
    found["verdict"] = {**found["verdict"], "device": {"best": "device_alone", "margin": INTERVAL}}
    found["accuracy"] = {**found["accuracy"], "device_auc": 0.8125}
    assert "a device for itself 70.0 % (AUC 0.812), 67.2 %" in said(found)
    assert "largest class 30.1 %): +2.0 (-1.0 to +5.0) points over the best of these" in said(found)
    found["nulls_not_taken"] = {"graph_learned": "not taken: no graph is reported"}
    details = words(shown(found))
    assert "graph alone, learned not taken: no graph is reported" in details
    assert "device, features 55.0 % (nobody is asked; own features, no list)" in details


def test_text_of_a_record_is_no_markup(record: dict[str, Any]) -> None:
    record["privacy"]["holds"]["label"] |= {"detail": "[bold]public[/bold]", "public": []}
    assert "in clear ([bold]public[/bold])" in said(record)


LINES, WORDS = 18, 145
PEOPLE = generate(3600, seed=0)


def first_lines(record: Mapping[str, Any], width: int) -> list[str]:
    screen = Console(width=width, highlight=False)
    folder = Path("runs") / f"{record['method']}-generated-0123456789ab-0"
    with screen.capture() as capture:
        following = f"ldpsim compare {record['method']} hogs sbp vote raw --clients 3000 --epsilon 4"
        screen.print(first_screen(record, folder=folder, next_command=following, more=True), crop=False)
    return capture.get().splitlines()


@pytest.mark.parametrize(
    ("method", "chance"), [*((method, False) for method in sorted(BUILT_IN)), ("hogs", True), ("vote", True)]
)
def test_it_is_short_for_every_method(with_nulls: dict[str, Any], method: str, chance: bool) -> None:
    found = guarantee_before(set_up(RunOptions(method=method, clients=len(PEOPLE)), population=PEOPLE))
    accuracy = {**with_nulls["accuracy"], "per_repeat": [0.6] * 10, "std": 0.0141}
    with_nulls["verdict"]["above_chance"] = not chance
    record = {**with_nulls, "method": method, "accuracy": accuracy}
    devices = {"device_alone": {"test": 0.672, "std": None}, "device_features": {"test": 0.55, "std": None}}
    record["nulls"] = {**with_nulls["nulls"], **devices}
    record["privacy"] = {**with_nulls["privacy"], **found.to_dict()}
    lines = first_lines(record, 80)
    words = [word for line in lines for word in line.split() if any(letter.isalnum() for letter in word)]
    assert len(lines) <= LINES and len(words) <= WORDS, "\n".join(lines)
    for width in (40, 80, 120):
        lines = first_lines(record, width)
        assert not any("…" in line for line in lines)
        assert max(len(line) for line in lines if not line.startswith(("Result: ", "Next: "))) <= width


def test_a_group_that_is_worse_off_costs_one_line(with_nulls: dict[str, Any]) -> None:
    share = {"value": 0.5, "low": 0.4, "high": 0.6}
    row = {"by": "labelled_neighbour", "group": "no", "people": 40, "worse": True, "best_null": None,
           "more_lost": {"value": 0.2, "low": 0.1}, "method": share, "without_noise": share}  # fmt: skip
    groups = {"rows": [{**row, "by": "everybody", "worse": None}, {**row, "without_noise": {**share, "value": 0.6}}]}
    without, found = first_lines(with_nulls, 80), first_lines({**with_nulls, "groups": groups}, 80)
    added = [line.strip() for line in found if line not in without]
    assert added == ["worse off: no labelled neighbour -10.0 points by noise (all +0.0)"]
    assert len(found) == len(without) + 1
    fair = {"rows": [{**each, "worse": False} for each in groups["rows"]]}
    assert first_lines({**with_nulls, "groups": fair}, 80) == without

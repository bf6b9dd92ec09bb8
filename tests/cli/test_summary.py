"""First screen of a run and its tables: short for every method, every figure on any width."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ldpsim.cli.output import console
from ldpsim.cli.summary import first_screen, summary
from ldpsim.curator.methods import BUILT_IN, find
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.spent import guarantee_before
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
        "hogs on generated", "3,000, 10,500 edges, 256 features, 5 classes", "61.2 %", "no noise 85.1 %",
        "simpler models not run", "untrusted curator", "Theorem 4",
        "a list entry 7.2 >99.9 %", "a feature 0.8 69 %",
        "all features 204.8",
        "a person's label in clear", "a person: all that a person reports 21,797.6",
        "a person in owned data not asked",
        "an undirected edge stands in both ends' lists", "nodes are public in this",
        "asked 3,000, reported 2,890, replayed 10, refused 50, silent 49, failed 1",
        "refused by code REPORT COLLECTED 50",
        "downlink bytes per device 400", "collect 0.42", "edge precision 0.81, edge recall 0.79, edges 10,238",
        "simulated from a seed: these reports are not private", "Result runs/a/result.json",
    ):  # fmt: skip
        assert expected in text, expected


def test_what_a_device_lost_in_its_ledger_has_its_delta(record: dict[str, Any]) -> None:
    lifetime = record["privacy"]["lifetime_per_device"]
    for figures, said in (({"max": 1.0, "delta": 0.01}, "1 (δ 1e-2) at most a device"),
                          ({"max": 0.0, "delta": 0.01}, "0 (δ 1e-2) at most a device"),
                          ({"max": 1.0}, "1 at most a device"), ({"max": None}, "in clear")):  # fmt: skip
        lifetime["user"] = {"mean": 0.0, **figures}
        assert f"in the ledgers {said} " in words(shown(record)), said
    lifetime["user"] = {"max": 0.0, "mean": 0.0}
    assert "in the ledgers" not in words(shown(record))


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
    return " ".join(" ".join(printed(first_screen(record, folder=None), width)).split())


@pytest.mark.parametrize("width", [40, 80])
def test_what_a_person_reads_first(with_nulls: dict[str, Any], width: int) -> None:
    text = said(with_nulls, width)
    for expected in (
        "hogs on generated: 3,000 people, one report each, epsilon claimed: 8",
        "Accuracy on 750 test people hogs 61.2 % best simpler model 78.8 % graph alone (label propagation) "
        "no reports 30.2 % shuffled records (other people's data) no noise 85.1 % the same network on the true data",
        "Asking gains -17.6 points over graph alone (95 % CI -18.9 to -16.2): no.",
        "Privacy: epsilon that holds; chance to tell two values apart (50 %: a coin flip)",
        "a feature 0.8 69 %",
        "a friendship 14.4 >99.9 % both report it; 79.0 % were rebuilt",
        "a person's label public of training and validation people a person 21,797.6 >99.9 %",
        "Claimed: epsilon-LDP of links and features, epsilon = 8 (Theorem 4).",
        "Cost 400 B down, 410 B up a device, 1 round, 14.2 s, 612.0 MB of memory",
        "Warning simulated from a seed: these reports are not private (--noise-seed os)",
    ):
        assert expected in text, expected
    assert "paper" not in text  # nobody has published this project's own methods
    assert max(map(len, printed(first_screen(with_nulls, folder=None), width))) <= width


def test_a_sum_says_who_is_trusted_and_what_fewer_honest_people_mean(record: dict[str, Any]) -> None:
    record["privacy"]["trusted"] = "sum"
    record["privacy"]["holds"]["user"]["figures"] = {
        "honest": 1584,
        "fewer_10": 4.2517,
        "fewer_30": 4.92,
        "fewer_50": 6.0,
    }
    text = said(record)
    assert "volunteers, adder in clear half of 1,584 honest: epsilon 6" in text
    record["privacy"]["trusted"] = "nobody"
    assert "adder" not in said(record)


INTERVAL = {"value": 0.02, "low": -0.01, "high": 0.05}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"above_nulls": True, "margin": {"value": 0.05, "low": 0.01, "high": 0.09}},
         "Asking gains +5.0 points over graph alone (95 % CI +1.0 to +9.0): yes."),
        ({"margin": INTERVAL}, "Asking gains +2.0 points over graph alone (95 % CI -1.0 to +5.0): not measurable."),
        ({"margin": INTERVAL, "best_null": "features_alone"}, "points over features alone"),
        ({"margin": None, "above_nulls": None, "over_chance": INTERVAL},
         "Asking gains +2.0 points over the largest class (95 % CI -1.0 to +5.0): not measurable."),
    ],
)  # fmt: skip
def test_each_standing_has_its_sentence(with_nulls: dict[str, Any], changes: dict[str, Any], expected: str) -> None:
    with_nulls["verdict"] |= changes
    assert expected in said(with_nulls)


def test_without_simpler_models_nothing_is_said_of_a_gain(record: dict[str, Any]) -> None:
    assert "best simpler model not run" in said(record) and "Asking" not in said(record)


def test_beside_a_device_stands_what_it_knows_alone(with_nulls: dict[str, Any]) -> None:
    """With its list, and by own features; the details have them as simpler models, or the reason."""
    alone, features = {"device_alone": {"test": 0.672, "std": None}}, {"device_features": {"test": 0.55, "std": None}}
    for section, expected in (
        ({}, "on each person's device 70.0 % own data Asking"),
        (alone, "on each person's device 70.0 % own data; alone 67.2 % Asking"),
        (alone | features, "own data; alone 67.2 %, features 55.0 % Asking"),
    ):
        found = {**with_nulls, "nulls": {**with_nulls["nulls"], **section}}
        assert expected in said(found)
    found["verdict"] = {**found["verdict"], "device": {"best": "device_alone", "margin": INTERVAL}}
    found["accuracy"] = {**found["accuracy"], "device_auc": 0.8125}
    assert "70.0 % own data, AUC 0.812; alone 67.2 %" in said(found)
    assert "; on the device +2.0 points over the device alone (95 % CI -1.0 to +5.0): not measurable." in said(found)
    found["nulls_not_taken"] = {"graph_learned": "not run: no graph is reported"}
    details = words(shown(found))
    assert "graph alone, learned not run: no graph is reported" in details
    assert "device, features 55.0 % (no reports; own features, no friends)" in details


def test_what_friends_tell_has_its_rows_and_in_the_details_who_learns_what(with_nulls: dict[str, Any]) -> None:
    """An older result has neither, and says nothing of it."""
    assert "friends tell" not in said(with_nulls) and "carrier" not in words(shown(with_nulls))
    found = {**with_nulls, "accuracy": {**with_nulls["accuracy"], "device_with_friends": 0.755},
             "nulls": {**with_nulls["nulls"], "device_alone_with_friends": {"test": 0.731, "std": None}},
             "config": {**with_nulls["config"], "friends_tell": "guess"}}  # fmt: skip
    for width in (40, 80):
        first = said(found, width)
        assert "device (friends tell) 75.5 % alone 73.1 %; trusted: friends, carrier" in first
    details = words(shown(found))
    for expected in (
        "device alone, friends tell 73.1 %",
        "trusted: friends, carrier",
        "to a friend a guess in clear, which depends on features and list",
        "to friends of friends nothing by one message, as it is not passed on",
        "to the carrier who writes to whom",
        "to the curator nothing, if no friend and no carrier colludes with it",
    ):
        assert expected in details, expected
    for kind, expected in (("features", "which depends on features to"), ("label", "the label in clear where")):
        assert expected in words(shown({**found, "config": {**found["config"], "friends_tell": kind}}))


def test_a_reason_that_all_levels_share_is_said_once(record: dict[str, Any]) -> None:
    clear = Level("unprotected", reason="handed to the owner").to_dict()
    record["privacy"]["holds"] = dict.fromkeys(LEVELS, clear)
    assert "everything in clear handed to the owner Claimed:" in said(record)
    record["privacy"]["holds"] = {**record["privacy"]["holds"], "central_node": Level("bounded", 2.0, 1e-4).to_dict()}
    assert "a person in owned data 2 88.1 % delta 1e-4 everything else in clear handed to the owner" in said(record)


def test_text_of_a_record_is_no_markup(record: dict[str, Any]) -> None:
    record["privacy"]["holds"]["label"] |= {"detail": "[bold]public[/bold]", "public": []}
    assert "in clear [bold]public[/bold]" in said(record)


LINES = 20
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
    volunteers = 0.2 if find(method).needs_volunteers else None
    options = RunOptions(method=method, clients=len(PEOPLE), volunteers=volunteers)
    found = guarantee_before(prepare(options, population=PEOPLE))
    accuracy = {**with_nulls["accuracy"], "per_repeat": [0.6] * 10, "std": 0.0141, "device_with_friends": 0.755}
    with_nulls["verdict"]["above_chance"] = not chance
    record = {**with_nulls, "method": method, "accuracy": accuracy}
    devices = {"device_alone": {"test": 0.672, "std": None}, "device_features": {"test": 0.55, "std": None},
               "device_alone_with_friends": {"test": 0.731, "std": None}}  # fmt: skip
    record["nulls"] = {**with_nulls["nulls"], **devices}
    record["privacy"] = {**with_nulls["privacy"], **found.to_dict(), "trusted": find(method).spec.trusted}
    lines = first_lines(record, 80)
    assert len(lines) <= LINES, "\n".join(lines)
    for width in (40, 80, 120):
        lines = first_lines(record, width)
        assert not any("…" in line for line in lines)
        assert max(len(line) for line in lines if not line.startswith(("Result ", "Next "))) <= width


def test_a_group_that_is_worse_off_costs_one_line(with_nulls: dict[str, Any]) -> None:
    share = {"value": 0.5, "low": 0.4, "high": 0.6}
    row = {"by": "labelled_neighbour", "group": "no", "people": 40, "worse": True, "best_null": None,
           "more_lost": {"value": 0.2, "low": 0.1}, "method": share, "without_noise": share}  # fmt: skip
    groups = {"rows": [{**row, "by": "everybody", "worse": None}, {**row, "without_noise": {**share, "value": 0.6}}]}
    without, found = first_lines(with_nulls, 80), first_lines({**with_nulls, "groups": groups}, 80)
    added = [line.strip() for line in found if line not in without]
    assert added == ["People with no labelled friend lose 10.0 points to noise, everybody 0.0."]
    assert len(found) == len(without) + 1
    fair = {"rows": [{**each, "worse": False} for each in groups["rows"]]}
    assert first_lines({**with_nulls, "groups": fair}, 80) == without

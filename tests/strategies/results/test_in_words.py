"""What holds, in words and by level."""

from __future__ import annotations

import copy
import math
import re
from typing import Any

import pytest

from docs.layers import ROOT
from ldpsim.curator.privacy.level import Level, OfOne
from ldpsim.curator.privacy.levels import LEVELS, compared_levels, level_named, level_term, level_word, level_words
from ldpsim.strategies.results.in_words import (
    FOUND,
    PROTECTIONS,
    guess,
    of_100,
    privacy_in_words,
    protection,
    recovered,
)
from ldpsim.strategies.results.levels_of_results import held

PAGE = (ROOT / "docs" / "concepts.md").read_text()


def record(recall: float | None = None, precision: float | None = None, **holds: Level) -> dict[str, Any]:
    """A result in which levels that are not named were not asked."""
    return {
        "privacy": {"holds": {name: holds.get(name, Level("not asked")).to_dict() for name in LEVELS}},
        "reconstruction": {"edge_recall": recall, "edge_precision": precision},
    }


def texts(found: dict[str, Any]) -> list[str]:
    return [each.text for each in privacy_in_words(found)]


def test_a_guess_is_that_of_two_equally_likely_values() -> None:
    assert guess(math.log(3)) == pytest.approx(0.75)
    assert guess(1e9) == 1.0 == guess(0.1, 1.0)
    assert guess(1.0, 0.1) == pytest.approx((math.e + 0.1) / (1 + math.e))


def test_guesses_of_100_are_rounded_up_and_those_of_one_collection() -> None:
    """e / (1 + e) is .731; at delta .1 it is (e + .1) / (1 + e), .758; of three collections one counts."""
    several = Level("bounded", 3.0, 0.3, of_one=OfOne(1.0, 0.1, 3))
    bounded = [Level("bounded", loss, delta) for loss, delta in ((0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (9.0, 0.0))]
    levels = [*bounded, several, Level("unprotected"), Level("not asked")]
    assert [of_100(level.to_dict()) for level in levels] == [50, 74, 76, 100, 76, 100, 50]


@pytest.mark.parametrize(("number", "each"), list(enumerate(PROTECTIONS)))
def test_a_degree_begins_where_the_last_one_ends(number: int, each: Any) -> None:
    if each.most < 1:
        epsilon = math.log(each.most / (1 - each.most))
        assert protection(epsilon - 1e-9) is each and protection(epsilon + 1e-9) is PROTECTIONS[number + 1]
    assert protection(0.0, each.most * 2 - 1 - 1e-9) is each  # delta alone


def test_a_public_class_is_not_counted_where_the_rest_is_hidden() -> None:
    holds = {"user": Level("bounded", 1.0), "node": Level("bounded", 30.0), "label": Level("unprotected")}
    first, *_ = (text for text in texts(record(**holds)) if text.startswith("a person: "))
    assert first.endswith(": hidden fairly well (best guess 73.2 %; not counted: the public label)")
    assert "a person as others report it: no meaningful protection" in texts(record(**holds))
    both = texts(record(**{**holds, "node": Level("bounded", 1.0)}))
    assert any(text.startswith("a person, a person as others report it: hidden fairly well") for text in both)
    holds["label"] = Level("bounded", 1.0)
    assert not any("not counted" in text for text in texts(record(**holds)))


def test_friendships_that_were_found_are_not_hidden_whatever_the_bound_is() -> None:
    bound = {"relationship": Level("bounded", 1.0)}
    line = texts(record(0.992, 0.991, **bound))[1]
    assert line == "a friendship: not hidden (99.2 % were rebuilt)"
    (low,) = [x for x in privacy_in_words(record(0.9, FOUND - 0.01, **bound)) if "relationship" in x.levels]
    assert (low.word, low.tone) == ("hidden fairly well", "good")
    assert low.detail.endswith("; 90.0 % found, precision 49.0 %")
    assert "found" in texts(record(0.2, 0.1))[-1]  # guessed from other reports
    public = Level("unprotected", reason="edges are public")
    assert "a friendship: in clear (edges are public)" in texts(record(1.0, 1.0, relationship=public))
    assert recovered(record(1.0, 1.0, relationship=public)) is None
    assert recovered(record(0.9, 0.8, **bound)) == (0.9, 0.8)


def test_all_levels_alike_are_everything() -> None:
    open_ = Level("unprotected", reason="raw data, no noise")
    assert texts(record(1.0, 1.0, **dict.fromkeys(LEVELS, open_))) == ["everything: in clear (raw data, no noise)"]
    assert texts(record()) == ["everything: not asked"]


def test_an_unknown_status_is_an_error() -> None:
    broken = copy.deepcopy(record())
    broken["privacy"]["holds"]["label"]["status"] = "fine"
    with pytest.raises(ValueError, match=r"privacy\.holds\.label: 'fine'"):
        privacy_in_words(broken)


def test_the_page_has_the_thresholds() -> None:
    rows = re.findall(r"^\| ([\d.]+) % \| ([\d.]+|any) \| ([a-z ]+) \|$", PAGE, re.MULTILINE)
    assert [(float(most) / 100, word) for most, _, word in rows] == [(each.most, each.word) for each in PROTECTIONS]
    for each, (_, epsilon, _) in zip(PROTECTIONS, rows, strict=True):
        assert epsilon == ("any" if each.most == 1 else f"{math.log(each.most / (1 - each.most)):.3f}")
    assert f"both {100 * FOUND:.0f} % or more" in PAGE


@pytest.mark.parametrize("private", [False, True])
def test_words_are_those_of_one_collection(private: bool) -> None:
    """16 collections of epsilon 1 gave the words of 16, above figures of 1."""

    def holds(value: float, one: OfOne | None) -> Level:
        if private:
            return Level("unprotected", private_value=value, public=("features",), of_one=one)
        return Level("bounded", value, of_one=one)

    alone = record(user=holds(1.0, None), vector=holds(1.0, None))
    many = record(user=holds(16.0, OfOne(1.0, 0.0, 16)), vector=holds(16.0, OfOne(1.0, 0.0, 16)))
    assert texts(many) == texts(alone) and "hidden fairly well" in "".join(texts(many))


def bounded(value: float, delta: float = 0.0) -> dict[str, Any]:
    return Level("bounded", value, delta).to_dict()


OPEN = Level("unprotected", reason="in clear").to_dict()
UNASKED = Level("not asked").to_dict()


def at_bit(adjacency: dict[str, Any], feature: dict[str, Any]) -> dict[str, Any]:
    return held({"bit_adjacency": adjacency, "bit_feature": feature}, "bit")


def test_a_bit_is_the_worse_of_its_two_kinds() -> None:
    assert at_bit(bounded(2), bounded(3))["value"] == 3
    assert at_bit(bounded(2), UNASKED)["value"] == 2
    assert at_bit(UNASKED, UNASKED)["status"] == "not asked"
    for one, other in ((OPEN, bounded(1)), (bounded(1), OPEN), (OPEN, UNASKED)):
        found = at_bit(one, other)
        assert (found["status"], found["value"], found["detail"]) == ("unprotected", None, "in clear")


def test_every_level_reads_its_own_entries_and_no_others() -> None:
    """All entries of a result have different values; one that is unprotected opens no other level."""
    parts = compared_levels()
    assert parts["bit"] == ("bit_adjacency", "bit_feature") and parts["user"] == ("user",)
    assert sorted(name for own in parts.values() for name in own) == sorted(LEVELS)
    names = [name for own in parts.values() for name in own]
    holds = {name: bounded(number + 1.0, number * 1e-9) for number, name in enumerate(names)}
    for level, own in parts.items():
        assert held(holds, level) == holds[own[-1]]  # of two, the larger
        opened = {name: entry if name in own else OPEN for name, entry in holds.items()}
        assert held(opened, level) == holds[own[-1]]
        assert held({**holds, own[0]: OPEN}, level)["status"] == "unprotected"


@pytest.mark.parametrize(
    "entry",
    [
        {"status": "fine", "value": 1.0}, {"status": "bounded", "value": None}, {"status": "bounded", "value": "inf"},
        {"status": "bounded", "value": float("nan")}, {"status": "bounded", "value": -1.0},
        {"status": "bounded", "value": True},
    ],
)  # fmt: skip
def test_what_no_result_says_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"privacy\.holds\.user"):
        held({"user": entry}, "user")


def test_names_of_levels() -> None:
    """Each level has the word of the command line, the term that screens show, and its stored name."""
    assert level_named("Central-Node") == "central_node"
    stored = {"friendship": "relationship", "person": "user", "feature": "bit_feature", "label": "label", "bit": "bit",
              "list-entry": "bit_adjacency", "all-features": "vector"}  # fmt: skip
    for word, name in stored.items():
        assert level_named(word) == level_named(name) == level_named(level_term(name)) == name
        assert level_named(f"one {word}".title()) == name and level_word(name) == word
    assert list(level_words())[:4] == ["friendship", "person", "feature", "label"]
    assert set(level_words().values()) == {*LEVELS, *compared_levels()}
    with pytest.raises(ValueError, match=r"^--level everything: the level must be one of friendship, person, feat"):
        level_named("everything", "--level")

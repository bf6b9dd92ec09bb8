"""The sections ``nulls`` and ``verdict``: which null counts, when a method is above it, and the words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ldpsim.strategies.results.outcome import Score
from ldpsim.strategies.results.verdict import (
    NO_HINT,
    NULLS,
    STANDINGS,
    UNJUDGED,
    WORDS_HINT,
    asks_nobody,
    best_null,
    device_margin,
    gain_of,
    gain_text,
    gains_of,
    no_reports,
    null_lines,
    nulls_section,
    shown_nulls_of,
    shown_verdict,
    verdict_section,
)

N = 400


def right(share: float) -> Score:
    hits = np.arange(N) < round(share * N)
    return Score(float(hits.mean()), hits)


def repeats(*several: dict[str, float]) -> Any:
    """Repeats with the accuracy of the method (``own``) and of its null models."""
    nulls = [{name: right(share) for name, share in each.items() if name != "own"} for each in several]
    return [
        SimpleNamespace(
            score=right(each["own"]),
            alone=None,
            own_features=None,
            alone_with_friends=None,
            device=None,
            nulls=found,
            ask_nobody=tuple(found)[::2],
        )
        for each, found in zip(several, nulls, strict=True)
    ]


HOGS = {"own": 0.727, "chance": 0.3, "graph_alone": 0.788, "features_alone": 0.5, "shuffled_adjacency": 0.32,
        "shuffled_features": 0.725, "shuffled_all": 0.3}  # fmt: skip


def test_nulls_have_the_form_of_the_contract() -> None:
    found = nulls_section(repeats(HOGS, {**HOGS, "graph_alone": 0.798}))
    assert found is not None and list(found) == ["chance", "graph_alone", "features_alone", "shuffled"]
    assert found["chance"] == {"test": pytest.approx(0.3)}
    assert found["graph_alone"] == {"test": pytest.approx(0.793, abs=1e-3), "std": pytest.approx(0.00707, abs=1e-3)}
    assert list(found["shuffled"]) == ["adjacency", "features", "all"]
    both = repeats(HOGS, HOGS)
    both[0].own_features, both[1].own_features, both[0].alone = right(0.5), right(0.7), right(0.9)
    figures = nulls_section(both)
    assert figures is not None and "device_alone" not in figures  # one repeat alone has it
    assert figures["device_features"] == {"test": pytest.approx(0.6), "std": pytest.approx(0.1414, abs=1e-3)}
    alone = nulls_section(repeats({"own": 0.5, "chance": 0.2}))
    assert alone == {"chance": {"test": 0.2}, "graph_alone": None, "features_alone": None, "shuffled": {}}


def test_devices_are_compared_with_the_best_of_what_needs_no_report() -> None:
    """400 people, .80 right: the best of .70, .74 and .30 is own features. It needs the figure of a device alone."""
    several = repeats(HOGS, HOGS)
    for repeat in several:
        repeat.device, repeat.alone, repeat.own_features = right(0.8), right(0.7), right(0.74)
    found = device_margin(several)
    assert found is not None and found["best"] == "device_features"
    assert found["margin"]["value"] == pytest.approx(0.06) and found["margin"]["high"] < 0.1 < 0.06 + 0.05
    several[1].own_features = None
    assert (found := device_margin(several)) is not None and found["best"] == "device_alone"
    assert found["margin"]["value"] == pytest.approx(0.1)
    for repeat in several:
        repeat.alone = right(0.2)
    assert (found := device_margin(several)) is not None and found["best"] == "chance"
    several[0].alone = None
    assert device_margin(several) is None
    several[0].alone, several[0].device = right(0.2), None
    assert device_margin(several) is None


def test_the_figure_of_a_device_alone_is_that_without_any_report() -> None:
    """Beside its own figure, which is .9 and .7, and only where every repeat has one."""
    several = repeats(HOGS, HOGS)
    for repeat, device, alone in zip(several, (0.9, 0.7), (0.5, 0.4), strict=True):
        repeat.device, repeat.alone, repeat.alone_with_friends = right(device), right(alone), right(alone + 0.1)
    found = nulls_section(several)
    assert found is not None
    assert found["device_alone"] == {"test": pytest.approx(0.45), "std": pytest.approx(0.1 / 2**0.5)}
    assert found["device_alone_with_friends"]["test"] == pytest.approx(0.55)
    several[1].alone = several[1].alone_with_friends = None
    assert not {"device_alone", "device_alone_with_friends"} & (nulls_section(several) or {}).keys()


def test_each_null_model_has_its_figure_or_the_reason_why_not() -> None:
    """In the order of the tables; a figure of a part of a family says which part is missing."""
    nulls = {"chance": {"test": 0.2}, "graph_alone": None, "graph_learned": {"test": 0.5, "std": 0.01},
             "features_alone": None, "device_features": {"test": 0.3, "std": None}, "shuffled": {}}  # fmt: skip
    reasons = {"graph_alone": "not run: no graph is reported", "graph_learned": "without LINK",
               "device_alone": "not run: no label is public"}  # fmt: skip
    lines = null_lines({"nulls": nulls, "nulls_not_taken": reasons})
    assert [heading for heading, _ in lines] == [
        "largest class", "graph alone", "graph alone, learned", "device alone", "device, features"
    ]  # fmt: skip
    words = dict(lines)
    assert words["graph alone"] == reasons["graph_alone"] and words["device alone"] == reasons["device_alone"]
    assert words["graph alone, learned"].startswith("50.0 % ± 1.0 (the best of label propagation")
    assert words["graph alone, learned"].endswith("; without LINK") and words["device, features"].startswith("30.0 % (")
    assert null_lines({"nulls": None}) == []  # --no-nulls, and results of earlier versions
    assert [heading for heading, _ in null_lines({"nulls": nulls})] == [
        "largest class", "graph alone, learned", "device, features"
    ]  # fmt: skip


def test_nothing_without_null_models() -> None:
    assert nulls_section(repeats({"own": 0.5})) is None and verdict_section(repeats({"own": 0.5})) is None


def test_a_null_that_is_better() -> None:
    found = verdict_section(repeats(HOGS))
    assert found is not None and found["above_chance"] is True and found["above_nulls"] is False
    assert found["best_null"] == "graph_alone" and found["margin"]["value"] == pytest.approx(-0.06, abs=2e-3)
    assert (
        found["text"].startswith("asking gains -6.0 points over graph alone (95 % CI -") and "): no; " in found["text"]
    )
    assert "private features gained +0.2 points (" in found["text"] and "private data gained +42." in found["text"]
    assert found["bought"]["features"]["value"] == pytest.approx(0.0025)
    assert found["bought"]["adjacency"]["low"] > 0.3


def test_above_means_above_with_the_interval() -> None:
    """A margin of half a person is no proof, and a shuffled run is a null model as the others are."""
    found = verdict_section(repeats({"own": 0.5025, "chance": 0.4975, "shuffled_features": 0.5, "shuffled_all": 0.5}))
    assert found is not None
    assert found["margin"]["value"] > 0 and found["above_nulls"] is False and found["above_chance"] is False
    assert found["best_null"] == "shuffled_features"
    assert found["text"].count("gained") == 1  # one private attribute: all is the same
    assert "over shuffled features (95 % CI " in found["text"] and "): not measurable (" in found["text"]


def test_chance_is_a_null_model_of_the_margin() -> None:
    """The method is 46.5 points above the other null model, and 41.0 above chance."""
    found = verdict_section(repeats({"own": 0.684, "chance": 0.276, "features_alone": 0.22}))
    assert found is not None and (found["above_nulls"], found["best_null"]) == (True, "chance")
    assert [found["margin"][end] for end in ("value", "low")] == [found["over_chance"][end] for end in ("value", "low")]
    assert found["margin"]["value"] == pytest.approx(0.41)
    assert "points over the largest class (95 % CI " in found["text"] and found["text"].endswith("): yes")
    alone = verdict_section(repeats({"own": 0.4, "chance": 0.2}))
    assert alone is not None and alone["best_null"] == "chance" and alone["above_nulls"] is True


def test_fields_say_how_the_intervals_were_made() -> None:
    found = [verdict_section(repeats(*[HOGS] * number)) for number in (1, 2, 3, 4, 5)]
    of = ["people", "people", "few repeats", "few repeats", "repeats"]
    assert [each and each["interval"]["of"] for each in found] == of
    assert [each and each["interval"]["repeats"] for each in found] == [1, 2, 3, 4, 5]
    for each in found:
        assert each is not None and 0.025 / 6 < each["interval"]["tail_of_each_null"] <= 0.025
        assert set(each["over"]) == {"graph_alone", "features_alone"}
        assert each["margin"]["value"] == each["over"]["graph_alone"]["value"]
        assert each["margin"]["high"] >= each["over"]["graph_alone"]["high"]  # corrected


def test_null_models_that_ask_nobody_are_named_if_they_do_in_every_repeat() -> None:
    several = repeats(HOGS, HOGS)
    several[1].ask_nobody = ("features_alone", "chance")
    found = verdict_section(several)
    assert found is not None and found["ask_nobody"] == ["chance", "features_alone"]


def test_repeats_are_paired() -> None:
    """Repeats differ by more than the method gains, and each gains."""
    found = verdict_section(
        repeats(*({"own": base + 0.02, "chance": 0.1, "graph_alone": base} for base in (0.4, 0.6, 0.8)))
    )
    assert found is not None and found["above_nulls"] is True


SECTION = {
    "chance": {"test": 0.9},
    "graph_alone": None,
    "features_alone": {"test": 0.5, "std": 0.01},
    "shuffled": {"label": {"test": 0.4, "std": None}, "all": {"test": 0.6, "std": 0.02}},
}


def said(**changes: Any) -> dict[str, Any]:
    return {"verdict": {"above_chance": True, "above_nulls": None, "margin": None, "text": "text", **changes}}


def test_chance_is_a_null_model_as_the_others_are() -> None:
    found = shown_nulls_of({"nulls": SECTION})
    assert best_null(found) == "chance"
    assert best_null({**found, "chance": {"test": 0.55}}) == "shuffled_all"
    assert best_null({"features_alone": {"test": 0.5}, "chance": {"test": 0.5}}) == "chance"
    assert best_null({}) is None


MARGIN = {"value": 0.01, "low": -0.01, "high": 0.03}


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({}, "alone"), ({"above_chance": None}, ""), ({"above_chance": False}, "chance"),
        ({"above_chance": False, "above_nulls": True, "margin": {**MARGIN, "low": 0.005}}, "chance"),
        ({"above_nulls": True, "margin": {**MARGIN, "low": 0.005}}, "unjudged"),
        ({"above_nulls": False, "margin": MARGIN}, "even"),
        ({"above_nulls": False, "margin": {**MARGIN, "high": -0.001}}, "below"),
    ],
)  # fmt: skip
def test_the_standing_of_a_method(changes: dict[str, Any], standing: str) -> None:
    found = shown_verdict(said(**changes))
    assert found is not None and found["standing"] == standing and standing in STANDINGS


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.001, 0.04, "yes"), (-0.04, -0.001, "no"), (-0.001, 0.04, "not measurable (--repeats 5 would show 3 points)"),
        (-0.04, 0.001, "not measurable (--repeats 6 would show 3 points)"),
    ],
)  # fmt: skip
def test_one_sentence_says_what_asking_gains(low: float, high: float, answer: str) -> None:
    """Yes or no where the whole interval is on one side of 0; the number of repeats follows from its lower half.

    By hand: halves of .011 and .05 are standard errors of .0056 and .0255 in one repeat; 2.776 * .0056 / sqrt 5 = .007,
    and 2.776 * .0255 / sqrt 5 = .0317, 2.571 / sqrt 6 = .0268, so that the second takes 6 repeats.
    """
    interval = {"value": 0.01, "low": low, "high": high}
    words = f"asking gains +1.0 points over the largest class (95 % CI {100 * low:+.1f} to {100 * high:+.1f}): {answer}"
    section = {"above_chance": True, "above_nulls": low > 0, "margin": interval, "over_chance": None,
               "best_null": "chance", "interval": {"repeats": 1}}  # fmt: skip
    assert gain_of(section, ["chance", "features_alone"]) == words
    assert gain_of({**section, "margin": None, "over_chance": interval}, ["chance"]) == words
    assert gain_of({**section, "margin": None}, ["chance"]) == ""
    on_device = {**section, "device": {"best": "device_alone", "margin": interval}}
    alone = gains_of({**on_device, "margin": None}, ["chance"])
    assert alone == f"on the device {words}".replace("largest class", "device alone")
    assert gains_of({**section, "margin": None}, ["chance"]) == ""
    short = words.partition(" (--")[0]
    both = f"{short}; on the device {short.removeprefix('asking gains ').replace('largest class', 'device alone')}"
    assert gains_of(on_device, ["chance", "features_alone"], hint=NO_HINT) == both
    plain = gains_of(on_device, ["chance", "features_alone"], hint=WORDS_HINT)
    assert "--" not in plain and plain.count(" repeats would show 3 points)") == 2 * answer.count("--")


def test_many_repeats_are_not_asked_for_again() -> None:
    wide = {"value": 0.0, "low": -0.01, "high": 0.01}  # ten repeats that would show 3 points already do
    assert gain_text(wide, "graph alone", 10).endswith(": not measurable")


def test_praise_without_a_model_that_learns_alone_says_so() -> None:
    section = {"above_chance": True, "above_nulls": True, "margin": {**MARGIN, "low": 0.005}, "over_chance": None,
               "best_null": "shuffled_all", "interval": {"repeats": 1}}  # fmt: skip
    assert gain_of(section, ["chance", "shuffled_all"]).endswith(f": yes; {UNJUDGED}")
    assert gain_of(section, ["chance", "features_alone"]).endswith(": yes")


@pytest.mark.parametrize(
    ("section", "standing"),
    [
        ({"chance": {"test": 0.3}}, "unjudged"), ({"shuffled": {"all": {"test": 0.3}}}, "unjudged"),
        ({"features_alone": {"test": 0.3}}, "above"), ({"graph_alone": {"test": 0.3}}, "above"),
    ],
)  # fmt: skip
def test_praise_needs_a_null_model_that_learns_alone(section: dict[str, Any], standing: str) -> None:
    """Above chance and above other people's data is not green: the graph or the features alone may give as much."""
    record = said(above_nulls=True, margin={**MARGIN, "low": 0.005})
    nulls = {"chance": {"test": 0.2}, **section}
    found = shown_verdict({**record, "nulls": nulls})
    assert found is not None and found["standing"] == standing
    assert STANDINGS[standing][1] == ("good" if standing == "above" else "open")


def test_no_reports_leave_what_public_data_give() -> None:
    nulls = {"chance": {"test": 0.2}, "graph_alone": {"test": 0.5}, "features_alone": {"test": 0.6}}
    record = {"nulls": nulls, "devices": {"asked": 9}, "verdict": {"ask_nobody": ["chance", "graph_alone"]}}
    assert no_reports(record) == "graph_alone"
    assert no_reports({**record, "devices": {"asked": 0}}) is None is no_reports({**record, "verdict": None})


@pytest.mark.parametrize(
    ("reported", "names"),
    [
        ((), {"graph_alone", "graph_learned", "features_alone"}),
        (("adjacency",), {"features_alone"}),
        (("features",), {"graph_alone", "graph_learned"}),
        (("label",), set()),
        (("adjacency", "features"), set()),
    ],
)
def test_a_null_model_asks_nobody_if_nobody_reports_what_it_reads(reported: tuple[str, ...], names: set[str]) -> None:
    """The method on shuffled data is one of them only where all that is private is shuffled."""
    found = {name for name in NULLS if asks_nobody(name, reported)}
    assert found == names | {"chance", "shuffled_all"}

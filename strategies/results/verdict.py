"""Null models in result.json, and a verdict in words: what the private data bought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from strategies.results.averages import Interval, gain, mean, spread
from strategies.results.outcome import CHANCE, FEATURES_ALONE, GRAPH_ALONE, SHUFFLED, Repeat, Score

_WORDS = {
    GRAPH_ALONE: "Labels spread over the graph alone",
    FEATURES_ALONE: "The features alone, without a graph,",
    f"{SHUFFLED}features": "The same method on features of other people",
    f"{SHUFFLED}adjacency": "The same method on edges of other people",
    f"{SHUFFLED}label": "The same method on labels of other people",
    f"{SHUFFLED}all": "The same method on private data of other people",
}
_BOUGHT = {"features": "features", "adjacency": "edges", "label": "labels", "all": "data together"}


def nulls_of(repeats: Sequence[Repeat]) -> dict[str, Any] | None:
    """Return the section ``nulls``; None if no null model was taken."""
    scores = _scores(repeats)
    if CHANCE not in scores:
        return None
    return {
        CHANCE: {"test": mean([score.test for score in scores[CHANCE]])},
        GRAPH_ALONE: _figures(scores.get(GRAPH_ALONE)),
        FEATURES_ALONE: _figures(scores.get(FEATURES_ALONE)),
        "shuffled": {attribute: _figures(scores[SHUFFLED + attribute]) for attribute in _shuffled(scores)},
    }


def verdict_of(repeats: Sequence[Repeat]) -> dict[str, Any] | None:
    """Return the section ``verdict``; None if no null model was taken.

    ``over_chance``, ``margin`` and the entries of ``bought`` are differences of test accuracy
    with their 95 % interval (:func:`strategies.results.averages.gain`). ``margin`` is over the
    best null model by mean test accuracy, ``bought`` over the same method on shuffled data.
    """
    scores = _scores(repeats)
    if CHANCE not in scores:
        return None
    own = [repeat.score for repeat in repeats]
    over_chance = gain(own, scores[CHANCE])
    best = _best(scores)
    margin = None if best is None else gain(own, scores[best])
    bought = {attribute: gain(own, scores[SHUFFLED + attribute]) for attribute in _shuffled(scores)}
    return {
        "above_chance": _above(over_chance),
        "above_nulls": _above(margin),
        "over_chance": _plain(over_chance),
        "margin": _plain(margin),
        "best_null": None if margin is None else best,
        "bought": {attribute: _plain(found) for attribute, found in bought.items()},
        "text": " ".join(_sentences(over_chance, best, margin, bought)),
    }


def _scores(repeats: Sequence[Repeat]) -> dict[str, list[Score]]:
    """Return the scores of each null model that every repeat has."""
    names = [name for name in repeats[0].nulls if all(name in repeat.nulls for repeat in repeats)]
    return {name: [repeat.nulls[name] for repeat in repeats] for name in names}


def _shuffled(scores: dict[str, list[Score]]) -> list[str]:
    return [name.removeprefix(SHUFFLED) for name in scores if name.startswith(SHUFFLED)]


def _figures(scores: Sequence[Score] | None) -> dict[str, float | None] | None:
    if scores is None:
        return None
    tests = [score.test for score in scores]
    return {"test": mean(tests), "std": spread(tests)}


def _best(scores: dict[str, list[Score]]) -> str | None:
    """Return the null model with the highest mean test accuracy; chance is none of them."""
    tests = {name: mean([score.test for score in found]) for name, found in scores.items() if name != CHANCE}
    known = {name: test for name, test in tests.items() if test is not None}
    return max(known, key=lambda name: known[name]) if known else None


def _above(found: Interval | None) -> bool | None:
    return None if found is None else found.low > 0


def _plain(found: Interval | None) -> dict[str, float] | None:
    return None if found is None else asdict(found)


def _sentences(
    over_chance: Interval | None, best: str | None, margin: Interval | None, bought: dict[str, Interval | None]
) -> list[str]:
    said = []
    if over_chance is not None:
        if over_chance.low > 0:
            said.append(f"The method is {_points(over_chance)} above chance.")
        else:
            said.append(f"The method is not above chance ({_points(over_chance)}).")
    if margin is not None and best is not None:
        name = _WORDS[best]
        if margin.low > 0:
            said.append(f"It is {_points(margin)} above the best null model ({_inside(name)}).")
        elif margin.high < 0:
            said.append(f"{name} are {_points(margin, -1)} better." if best in (GRAPH_ALONE, FEATURES_ALONE)
                        else f"{name} is {_points(margin, -1)} better.")  # fmt: skip
        else:
            said.append(f"It is not measurably above the best null model ({_inside(name)}: {_points(margin)}).")
    several = len(bought) > 2
    for attribute, found in bought.items():
        if found is None or (attribute == "all") != (len(bought) == 1) and not several and attribute == "all":
            continue
        what = "data" if len(bought) == 1 else _BOUGHT[attribute]
        said.append(_purchase(what, found))
    return said


def _purchase(what: str, found: Interval) -> str:
    if found.high < 0:
        return f"On these people the private {what} cost {_points(found, -1)} of accuracy."
    unmeasured = "" if found.low > 0 else ": nothing measurable"
    return f"On these people the private {what} bought {_points(found)}{unmeasured}."


def _inside(name: str) -> str:
    return name[0].lower() + name[1:].rstrip(",")


def _points(found: Interval, sign: int = 1) -> str:
    """Return points of accuracy and half the width of their 95 % interval."""
    return f"{100 * sign * found.value:.1f} +- {50 * (found.high - found.low):.1f} points"

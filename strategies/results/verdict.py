"""Null models in result.json, and a verdict in words: what the private data bought."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from strategies.results.averages import Interval, gain, mean, spread
from strategies.results.outcome import Repeat, Score
from strategies.results.shown_nulls import (
    CHANCE,
    COMMON_NEIGHBOURS,
    FEATURES_ALONE,
    GRAPH_ALONE,
    NULLS,
    PAGERANK,
    SHUFFLED,
)

_BOUGHT = {"features": "features", "adjacency": "edges", "label": "labels", "all": "data together"}


def nulls_of(repeats: Sequence[Repeat]) -> dict[str, Any] | None:
    """Return the section ``nulls``; None if no null model was taken."""
    scores = _scores(repeats)
    if CHANCE not in scores:
        return None
    graph = (COMMON_NEIGHBOURS, PAGERANK) if _of_links(scores) else (GRAPH_ALONE,)
    return {
        CHANCE: {"test": mean([score.test for score in scores[CHANCE]])},
        **{name: _figures(scores.get(name)) for name in graph},
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
        "text": " ".join(_sentences(over_chance, best, margin, bought, links=_of_links(scores))),
    }


def _scores(repeats: Sequence[Repeat]) -> dict[str, list[Score]]:
    """Return the scores of each null model that every repeat has."""
    names = [name for name in repeats[0].nulls if all(name in repeat.nulls for repeat in repeats)]
    return {name: [repeat.nulls[name] for repeat in repeats] for name in names}


def _of_links(scores: dict[str, list[Score]]) -> bool:
    """Return whether the scores are those of pairs: each has a number of its own, not only right or wrong."""
    right = scores[CHANCE][0].right
    return right is not None and right.dtype.kind == "f"


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
    over_chance: Interval | None, best: str | None, margin: Interval | None, bought: Mapping[str, Interval | None],
    *, links: bool,
) -> Iterator[str]:  # fmt: skip
    if over_chance is not None:
        if over_chance.high < 0:
            blind = "a random order" if links else "always the largest class"
            yield f"The method is below chance: {blind} is {_points(over_chance, -1)} better."
        else:
            how = "above" if over_chance.low > 0 else "not measurably above"
            yield f"The method is {how} chance: {_points(over_chance)}."
    if margin is not None and best is not None:
        name = NULLS[best].subject
        if margin.high < 0:
            yield f"A null model beats it: {name} are {_points(margin, -1)} better."
        else:
            how = "above" if margin.low > 0 else "not measurably above"
            yield f"It is {how} the best null model, {name}: {_points(margin)}."
    start = "On these people the"
    for attribute, found in bought.items():
        if found is None or (attribute == "all" and len(bought) == 2):
            continue  # all is the one attribute
        what = "data" if len(bought) == 1 else _BOUGHT[attribute]
        yield f"{start} private {what} {_bought(found)}."
        start = "The"


def _bought(found: Interval) -> str:
    if found.high < 0:
        return f"cost {_points(found, -1)}"
    return f"bought {_points(found)}{'' if found.low > 0 else ': nothing measurable'}"


def _points(found: Interval, sign: int = 1) -> str:
    """Return points of accuracy and half the width of their 95 % interval."""
    return f"{100 * sign * found.value:.1f} +- {50 * (found.high - found.low):.1f} points"

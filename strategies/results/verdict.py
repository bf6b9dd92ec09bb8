"""Null models in result.json, and a verdict in words: what the private data gained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ldpsim.strategies.results.averages import Interval, few, gain, margin, mean, over_people, spread
from ldpsim.strategies.results.outcome import Repeat, Score
from ldpsim.strategies.results.shown_nulls import (
    CHANCE,
    FEATURES_ALONE,
    FEW,
    GRAPH_ALONE,
    PEOPLE,
    SHUFFLED,
    words_of_verdict,
)


def nulls_section(repeats: Sequence[Repeat]) -> dict[str, Any] | None:
    """Return the section ``nulls``; None if no null model was taken."""
    scores = _scores(repeats)
    if CHANCE not in scores:
        return None
    return {
        CHANCE: {"test": mean([score.test for score in scores[CHANCE]])},
        **{name: _figures(scores.get(name)) for name in (GRAPH_ALONE, FEATURES_ALONE)},
        "shuffled": {attribute: _figures(scores[SHUFFLED + attribute]) for attribute in _shuffled(scores)},
    }


def verdict_section(repeats: Sequence[Repeat]) -> dict[str, Any] | None:
    """Return the section ``verdict``; None if no null model was taken.

    ``over_chance``, ``margin`` and the entries of ``over`` and ``bought`` are differences of test accuracy with their
    95 % interval (:func:`ldpsim.strategies.results.averages.gain`). ``margin`` is over the best null model by mean test
    accuracy, chance among them; its interval is corrected for this choice
    (:func:`ldpsim.strategies.results.averages.margin`). ``over`` has each null model but chance and those in
    ``bought``, which are the same method on shuffled data. ``interval`` says how the intervals were made,
    ``ask_nobody`` which null models tell what public data alone give.
    """
    scores = _scores(repeats)
    if CHANCE not in scores:
        return None
    own = [repeat.score for repeat in repeats]
    over = {name: gain(own, found) for name, found in scores.items()}
    best = margin(own, scores)
    over_best = None if best is None else best.interval
    section = {
        "above_chance": _above(over[CHANCE]),
        "above_nulls": _above(over_best),
        "over_chance": _plain(over[CHANCE]),
        "margin": _plain(over_best),
        "best_null": best and best.best,
        "over": {name: _plain(found) for name, found in over.items() if name != CHANCE and SHUFFLED not in name},
        "bought": {attribute: _plain(over[SHUFFLED + attribute]) for attribute in _shuffled(scores)},
        "interval": {
            "of": PEOPLE if over_people(len(own)) else FEW if few(len(own)) else "repeats",
            "repeats": len(own),
            "tail_of_each_null": None if best is None else best.upper_tail,
        },
        "ask_nobody": [name for name in scores if all(name in repeat.ask_nobody for repeat in repeats)],
    }
    return {**section, "text": words_of_verdict(section)}


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


def _above(found: Interval | None) -> bool | None:
    return None if found is None else found.low > 0


def _plain(found: Interval | None) -> dict[str, float] | None:
    return None if found is None else asdict(found)

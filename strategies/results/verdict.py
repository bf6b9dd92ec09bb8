"""Null models and verdict of a result: their names and words, and what tables show of them.

A null model (to people: a simpler model) has less information than the method: no features, no graph, or somebody
else's data. A method that is not above its null models got nothing out of that information. Runs with ``--no-nulls``
have none.

**The one sentence on what asking gains** is :func:`gain_text`. For the curator the difference is the method's test
accuracy minus that of the best null model; for devices that predict for their own people it is theirs minus that of
the best of what needs no reports: the device alone, its own features, the largest class. The interval is of
:func:`ldpsim.strategies.results.averages.margin`: over test people with one or two repeats, over repeats with five or
more, the wider of both between. It says *yes* where the whole interval is above 0, *no* where it is below 0, and else
*not measurable*, with the number of repeats that would show a difference of 3 points.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ldpsim.strategies.results.averages import (
    Interval,
    few,
    gain,
    margin,
    mean,
    over_people,
    repeats_to_show,
    spread,
)
from ldpsim.strategies.results.numbers import difference, share
from ldpsim.strategies.results.outcome import RepeatScores, Score

NOT_TAKEN = "not run"
UNJUDGED = "no simpler model learns from such reports"
FEW, PEOPLE = "few repeats", "people"  # words for the intervals of a verdict
# Names of the null models; an attribute, or "all", follows SHUFFLED.
CHANCE, GRAPH_ALONE, FEATURES_ALONE, SHUFFLED = "chance", "graph_alone", "features_alone", "shuffled_"
GRAPH_LEARNED = "graph_learned"
DEVICE_ALONE, DEVICE_FEATURES = "device_alone", "device_features"
DEVICE_ALONE_WITH_FRIENDS = "device_alone_with_friends"

Nulls = Mapping[str, Mapping[str, Any]]
_Interval = Mapping[str, float]


@dataclass(frozen=True)
class NullSpec:
    """Words of a null model.

    Args:
        heading: Name in a table.
        words: Explanation, as the end of a sentence.
        short: The same in two or three words, to stand behind the heading; may be empty.
        reads: Attributes that it reads; the method on shuffled data reads what the method does.
    """

    heading: str
    words: str
    reads: tuple[str, ...] = ()
    short: str = ""


NULLS = {
    CHANCE: NullSpec("largest class", "the same class for everybody"),
    GRAPH_ALONE: NullSpec(
        "graph alone", "label propagation on the curator's graph", ("adjacency", "label"), "label propagation"
    ),
    GRAPH_LEARNED: NullSpec(
        "graph alone, learned",
        "the best of label propagation, a network without features, and logistic regression on lists",
        ("adjacency", "label"),
        "the best of three",
    ),
    FEATURES_ALONE: NullSpec(
        "features alone",
        "the best of regressions, a perceptron and their pool, on the features that the curator has",
        ("features", "label"),
        "no graph",
    ),
    f"{SHUFFLED}features": NullSpec("shuffled features", "the same run with the features of other people"),
    f"{SHUFFLED}adjacency": NullSpec("shuffled lists", "the same run with the friends of other people"),
    f"{SHUFFLED}label": NullSpec("shuffled labels", "the same run with the labels of other people"),
    f"{SHUFFLED}all": NullSpec(
        "shuffled records", "the same run with all private data of other people", short="other people's data"
    ),
}
# Null models of a device that predicts for its own person, without any reports.
DEVICES = {
    DEVICE_ALONE: NullSpec("device alone", "no reports; own features and friends"),
    DEVICE_FEATURES: NullSpec("device, features", "no reports; own features, no friends"),
    DEVICE_ALONE_WITH_FRIENDS: NullSpec(
        "device alone, friends tell", "no reports; own features and friends, who tell a guess in clear"
    ),
}


def asks_nobody(name: str, reported: Collection[str]) -> bool:
    """Return whether a null model tells what public data alone give, so that it asks nobody in effect.

    It does if it reads no attribute that anybody reports. The method on shuffled data does too, where *all* private
    attributes are those of other people: its answers do not depend on who gives them (docs/concepts.md). With one
    attribute shuffled, the others are still those of the people.

    Args:
        name: A key of :data:`NULLS`.
        reported: Attributes that the curator has from answers.

    >>> asks_nobody("features_alone", ["adjacency"]), asks_nobody("graph_alone", ["adjacency"])
    (True, False)
    """
    if name.startswith(SHUFFLED):
        return name == f"{SHUFFLED}all"
    return not set(NULLS[name].reads) & set(reported)


# Standing of a method among its null models: words, and whether that is good, open or bad.
STANDINGS = {
    "above": ("above", "good"),
    "even": ("not measurably above", "open"),
    "below": ("below", "bad"),
    "chance": ("not above the largest class", "bad"),
    "alone": ("above the largest class", "open"),
    "unjudged": ("above; no simpler model learns", "open"),
    "": (NOT_TAKEN, "open"),
}


def shown_nulls_of(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return ``test`` and ``std`` of the null models that a result has, in the order of :data:`NULLS`."""
    section = record.get("nulls") or {}
    entries = {**section, **{f"{SHUFFLED}{name}": entry for name, entry in (section.get("shuffled") or {}).items()}}
    return {name: {"test": entries[name]["test"], "std": entries[name].get("std")} for name in NULLS
            if entries.get(name) is not None}  # fmt: skip


def null_lines(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return heading and words of each null model of a result: its figure, or why it was not taken."""
    section, reasons = record.get("nulls") or {}, record.get("nulls_not_taken") or {}
    entries = {**shown_nulls_of(record), **{name: section[name] for name in DEVICES if section.get(name)}}
    lines = []
    for name, spec in {**NULLS, **DEVICES}.items():
        figure = f"{share(entries[name])} ({spec.words})" if name in entries else ""
        if words := "; ".join(filter(None, (figure, reasons.get(name)))):
            lines.append((spec.heading, words))
    return lines


def shown_verdict(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the verdict of a result, with its ``standing``, a key of :data:`STANDINGS`; None without null models."""
    verdict = record.get("verdict")
    return {**verdict, "standing": standing_of(verdict, shown_nulls_of(record))} if verdict else None


def standing_of(section: Mapping[str, Any], nulls: Collection[str]) -> str:
    """Return the standing of a method among its null models, by the fields of the section ``verdict``."""
    margin = section["margin"]
    if section["above_chance"] is False:
        return "chance"
    if margin is None:
        return "alone" if section["above_chance"] else ""
    return standing_among("above" if section["above_nulls"] else "below" if margin["high"] < 0 else "even", nulls)


def standing_among(standing: str, nulls: Collection[str]) -> str:
    """Return the standing, but ``unjudged`` for ``above`` where no null model was taken that learns without the method.

    Chance and the method on other people's data do not judge alone: the graph or the features may give as much.

    >>> standing_among("above", ["chance", "shuffled_all"]), standing_among("above", ["chance", "features_alone"])
    ('unjudged', 'above')
    """
    missing = all(name == CHANCE or name.startswith(SHUFFLED) for name in nulls)
    return "unjudged" if standing == "above" and missing else standing


_SHUFFLED_DATA = {"features": "features", "adjacency": "edges", "label": "labels", "all": "data"}
YES, NO, OPEN = "yes", "no", "not measurable"
_SUBJECT = "asking gains"
# How many repeats would show a difference: with the option, and for people who do not use the program.
OPTION_HINT, WORDS_HINT, NO_HINT = " (--repeats {} would show 3 points)", " ({} repeats would show 3 points)", ""


def gain_text(interval: _Interval, over: str, repeats: int, *, hint: str = OPTION_HINT) -> str:
    """Return the one sentence on what asking gains, without its full stop (the module's text defines it).

    Args:
        interval: The difference with its 95 % interval, as fractions.
        over: Name of the model below.
        repeats: Number of repeats of the interval.
        hint: What follows *not measurable*, with a place for the number of repeats; :data:`NO_HINT` for nothing.

    >>> gain_text({"value": 0.061, "low": 0.016, "high": 0.124}, "features alone", 1)
    'asking gains +6.1 points over features alone (95 % CI +1.6 to +12.4): yes'
    """
    return f"{_SUBJECT} {_gain(interval, over, repeats, hint)}"


def _gain(interval: _Interval, over: str, repeats: int, hint: str) -> str:
    """Return :func:`gain_text` without its subject."""
    points, brackets = difference(interval).split(" (")
    answer = YES if interval["low"] > 0 else NO if interval["high"] < 0 else OPEN
    if answer == OPEN:
        needed = repeats_to_show(Interval(interval["value"], interval["low"], interval["high"]), repeats)
        answer += hint.format(needed) if needed > repeats else ""
    return f"{points} over {over} ({brackets}: {answer}"


def gain_of(section: Mapping[str, Any], nulls: Collection[str], *, hint: str = OPTION_HINT) -> str:
    """Return :func:`gain_text` of the curator's verdict; empty where no interval could be made.

    Args:
        section: Fields of the section ``verdict``.
        nulls: Names of the null models that were run.
        hint: As for :func:`gain_text`.
    """
    repeats, name = section["interval"]["repeats"], section["best_null"]
    if section["margin"] is not None:
        words = gain_text(section["margin"], _as_object(name), repeats, hint=hint)
    elif section["over_chance"] is not None:
        words = gain_text(section["over_chance"], _as_object(CHANCE), repeats, hint=hint)
    else:
        return ""
    return f"{words}; {UNJUDGED}" if standing_of(section, nulls) == "unjudged" else words


def gains_of(section: Mapping[str, Any], nulls: Collection[str], *, hint: str = OPTION_HINT) -> str:
    """Return what asking gains for the curator, and for devices that predict for their own people, as one sentence.

    Empty where there is neither.

    Args:
        section, nulls, hint: As for :func:`gain_of`.
    """
    curator, device = gain_of(section, nulls, hint=hint), section.get("device")
    if not device:
        return curator
    gain = _gain(device["margin"], _as_object(device["best"]), section["interval"]["repeats"], hint)
    return f"{curator}; on the device {gain}" if curator else f"on the device {_SUBJECT} {gain}"


def _as_object(name: str) -> str:
    """Return the heading of a null model, to stand behind a preposition."""
    heading = {**NULLS, **DEVICES}[name].heading
    return f"the {heading}" if name in (CHANCE, DEVICE_ALONE) else heading


def gains_text(differences: Mapping[str, _Interval | None]) -> str:
    """Return what the private data gained, attribute by attribute; empty where nothing was shuffled."""
    gains = {_SHUFFLED_DATA[name]: each for name, each in differences.items() if each is not None}
    if len(gains) == 2:
        gains.pop("data", None)  # it is the one attribute
    return ", ".join(f"private {what} gained {difference(each)}" for what, each in gains.items())


def best_null(nulls: Nulls) -> str | None:
    """Return the name of the best null model, chance among them; of equally good ones the first of :data:`NULLS`."""
    return max((name for name in NULLS if name in nulls), key=lambda name: nulls[name]["test"], default=None)


def no_reports(record: Mapping[str, Any]) -> str | None:
    """Return the best null model that needs no reports (:func:`without_reports`): what asking people has to beat."""
    nulls = shown_nulls_of(record)
    return best_null({name: nulls[name] for name in without_reports(record)})


def without_reports(record: Mapping[str, Any]) -> list[str]:
    """Return the null models that tell what public data alone give; none if the run asked nobody itself."""
    if not record.get("verdict") or not record["devices"]["asked"]:
        return []
    return [name for name in shown_nulls_of(record) if name in record["verdict"]["ask_nobody"]]


def null_columns(nulls: Nulls, verdict: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns of a table: each null model with its spread, the margin, the verdict."""
    row: dict[str, Any] = {}
    for name in NULLS:
        row[name] = nulls.get(name, {}).get("test")
        if name != CHANCE:  # it is no training: it has no spread of its own
            row[f"{name}_std"] = nulls.get(name, {}).get("std")
    margin = (verdict and verdict["margin"]) or {}
    return {**row, "margin": margin.get("value"), "margin_low": margin.get("low"), "margin_high": margin.get("high"),
            "standing": verdict and verdict["standing"], "verdict": verdict and verdict["text"]}  # fmt: skip


def nulls_section(repeats: Sequence[RepeatScores]) -> dict[str, Any] | None:
    """Return the section ``nulls``; None if no null model was taken."""
    scores = _scores(repeats)
    if CHANCE not in scores:
        return None
    devices = {DEVICE_ALONE: [repeat.alone for repeat in repeats],
               DEVICE_FEATURES: [repeat.own_features for repeat in repeats],
               DEVICE_ALONE_WITH_FRIENDS: [repeat.alone_with_friends for repeat in repeats]}  # fmt: skip
    return {
        CHANCE: {"test": mean([score.test for score in scores[CHANCE]])},
        **{name: _figures(scores.get(name)) for name in (GRAPH_ALONE, FEATURES_ALONE)},
        **({GRAPH_LEARNED: _figures(scores[GRAPH_LEARNED])} if GRAPH_LEARNED in scores else {}),
        **{name: _figures([score for score in each if score]) for name, each in devices.items() if None not in each},
        "shuffled": {attribute: _figures(scores[SHUFFLED + attribute]) for attribute in _shuffled(scores)},
    }


def verdict_section(repeats: Sequence[RepeatScores]) -> dict[str, Any] | None:
    """Return the section ``verdict``; None if no null model was taken."""
    scores = _scores(repeats)
    if CHANCE not in scores:
        return None
    free = [name for name in scores if all(name in repeat.ask_nobody for repeat in repeats)]
    section = verdict_of([repeat.score for repeat in repeats], scores, free)
    return {**section, "device": device_margin(repeats)}


def device_margin(repeats: Sequence[RepeatScores]) -> dict[str, Any] | None:
    """Return how much better devices predict after the reports than by the best of what needs none.

    That is the device alone, its own features alone, and the largest class, as far as they were taken. None where a
    repeat has no figure of devices, or no device alone.

    Returns:
        ``best``, the name of the best of them, and ``margin`` over it with its interval
        (:func:`ldpsim.strategies.results.averages.margin`).
    """
    own = [repeat.device for repeat in repeats if repeat.device is not None]
    bars = {DEVICE_ALONE: [repeat.alone for repeat in repeats],
            DEVICE_FEATURES: [repeat.own_features for repeat in repeats],
            CHANCE: [repeat.nulls.get(CHANCE) for repeat in repeats]}  # fmt: skip
    taken = {name: [each for each in scores if each is not None] for name, scores in bars.items()}
    taken = {name: scores for name, scores in taken.items() if len(scores) == len(repeats)}
    if len(own) != len(repeats) or DEVICE_ALONE not in taken:
        return None
    best = margin(own, taken)
    return None if best is None else {"best": best.best, "margin": _plain(best.interval)}


def verdict_of(own: Sequence[Score], scores: Mapping[str, Sequence[Score]], free: Sequence[str]) -> dict[str, Any]:
    """Return the verdict on a method among its null models, over repeats or over results of several seeds.

    ``over_chance``, ``margin`` and the entries of ``over`` and ``bought`` are differences of test accuracy with their
    95 % interval (:func:`ldpsim.strategies.results.averages.gain`). ``margin`` is over the best null model by mean test
    accuracy, chance among them; its interval is corrected for this choice
    (:func:`ldpsim.strategies.results.averages.margin`). ``over`` has each null model but chance and those in
    ``bought``, which are the same method on shuffled data. ``interval`` says how the intervals were made,
    ``ask_nobody`` which null models tell what public data alone give.

    Args:
        own: Score of the method in each repeat.
        scores: Scores of the null models, by name.
        free: Names of those that ask nobody.
    """
    over = {name: gain(own, others) for name, others in scores.items()}
    best = margin(own, scores)
    over_best = None if best is None else best.interval
    section: dict[str, Any] = {
        "above_chance": _above(over[CHANCE]),
        "above_nulls": _above(over_best),
        "over_chance": _plain(over[CHANCE]),
        "margin": _plain(over_best),
        "best_null": best and best.best,
        "over": {name: _plain(gains) for name, gains in over.items() if name != CHANCE and SHUFFLED not in name},
        "bought": {attribute: _plain(over[SHUFFLED + attribute]) for attribute in _shuffled(scores)},
        "interval": {
            "of": PEOPLE if over_people(len(own)) else FEW if few(len(own)) else "repeats",
            "repeats": len(own),
            "tail_of_each_null": None if best is None else best.upper_tail,
        },
        "ask_nobody": list(free),
    }
    words = gain_of(section, scores), gains_text(section["bought"])
    return {**section, "text": "; ".join(filter(None, words))}


def _scores(repeats: Sequence[RepeatScores]) -> dict[str, list[Score]]:
    """Return the scores of each null model that every repeat has."""
    names = [name for name in repeats[0].nulls if all(name in repeat.nulls for repeat in repeats)]
    return {name: [repeat.nulls[name] for repeat in repeats] for name in names}


def _shuffled(scores: Mapping[str, Sequence[Score]]) -> list[str]:
    return [name.removeprefix(SHUFFLED) for name in scores if name.startswith(SHUFFLED)]


def _figures(scores: Sequence[Score] | None) -> dict[str, float | None] | None:
    if scores is None:
        return None
    tests = [score.test for score in scores]
    return {"test": mean(tests), "std": spread(tests)}


def _above(interval: Interval | None) -> bool | None:
    return None if interval is None else interval.low > 0


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)

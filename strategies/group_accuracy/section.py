"""Division of the scored people into groups, from the truth of a simulation.

Nobody uses the label of a scored person. A person is therefore not grouped by an own label that is known, but by
whether a neighbour has one.

Section ``groups`` of a result, which somebody else may have written, as pages and the first screen show it.

Section ``groups`` of result.json: who is served worse, and who loses more to the noise than everybody does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtri, stdtrit

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import Split
from ldpsim.strategies.foreign_text import number, text
from ldpsim.strategies.results.averages import (
    Interval,
    joined,
    mean_interval,
    over_people,
    over_repeats,
    share_interval,
)
from ldpsim.strategies.results.outcome import RepeatScores, Score
from ldpsim.strategies.setup.run_setup import Setup

EVERYBODY, CLASS, DEGREE, LABELLED_NEIGHBOUR = "everybody", "class", "degree", "labelled_neighbour"
KINDS = (CLASS, DEGREE, LABELLED_NEIGHBOUR)
_DEGREES = ((0, "0"), (1, "1-2"), (3, "3-5"), (6, "6+"))  # the smallest degree of each group, and its name


@dataclass(frozen=True, eq=False)
class PeopleGroup:
    """One group of the scored people.

    Args:
        by: Property that divides the people: :data:`CLASS`, :data:`DEGREE` or :data:`LABELLED_NEIGHBOUR`.
        place: Place of the group among those of this property, from 0.
        name: Name of the group: a class's name, or its number without names; degrees; ``yes`` or ``no``.
        members: bool (scored people,), in the order of ``split.test``.
    """

    by: str
    place: int
    name: str
    members: NDArray[np.bool_] = field(repr=False)


def people_groups(population: Population, split: Split) -> list[PeopleGroup]:
    """Return the groups of the scored people that have members, without those that hold everybody.

    A degree is the number of neighbours in the population's own graph. A labelled neighbour is one whose label the
    training or the validation reads, from whatever source (``Setup.labelled_split``). Time and memory are linear
    in people and edges.
    """
    scored = split.test
    degree = np.diff(population.neighbour_indptr)[scored]
    bins = np.searchsorted([least for least, _ in _DEGREES], degree, side="right") - 1
    near_label = _labelled_neighbours(population, split)[scored] > 0
    labels, names = population.labels[scored], population.facts.class_names
    groups = [
        *(PeopleGroup(CLASS, label, names[label] if names else str(label), labels == label)
          for label in np.unique(labels).tolist()),
        *(PeopleGroup(DEGREE, place, name, bins == place) for place, (_, name) in enumerate(_DEGREES)),
        PeopleGroup(LABELLED_NEIGHBOUR, 0, "yes", near_label),
        PeopleGroup(LABELLED_NEIGHBOUR, 1, "no", ~near_label),
    ]  # fmt: skip
    return [group for group in groups if group.members.any() and not group.members.all()]


def _labelled_neighbours(population: Population, split: Split) -> IntArray:
    """Return the number of labelled neighbours of each person, int64 (n,)."""
    n = len(population)
    labelled = np.zeros(n, np.int64)
    labelled[split.labelled] = 1
    ones = np.ones(len(population.neighbour_indices), np.int64)
    lists = csr_array((ones, population.neighbour_indices, population.neighbour_indptr), shape=(n, n))
    counts: IntArray = lists @ labelled
    return counts


MODELS = ("method", "best_null", "without_noise")
NO_GROUPS = "no accuracy by groups: --no-groups, or no single model of everybody"


@dataclass(frozen=True)
class GroupRow:
    """Accuracy in one group of people.

    Args:
        by: Property that divides the people, or ``everybody``.
        group: Name of the group.
        people: Number of scored people in it, the mean over repeats.
        accuracy: Accuracy of each of :data:`MODELS` that is known, with a 95 % interval.
        more_lost: How much more accuracy the group loses to the noise than everybody does; None if not known.
        worse: Whether that is measurable; None if not known.
    """

    by: str
    group: str
    people: float
    accuracy: Mapping[str, Interval]
    more_lost: float | None
    worse: bool | None

    @property
    def words(self) -> str:
        """The group in words."""
        if self.by == CLASS:
            return f"class {self.group}"
        if self.by == DEGREE:
            return _SHOWN_DEGREES.get(self.group, f"{self.group} friends")
        return EVERYBODY if self.by == EVERYBODY else _LABELLED.get(self.group, self.group)

    @property
    def subject(self) -> str:
        """The group as the subject of a sentence."""
        if self.by == CLASS:
            return f"People of {self.words}"
        return "People without friends" if (self.by, self.group) == (DEGREE, "0") else f"People with {self.words}"

    @property
    def lost(self) -> float | None:
        """Accuracy that the group loses to the noise; None if one of both figures is not known."""
        clean, own = self.accuracy.get("without_noise"), self.accuracy.get("method")
        return None if clean is None or own is None else clean.value - own.value


_SHOWN_DEGREES = {"0": "no friends", "6+": "6 or more friends"}
_LABELLED = {"yes": "a labelled friend", "no": "no labelled friend"}


def group_rows(record: Mapping[str, Any]) -> list[GroupRow]:
    """Return the rows of a result, everybody first; empty if it has none.

    Raises:
        ValueError: one line, for a section that cannot be read.
    """
    section = record.get("groups")
    if section is None:
        return []
    try:
        return [_row(entry) for entry in section["rows"]]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("groups cannot be read") from None


def _row(entry: Mapping[str, Any]) -> GroupRow:
    people, more = number(entry["people"]), entry["more_lost"]
    accuracy = {model: _interval(entry[model]) for model in MODELS if entry[model] is not None}
    excess = None if more is None else number(more["value"])
    if people is None or "method" not in accuracy or (more is not None and excess is None):
        raise KeyError("people")
    worse = entry["worse"] if isinstance(entry["worse"], bool) else None
    return GroupRow(text(entry["by"]), text(entry["group"]), people, accuracy, excess, worse)


def _interval(entry: Mapping[str, Any]) -> Interval:
    ends = [number(entry[part]) for part in ("value", "low", "high")]
    shares = [end for end in ends if end is not None and 0 <= end <= 1]
    if len(shares) < len(ends):
        raise KeyError("value")
    return Interval(*shares)


def worse_off(rows: Sequence[GroupRow]) -> list[GroupRow]:
    """Return the groups that lose measurably more to the noise than everybody does, the worst first."""
    return sorted((row for row in rows if row.worse), key=lambda row: -(row.more_lost or 0.0))


def words_of_groups(rows: Sequence[GroupRow]) -> str:
    """Return one line about the group that is worst off, if any measurably is; else an empty text."""
    worse = worse_off(rows)
    if not worse:
        return ""
    everybody = rows[0].lost
    beside = "" if everybody is None else f", everybody {100 * everybody + 0.0:.1f}"
    return f"{worse[0].subject} lose {100 * (worse[0].lost or 0.0):.1f} points to noise{beside}"


FALSE_ALARM = 0.01  # chance that any group of a run is called worse where no group is
_ADDED = 2  # people who lose, and as many who gain, that the test adds to either side
_Members = NDArray[np.bool_]


def groups_section(
    setup: Setup, repeats: Sequence[RepeatScores], verdict: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return accuracy by group for the method, the best null model and no noise.

    None where pairs are scored, or where no single model has a prediction of each person.

    Args:
        setup: The run.
        repeats: The scores of its repeats.
        verdict: Its verdict, which names the best null model; None without null models.
    """
    own = [repeat.score for repeat in repeats]
    if any(score.right is None or score.right.dtype.kind != "b" or not len(score.right) for score in own):
        return None
    name = verdict and verdict["best_null"]
    null = [repeat.nulls[name] for repeat in repeats] if name else None
    clean = [repeat.reference for repeat in repeats]
    models = {"method": own, "best_null": _of_people(null), "without_noise": _of_people(clean)}
    splits = [plan.labelled_split(calibration=False) for plan in setup.plans[: len(repeats)]]
    divided = [people_groups(setup.population, split) for split in splits]
    everybody = [np.ones(len(each.split.test), bool) for each in setup.plans[: len(repeats)]]
    names = {(group.by, group.place): group.name for groups in divided for group in groups}
    tail = FALSE_ALARM / max(len(names), 1)
    rows = [{**_section_row(everybody, models), "by": EVERYBODY, "group": EVERYBODY, "more_lost": None, "worse": None}]
    for by, place in sorted(names, key=lambda key: (KINDS.index(key[0]), key[1])):
        masks = [{(group.by, group.place): group.members for group in groups} for groups in divided]
        members = [groups.get((by, place), ~all_) for groups, all_ in zip(masks, everybody, strict=True)]
        worse = _worse(own, models["without_noise"], members, tail)
        rows.append({**_section_row(members, models), "by": by, "group": names[by, place], **worse})
    return {
        "best_null": name,
        "interval": "Wilson" if over_people(len(repeats)) else "Student",
        "test": {"false_alarm": FALSE_ALARM, "groups": len(names), "tail": tail},
        "rows": rows,
    }


def _of_people(scores: Sequence[Score | None] | None) -> list[Score] | None:
    """Return the scores if all of them are of single people."""
    people_scores = [score for score in scores or () if score is not None and score.right is not None]
    return people_scores if scores and len(people_scores) == len(scores) else None


def _section_row(members: Sequence[_Members], models: Mapping[str, Sequence[Score] | None]) -> dict[str, Any]:
    """Return the mean number of people of a group, and the accuracy of each model on them."""
    people = float(np.mean([each.sum() for each in members]))
    return {
        "people": int(people) if people.is_integer() else people,
        **{model: None if scores is None else _accuracy(scores, members) for model, scores in models.items()},
    }


def _accuracy(scores: Sequence[Score], members: Sequence[_Members]) -> dict[str, float]:
    """Return the accuracy in a group: Student's interval over repeats, with fewer than three Wilson's over people."""
    inside = [score.right[each] for score, each in zip(scores, members, strict=True)
              if score.right is not None and each.any()]  # fmt: skip
    over_runs = mean_interval([float(np.mean(right)) for right in inside])
    return asdict(over_runs or joined([share_interval(int(right.sum()), len(right)) for right in inside]))


def _worse(
    own: Sequence[Score], clean: Sequence[Score] | None, members: Sequence[_Members], tail: float
) -> dict[str, Any]:
    """Return how much more accuracy a group loses to the noise than everybody does, and whether that is measurable.

    Args:
        own, clean: Scores of the method and without noise, one a repeat.
        members: The group in each repeat.
        tail: Chance of a false alarm about this group.
    """
    if clean is None:
        return {"more_lost": None, "worse": None}
    values, steady, errors = list[float](), list[float](), list[float]()
    for ours, theirs, inside in zip(own, clean, members, strict=True):
        if not inside.any() or inside.all():
            continue
        assert ours.right is not None and theirs.right is not None
        value, shrunk, error = excess_loss(1 * theirs.right - ours.right, inside, tail)
        values.append(value)
        steady.append(shrunk)
        errors.append(error)
    value = float(np.mean(values))
    upper = over_repeats([-each for each in steady], errors, upper_tail=tail).high
    low = min(-upper, value)
    return {"more_lost": {"value": value, "low": low}, "worse": low > 0}


def excess_loss(lost: NDArray[np.int64], inside: _Members, tail: float) -> tuple[float, float, float]:
    """Return how much more a group loses than everybody, the same drawn towards 0, and its standard error.

    The group is compared with all other people, as two independent samples with variances of their own. Small groups
    need care. Four people are added to either side, two who lose and two who gain, as Agresti and Min (2005,
    doi:10.1002/sim.1781) add some to matched pairs. And the error is widened from the normal law to Student's, with
    as many degrees of freedom as the smaller side has people, less one.

    Args:
        lost: int64 (scored people,): 1 where the method alone is wrong, -1 where no noise alone is wrong, else 0.
        inside: bool (scored people,): the group, which is neither empty nor everybody.
        tail: Tail at which the error is widened.
    """
    rest = float(np.mean(~inside))  # the difference to everybody is this share of that to the others
    value = float(np.mean(lost[inside]) - np.mean(lost))
    sides = lost[inside], lost[~inside]
    means, variances = [], []
    for side in sides:
        people = len(side) + 2 * _ADDED
        centre = float(np.sum(side)) / people
        means.append(centre)
        variances.append(((float(np.count_nonzero(side)) + 2 * _ADDED) / people - centre**2) / people)
    freedom = max(min(map(len, sides)) - 1, 1)
    wider = float(stdtrit(freedom, tail) / ndtri(tail))
    return value, rest * (means[0] - means[1]), rest * wider * float(np.sqrt(sum(variances)))

"""Section ``groups`` of result.json: who is served worse, and who loses more to the noise than everybody does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from ldpsim.strategies.group_accuracy.people_groups import EVERYBODY, KINDS, people_groups
from ldpsim.strategies.results.averages import (
    joined,
    mean_interval,
    over_people,
    over_repeats,
    share_interval,
)
from ldpsim.strategies.results.outcome import RepeatScores, Score
from ldpsim.strategies.setup.run_setup import Setup

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
    doi:10.1002/sim.1781) add some to matched pairs. And the error is widened from the normal distribution to
    Student's, with as many degrees of freedom as the smaller side has people, less one.

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

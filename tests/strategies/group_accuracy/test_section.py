"""Accuracy by groups against counts over people, and the false alarms of its test by exact enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from math import comb, sqrt
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.facts import Split
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.group_accuracy.people_groups import people_groups
from ldpsim.strategies.group_accuracy.section import FALSE_ALARM, excess_loss, groups_section
from ldpsim.strategies.results.outcome import RepeatScores, Score
from ldpsim.strategies.runs.kind import RunKind
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.setup.run_setup import Setup

FEW = {"hogs": {"epochs": "20"}, "vote": {"epochs": "20"}, "fedavg-mlp": {"rounds": "4"}, "raw": {"epochs": "20"},
       "silo-fedavg-gcn": {"rounds": "3"}, "privgnn": {"queries": "20", "K": "10", "epochs": "20"}}  # fmt: skip


class Saved:
    """Everybody's predictions by each model of each repeat, as a run scores them, and the people."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.own: list[np.ndarray] = []
        self.nulls: list[dict[str, np.ndarray]] = []
        self.repeats: list[Repeat] = []
        from ldpsim.strategies.runs import judging as module

        original = module.null_models

        def kept(kind: RunKind, repeat: Repeat, outcome: Any) -> Iterator[tuple[str, Any]]:
            self.repeats.append(repeat)
            self.own.append(outcome.predictions)
            self.nulls.append({})
            for name, wait in original(kind, repeat, outcome):
                self.nulls[-1][name] = wait()
                yield name, partial(self.nulls[-1].__getitem__, name)

        monkeypatch.setattr(module, "null_models", kept)


def group_of(people: Population, person: int, labelled: set[int]) -> set[tuple[str, str]]:
    """Return the groups of a person, from the edges one by one."""
    left, right = people.edges
    others = [int(b) for a, b in zip(left, right, strict=True) if a == person]
    others += [int(a) for a, b in zip(left, right, strict=True) if b == person]
    size = len(others)
    degree = "0" if size == 0 else "1-2" if size < 3 else "3-5" if size < 6 else "6+"
    near = "yes" if labelled & set(others) else "no"
    return {("everybody", "everybody"), ("class", str(people.labels[person])), ("degree", degree),
            ("labelled_neighbour", near)}  # fmt: skip


def wilson(right: int, people: int) -> tuple[float, float]:
    """Return the two shares at which a normal test of the share just passes, by their quadratic equation."""
    z = 1.959963984540054
    a, b, c = people + z**2, -(2 * right + z**2), right**2 / people
    root = sqrt(max(b * b - 4 * a * c, 0.0))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


@pytest.mark.parametrize(
    ("method", "repeats"),
    [
        ("hogs", 3),
        ("vote", 1),
        *(pytest.param(method, 1, marks=pytest.mark.slow) for method in sorted(FEW) if method != "vote"),
        pytest.param("fedavg-mlp", 2, marks=pytest.mark.slow),
    ],
)
def test_the_figures_are_those_of_counts_over_saved_predictions(
    method: str, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = Saved(monkeypatch)
    record = simulate(RunOptions(method=method, clients=240, repeats=repeats, settings=FEW[method], out=None)).record
    section = record["groups"]
    best = record["verdict"]["best_null"]
    assert section["best_null"] == best and section["interval"] == ("Student" if repeats == 3 else "Wilson")
    found = {(row["by"], row["group"]): row for row in section["rows"]}
    counts: dict[tuple[str, str], list[list[list[int]]]] = {}
    for number, repeat in enumerate(saved.repeats):
        labelled = {*repeat.split.train.tolist(), *repeat.split.val.tolist()}
        people = repeat.setup.population
        for person in repeat.split.test.tolist():
            for key in group_of(people, person, labelled):
                rows = counts.setdefault(key, [[] for _ in saved.repeats])
                truth = people.labels[person]
                rows[number].append([int(saved.own[number][person] == truth),
                                     int(saved.nulls[number][best][person] == truth)])  # fmt: skip
    whole = [len(rows) for rows in counts[("everybody", "everybody")]]
    divided = {
        key for key, rows in counts.items() if any(0 < len(row) < all_ for row, all_ in zip(rows, whole, strict=True))
    }
    assert set(found) == divided | {("everybody", "everybody")}
    for key, row in found.items():
        sizes = [len(rows) for rows in counts[key]]
        assert row["people"] == pytest.approx(np.mean(sizes))
        for place, model in enumerate(("method", "best_null")):
            rights = [sum(person[place] for person in rows) for rows in counts[key]]
            shares = [right / size for right, size in zip(rights, sizes, strict=True) if size]
            assert row[model]["value"] == pytest.approx(np.mean(shares))
            ends = (row[model]["low"], row[model]["high"])
            if len(shares) < 3:
                each = [wilson(right, size) for right, size in zip(rights, sizes, strict=True) if size]
                assert ends == pytest.approx((min(low for low, _ in each), max(high for _, high in each)), abs=1e-12)
            else:
                half = stats.t.ppf(0.975, len(shares) - 1) * np.std(shares, ddof=1) / sqrt(len(shares))
                assert ends == pytest.approx((max(np.mean(shares) - half, 0), min(np.mean(shares) + half, 1)))
    everybody = found[("everybody", "everybody")]
    assert everybody["method"]["value"] == pytest.approx(record["accuracy"]["test"])
    if everybody["without_noise"] is not None:
        assert everybody["without_noise"]["value"] == pytest.approx(record["reference"]["nonprivate_test"])
    assert (everybody["worse"], everybody["more_lost"]) == (None, None)


def test_without_a_reference_no_group_is_judged() -> None:
    options = RunOptions(clients=120, settings=FEW["hogs"], reference=False, nulls=False, out=None)
    rows = simulate(options).record["groups"]["rows"]
    assert {row["worse"] for row in rows} == {None} == {row["without_noise"] for row in rows}


@pytest.mark.parametrize("given", [{"groups": False}, {"method": "isolate"}], ids=str)
def test_some_runs_have_no_groups(given: dict[str, Any]) -> None:
    settings = {} if "method" in given else {"epochs": "3"}
    options = RunOptions(clients=120, settings=settings, reference=False, nulls=False, out=None, **given)
    assert simulate(options).record["groups"] is None


def section_of(lost: np.ndarray, inside: np.ndarray, repeats: int = 1) -> dict[str, Any]:
    """Return the section of repeats in which a model without noise is always right, and the method is so or not.

    The section of one group and of all others has their rows by name as well.
    """
    people = len(lost)
    indptr = np.zeros(people + 1, np.int64)
    population = cast(Population, _People(indptr, inside.astype(np.int64)))
    split = SimpleNamespace(test=np.arange(people), labelled=np.zeros(0, np.int64))
    plan = SimpleNamespace(split=split, labelled_split=lambda calibration: split)
    setup = SimpleNamespace(population=population, plans=[plan] * repeats)
    own, clean = Score(float(np.mean(lost != 1)), lost != 1), Score(1.0, np.ones(people, bool))
    repeat = cast(RepeatScores, SimpleNamespace(score=own, nulls={}, reference=clean))
    found = groups_section(cast(Setup, setup), [repeat] * repeats, None)
    assert found is not None
    return found | {row["group"]: row for row in found["rows"]}


class _People:
    def __init__(self, indptr: np.ndarray, labels: np.ndarray) -> None:
        self.neighbour_indptr, self.neighbour_indices, self.labels = indptr, np.zeros(0, np.int64), labels
        self.facts = SimpleNamespace(class_names=("many", "few"))

    def __len__(self) -> int:
        return len(self.labels)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_group_that_loses_much_more_is_named(repeats: int) -> None:
    inside = np.arange(400) < 60
    lost = np.where(inside, np.arange(400) % 2, np.arange(400) % 20 == 0).astype(np.int64)
    rows = section_of(lost, inside, repeats)
    assert rows["few"]["worse"] is True and rows["many"]["worse"] is False
    assert rows["few"]["more_lost"]["value"] == pytest.approx(np.mean(lost[inside]) - np.mean(lost))
    assert 0 < rows["few"]["more_lost"]["low"] < rows["few"]["more_lost"]["value"]
    rows = section_of((np.arange(400) % 5 == 0).astype(np.int64), inside, repeats)
    assert not any(row["worse"] for row in rows["rows"])


@pytest.mark.parametrize(("repeats", "interval"), [(1, "Wilson"), (2, "Wilson"), (3, "Student")])
def test_the_keys_of_the_section_and_its_false_alarm(repeats: int, interval: str) -> None:
    """One in a hundred runs without a group that is worse off may name one, so two groups have half of it each."""
    inside = np.arange(400) < 60
    found = section_of((np.arange(400) % 5 == 0).astype(np.int64), inside, repeats)
    assert found.keys() - {"many", "few", "everybody"} == {"best_null", "interval", "test", "rows"}
    assert found["test"] == {"false_alarm": 0.01, "groups": 2, "tail": 0.005} and found["interval"] == interval
    for row in found["rows"]:
        assert row.keys() == {"by", "group", "people", "method", "best_null", "without_noise", "more_lost", "worse"}
        assert row["method"].keys() == {"value", "low", "high"}
    assert [row["people"] for row in found["rows"]] == [400, 340, 60]
    assert found["few"]["more_lost"].keys() == {"value", "low"} and found["everybody"]["more_lost"] is None


@pytest.mark.parametrize("group", [1, 3, 10, 24])
@pytest.mark.parametrize(
    "chances",
    [((0.2, 0.1), (0.2, 0.1)), ((0.5, 0.3), (0.2, 0.0)), ((0.05, 0.0), (0.05, 0.0)), ((0.3, 0.0), (0.5, 0.2))],
)
def test_a_group_that_loses_as_much_is_named_as_seldom_as_promised(
    group: int, chances: tuple[tuple[float, float], tuple[float, float]]
) -> None:
    """All outcomes of a group and of 30 others are enumerated; both lose as much in the mean."""
    others, tail = 30, FALSE_ALARM / 10
    least = -stats.norm.ppf(tail)
    sides = [list(outcomes(size, *chance)) for size, chance in zip((group, others), chances, strict=True)]
    inside = np.arange(group + others) < group
    alarm = 0.0
    for (chance, lost), (beside, rest) in itertools.product(*sides):
        if chance * beside < 1e-9:
            continue
        _, shrunk, error = excess_loss(np.concatenate([lost, rest]), inside, tail)
        alarm += chance * beside * (shrunk / error > least)
    assert alarm <= tail


def outcomes(people: int, lose: float, gain: float) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the chance of each number of people who lose and who gain, and the people."""
    for losing in range(people + 1):
        for gaining in range(people - losing + 1):
            ways = comb(people, losing) * comb(people - losing, gaining)
            chance = ways * lose**losing * gain**gaining * (1 - lose - gain) ** (people - losing - gaining)
            yield chance, np.repeat([1, -1, 0], [losing, gaining, people - losing - gaining])


def test_people_are_divided_by_class_degree_and_labelled_neighbours() -> None:
    """Person 0 has 7 friends, 1 to 3 of them are a triangle beside; 8 has nobody."""
    edges = np.array([[0, 0, 0, 0, 0, 0, 0, 1, 1, 2], [1, 2, 3, 4, 5, 6, 7, 2, 3, 3]])
    people = build_population(
        "friends", n=9, d=1, edges=edges, feature_indptr=np.zeros(10, np.int64),
        feature_indices=np.zeros(0, np.int64), feature_values=None, labels=np.array([0, 1, 1, 0, 1, 0, 0, 0, 1]),
        classes=2,
    )  # fmt: skip
    split = Split(np.array([4]), np.array([5]), np.array([0, 1, 3, 7, 8]))
    found = {(group.by, group.name): split.test[group.members].tolist() for group in people_groups(people, split)}
    assert found == {
        ("class", "0"): [0, 3, 7],
        ("class", "1"): [1, 8],
        ("degree", "0"): [8],
        ("degree", "1-2"): [7],
        ("degree", "3-5"): [1, 3],
        ("degree", "6+"): [0],
        ("labelled_neighbour", "yes"): [0],
        ("labelled_neighbour", "no"): [1, 3, 7, 8],
    }


def test_a_group_of_everybody_is_left_out() -> None:
    people = build_population(
        "pairs", n=4, d=1, edges=np.array([[0, 2], [1, 3]]), feature_indptr=np.zeros(5, np.int64),
        feature_indices=np.zeros(0, np.int64), feature_values=None, labels=np.array([0, 1, 0, 1]), classes=2,
    )  # fmt: skip
    found = people_groups(people, Split(np.array([1]), np.array([3]), np.array([0, 2])))
    assert found == []

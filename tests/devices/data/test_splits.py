"""Splits: their sizes, split42 against scikit-learn and by its numbers, label rates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets import load
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.facts import Split


@pytest.fixture(scope="module")
def population() -> Population:
    return generate(203, seed=0)


def _parts(split: Split) -> list[list[int]]:
    return [split.train.tolist(), split.val.tolist(), split.test.tolist()]


@pytest.mark.parametrize("kind", ["random", "split42"])
@pytest.mark.parametrize("n", [50, 203, 204, 2708])
def test_everybody_is_in_one_part(kind: str, n: int) -> None:
    split = make_split(kind, generate(n, seed=0), seed=1)
    together = np.concatenate([split.train, split.val, split.test])
    np.testing.assert_array_equal(np.sort(together), np.arange(n))
    for part, share in ((split.train, 0.5), (split.val, 0.25), (split.test, 0.25)):
        assert abs(len(part) - share * n) <= 1
        assert np.all(np.diff(part) > 0)


def test_random_follows_the_seed(population: Population) -> None:
    assert _parts(make_split("random", population, 1)) == _parts(make_split("random", population, 1))
    assert _parts(make_split("random", population, 1)) != _parts(make_split("random", population, 2))


@pytest.mark.parametrize("n", [50, 203, 2110, 2708, 3327])
def test_split42_is_scikit_learns(n: int) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    options = {"test_size": 0.5, "random_state": 42}
    train, rest = selection.train_test_split(np.arange(n), **options)
    val, test = selection.train_test_split(rest, **options)
    expected = [sorted(part.tolist()) for part in (train, val, test)]
    assert _parts(make_split("split42", generate(n, seed=0), seed=9)) == expected


def test_file_is_the_data_sets_own(data_dir: Path, population: Population) -> None:
    split = make_split("file", load("cora", data_dir=data_dir), seed=0)
    assert (len(split.train), len(split.val), len(split.test)) == (140, 500, 1000)
    with pytest.raises(ValueError, match="--split file: generated brings no split of its own; use random or split42"):
        make_split("file", population, seed=0)


def test_people_without_a_label_are_in_no_part(population: Population) -> None:
    labels = population.labels.copy()
    labels[::2] = -1
    half = replace(population, labels=labels)
    for kind in ("random", "split42"):
        split = make_split(kind, half, seed=0)
        assert np.all(np.concatenate([split.train, split.val, split.test]) % 2 == 1)
    with pytest.raises(ValueError, match="0 people with a label are too few"):
        make_split("random", replace(population, labels=np.full(len(population), -1)), seed=0)


@pytest.mark.parametrize("kind", ["random", "split42"])
def test_label_rate(population: Population, kind: str) -> None:
    full = make_split(kind, population, seed=3)
    some = make_split(kind, population, seed=3, label_rate=0.3)
    few = make_split(kind, population, seed=3, label_rate=0.1)
    assert len(some.train) == round(0.3 * 203) and len(few.train) == round(0.1 * 203)
    assert set(few.train) < set(some.train) < set(full.train)
    np.testing.assert_array_equal(few.test, full.test)
    np.testing.assert_array_equal(few.val, full.val)


@pytest.mark.parametrize("kind", ["random", "split42"])
def test_volunteers_are_some_of_the_labelled_people(population: Population, kind: str) -> None:
    whole, some, few = (make_split(kind, population, seed=3, volunteers=share) for share in (None, 0.4, 0.2))
    n = len(population)
    for part, share in ((some, 0.4), (few, 0.2)):
        assert len(part.labelled) == round(share * n) and np.array_equal(part.test, whole.test)
        assert len(part.val) == len(part.labelled) // 3 and set(part.labelled) <= set(whole.labelled)
        assert not set(part.train) & set(part.val)
        assert np.array_equal(part.ordinary, np.setdiff1d(whole.labelled, part.labelled))
    assert not len(whole.ordinary)
    assert set(few.train) <= set(some.train) and set(few.val) <= set(some.val)


@pytest.mark.parametrize(("kind", "n", "sizes"), [("75/10/15", 203, (152, 21, 30)), ("60/20/20", 100, (60, 20, 20))])
def test_shares(kind: str, n: int, sizes: tuple[int, ...]) -> None:
    found = [_parts(make_split(kind, generate(n, seed=0), seed)) for seed in (1, 1, 2)]
    assert tuple(map(len, found[0])) == sizes and sorted(np.concatenate(found[0])) == list(range(n))
    assert found[0] == found[1] != found[2]


def _few() -> Population:
    n = 10
    return build_population("few", n=n, d=1, edges=np.zeros((2, 0), np.int64), feature_indptr=np.arange(n + 1),
                            feature_indices=np.zeros(n, np.int64), feature_values=np.ones(n, np.float32),
                            labels=np.array([0, 0, 0, 0, 0, 0, 1, 1, 2, -1]), classes=3)  # fmt: skip


def test_people_of_each_class_train_and_the_rest_is_divided() -> None:
    """Three of each class: 0 has six, 1 has two, 2 has one; nobody without a label is in a part."""
    people = _few()
    split = make_split("3-each/2", people, seed=5)
    assert np.bincount(people.labels[split.train]).tolist() == [3, 2, 1]
    assert len(split.val) == 2 and len(split.test) == 1 and set(people.labels[[*split.val, *split.test]]) == {0}
    assert _parts(split) == _parts(make_split("3-each/2", people, 5)) != _parts(make_split("3-each/2", people, 6))
    with pytest.raises(ValueError, match="--split 3-each/3: 6 of 9 people train; the 3 others must be more than 3"):
        make_split("3-each/3", people, seed=5)
    for wrong in ("70/10/10", "100/0/0", "0-each/5", "20-each/0", "+1/2/97", "١-each/5"):
        with pytest.raises(ValueError, match="allowed are random, split42, file, percentages"):
            make_split(wrong, people, seed=5)

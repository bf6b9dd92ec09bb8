"""What a run publishes, and what a question about changed features tells about the curator's edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from devices import datasets
from strategies.attacks.audit.published import influences, published_probabilities, run_once
from strategies.runs.set_up import set_up
from strategies.setup.options import RunOptions

PEOPLE = datasets.load("generated", clients=60)
EPOCHS = {"epochs": "5"}


def released(method: str, epsilon: float | None = None, **settings: str) -> Any:
    options = RunOptions(method=method, clients=60, epsilon=epsilon, settings=settings, reference=False,
                         nulls=False, device="cpu", engine="local", out=None)  # fmt: skip
    setup = set_up(options, population=PEOPLE)
    return run_once(setup, setup.repeats[0].split)


def two_steps() -> np.ndarray:
    """bool (n, n): whether a walk of one or two edges joins two people."""
    joined = np.zeros((60, 60), bool)
    joined[tuple(PEOPLE.edges)] = joined[tuple(PEOPLE.edges[::-1])] = True
    return joined | (joined.astype(int) @ joined > 0)


@pytest.mark.parametrize(("method", "settings"), [("raw", EPOCHS), ("fedavg-gnn", {"rounds": "2"})])
def test_features_move_the_answers_about_people_within_two_steps_alone(method: str, settings: dict[str, str]) -> None:
    release = released(method, **settings)
    before = published_probabilities(release.outcome, release.setup, PEOPLE)
    pairs = np.array([(0, other) for other in range(1, 60)])
    found = influences(release, PEOPLE, pairs, before)
    assert found is not None
    near = two_steps()[0, 1:]
    assert not found[~near].any() and found[near].mean() > 0


@pytest.mark.parametrize(("method", "epsilon"), [("hogs", 4.0), ("solitude", 4.0), ("lpgnn", 4.0)])
def test_the_same_features_give_the_same_answers(method: str, epsilon: float) -> None:
    """Dense features, a product of factors, learned weights of edges: a network that is bound again is the same."""
    release = released(method, epsilon, **EPOCHS)
    before = published_probabilities(release.outcome, release.setup, PEOPLE)
    release.outcome.model.rebind(replace(release.graph))
    assert np.array_equal(before, published_probabilities(release.outcome, release.setup, PEOPLE))
    found = influences(release, PEOPLE, np.array([(0, 1), (0, 0)]), before)
    assert found is not None and found[1] > 0


def test_classes_alone_cannot_be_asked_again_and_public_data_are_those_of_the_run() -> None:
    release = released("vote", 4.0)
    published = published_probabilities(release.outcome, release.setup, PEOPLE)
    assert np.array_equal(published.argmax(axis=1), release.outcome.predictions)
    assert influences(release, PEOPLE, np.array([[0, 1]]), published) is None
    labelled = release.setup.repeats[0].split.labelled
    assert np.array_equal(np.flatnonzero(release.labels >= 0), labelled) and release.features is None
    blink = released("blink", 4.0, **EPOCHS)
    assert blink.features is not None and blink.graph is not None


def test_private_people_of_an_owner_are_scored_by_the_student_without_their_edges() -> None:
    release = released("pate-m", None, queries="10", teachers="2")
    published = published_probabilities(release.outcome, release.setup, PEOPLE)
    private = release.setup.repeats[0].split.private
    assert (release.outcome.predictions[private] == -1).all() and (release.labels == -1).all()
    assert np.ptp(published[private], axis=1).min() > 0 and np.exp(published[private]).sum(axis=1) == pytest.approx(1)

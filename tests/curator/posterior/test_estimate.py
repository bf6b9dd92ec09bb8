from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.posterior.estimate import LIKELY, Estimate, estimate
from tests.curator.posterior.worlds import CLASSES, SPLIT, world

SETTINGS: dict[str, dict] = {
    "public features": {"epsilon": 3.0},
    "nothing but links": {"public": False},
    "reported bits": {"public": False, "bits": True},
    "private labels": {"private_labels": True},
    "one end": {"reporting": "one-end", "epsilon": 5.0},
    "silent": {"silent": (0, 7, 80, 120)},
    "public graph": {"public_graph": True, "private_labels": True},
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_it_reads_whatever_was_asked(setting: dict) -> None:
    reports, public, labels = world(**setting)
    found = estimate(Evidence(reports, public))
    right = (found.answer.log_probability.argmax(axis=1) == labels)[SPLIT.test]
    assert right.mean() > 0.8
    assert (found.probability >= LIKELY).all() and (found.left < found.right).all()
    notes = found.notes()
    assert notes["answer"] == found.answer.chosen and notes["stopped"] and notes["pairs"] >= len(found.left)


def test_links_that_say_nothing_are_guarded() -> None:
    reports, public, labels = world(inside=0.03, outside=0.03, words=0.5)
    found = estimate(Evidence(reports, public))
    features = found.components["features"].argmax(axis=1)
    published = found.answer.log_probability.argmax(axis=1)
    assert (features == labels)[SPLIT.test].mean() - (published == labels)[SPLIT.test].mean() <= 0.06


def test_the_largest_class_is_a_candidate_without_features() -> None:
    reports, public, labels = world(public=False, inside=0.03, outside=0.03)
    found = estimate(Evidence(reports, public))
    largest = np.bincount(labels[SPLIT.train]).argmax()
    assert found.answer.accuracy["largest class"] == pytest.approx(np.mean(labels[SPLIT.val] == largest))


def test_flipping_one_label_has_no_special_effect_on_its_owner() -> None:
    """A validation label moves everybody's exponents. A training label reaches neighbours, not its own row."""
    reports, public, labels = world(epsilon=3.0)
    before = estimate(Evidence(reports, public))

    def after(person: int) -> Estimate:
        known = public.labels.copy()
        known[person] = (labels[person] + 1) % CLASSES
        return estimate(Evidence(reports, dataclasses.replace(public, labels=known)))

    val, train = int(SPLIT.val[3]), int(SPLIT.train[3])
    change = np.abs(np.exp(after(val).answer.log_probability) - np.exp(before.answer.log_probability)).max(axis=1)
    assert change[val] <= np.quantile(change, 0.95) + 1e-9
    rows = [np.exp(found.components["beliefs"]) for found in (before, after(train))]
    change = np.abs(rows[1] - rows[0]).max(axis=1)
    assert change[train] < 0.2 * np.sort(change)[-5:].mean()  # power: its neighbours' rows move

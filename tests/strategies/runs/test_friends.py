"""A run of friends who exchange predictions: what is read, what the result says, and what a deployment says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.outputs.deployment import undeployable
from ldpsim.strategies.outputs.result_view import text_of_run
from ldpsim.strategies.results.friends_tell import learned_by_party
from ldpsim.strategies.runs.kinds import friends
from ldpsim.strategies.runs.prepare import prepare

PEOPLE = generate(200, seed=1)
OPTIONS = RunOptions(method="p2pgnn", clients=200, volunteers=0.2, settings={"rounds": "300"}, out=None, groups=False)


def run(people: Population = PEOPLE, **more: Any) -> dict[str, Any]:
    return simulate(replace(OPTIONS, **more), population=people).record


def test_nobody_reports_and_the_result_says_who_is_trusted() -> None:
    record = run()
    privacy, sent = record["privacy"], record["communication"]["by_phase"]["friends"]
    assert privacy["trusted"] == "friends" and {level["status"] for level in privacy["holds"].values()} == {"not asked"}
    assert record["devices"]["asked"] == 0 and sent["messages"] == 2 * record["friends"]["exchanges"] > 0
    assert sent["uplink_bytes"] == sent["messages"] * 2 * 6 * 4  # two vectors of six classes, four bytes each
    assert record["accuracy"]["curator"] is None and record["accuracy"]["device"] == record["accuracy"]["test"]
    assert record["accuracy"]["test"] > record["nulls"]["features_alone"]["test"]
    assert list(learned_by_party(record)) == [
        "to a friend", "to friends of friends", "to the carrier", "to a friend with the curator", "to the curator",
    ]  # fmt: skip
    text = text_of_run(record, None)
    assert "friends tell values in clear" in text and "friends, carrier" in text


def test_no_label_is_read_but_that_of_volunteers(monkeypatch: pytest.MonkeyPatch) -> None:
    """With other labels of everybody else devices begin with the same values."""
    began: list[tuple[np.ndarray, np.ndarray]] = []
    spreads = friends.diffuse

    def watched(own: np.ndarray, labels: np.ndarray, *given: Any, **more: Any) -> Any:
        began.append((own, labels))
        return spreads(own, labels, *given, **more)

    monkeypatch.setattr(friends, "diffuse", watched)
    labelled = prepare(OPTIONS, population=PEOPLE).plans[0].split.labelled
    others, labels = np.setdiff1d(np.arange(len(PEOPLE)), labelled), PEOPLE.labels.copy()
    labels[others] = np.roll(labels[others], 7)
    run()
    run(replace(PEOPLE, labels=labels))
    (own, public), (own_again, public_again) = began
    assert np.array_equal(own, own_again) and np.array_equal(public, public_again)
    assert np.array_equal(np.flatnonzero(public >= 0), labelled) and (labels != PEOPLE.labels).any()


def test_a_deployment_refuses_it_in_one_line() -> None:
    assert undeployable(prepare(OPTIONS)) == "p2pgnn does not ask devices for one private report"
    for option in ({"epsilon": 2.0}, {"private_labels": True}, {"dropout": 0.1}):
        with pytest.raises(ValueError, match="p2pgnn"):
            prepare(replace(OPTIONS, **option))

"""The device model is a function of reports and public data: other private data give the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.device_model import DeviceModelInputs
from ldpsim.devices.data.population import Population
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import Repeat, start_repeat

VOTE = {"method": "vote", "volunteers": 0.3, "private_labels": True, "epsilon": 4.0}


def _text(repeat: Repeat, people: Population, collected: Collected) -> str:
    """Return the device model that is made of these reports where the devices hold these people's data."""
    other = replace(repeat, setup=replace(repeat.setup, people=people))
    make = kind_of(other.setup.method).work(other, replace(collected)).make_device_models
    assert make is not None
    model, without_reports = make()
    return model.as_text() + ("" if without_reports is None else without_reports.as_text())


@pytest.mark.parametrize(
    "given", [VOTE, {"method": "hogs"}, {"method": "lpgnn", "eps_features": 1.0, "eps_labels": 1.0}, {"method": "sbp"}],
    ids=lambda given: str(given["method"]),
)  # fmt: skip
def test_other_private_data_behind_the_same_reports_give_the_same_device_model(
    given: dict[str, Any], tmp_path: Path
) -> None:
    settings = {} if given["method"] in ("vote", "sbp") else {"epochs": "2"}
    setup = prepare(RunOptions(clients=120, reference=False, nulls=False, out=tmp_path, settings=settings, **given))
    repeat = start_repeat(setup, 0, tmp_path, tmp_path / "state")
    collected, people = ask(repeat), setup.population
    repeat.end_collection()
    attributes = ["features", "label"] + (["adjacency"] if given["method"] != "lpgnn" else [])  # its links are public
    changed = shuffled(people, attributes, seed=51, among=repeat.split.test)
    assert not np.array_equal(changed.labels, people.labels)
    made = _text(repeat, people, collected)
    assert _text(repeat, changed, collected) == made
    public = repeat.split.labelled
    labels = people.labels.copy()
    labels[public] = (labels[public] + 1) % people.facts.classes
    if given["method"] in ("hogs", "sbp"):  # elsewhere no label is public
        assert _text(repeat, replace(people, labels=labels), collected) != made


@pytest.mark.parametrize(
    ("given", "calibrated"), [(VOTE, True), ({"method": "sbp"}, False), ({"method": "hogs"}, False)]
)
def test_what_was_not_fitted_to_validation_labels_gets_a_temperature(
    given: dict[str, Any], calibrated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network, and `sbp`, learn from training labels; what `vote` says is fitted to all labels."""
    heard: list[bool] = []
    build = DeviceModelInputs.build_device_model

    def noted(self: DeviceModelInputs, *said: Any, calibrated: bool) -> Any:
        heard.append(calibrated)
        return build(self, *said, calibrated=calibrated)

    monkeypatch.setattr(DeviceModelInputs, "build_device_model", noted)
    settings = {"epochs": "2"} if given["method"] == "hogs" else {}
    simulate(RunOptions(clients=120, reference=False, nulls=False, out=None, settings=settings, **given))
    assert heard == [calibrated]

"""Lifetime losses that machines read from their own ledgers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.parts import Parts
from ldpsim.devices.enrolment.placement import Place, enrol_elsewhere
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.results import lifetime_on_machines as module
from ldpsim.strategies.results.lifetime import nothing_known
from ldpsim.strategies.results.lifetime_on_machines import lifetime_on_machines, losses_of_part
from tests.strategies.engines.one_process_ray import OneProcessRay, Session


def test_losses_are_complete_where_every_shard_is_on_its_machine_since_its_enrolment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = generate(40, seed=0)
    state = enrol_elsewhere(tmp_path / "state", people, policy_for([], people.facts), seed=1)
    parts = Parts(state.devices_id, tmp_path / "one")
    parts.enrol(people, state.policy, [0], seed=1)
    monkeypatch.setattr(module, "RaySession", lambda *_: Session(OneProcessRay({}, {"one": tmp_path / "one"})))
    place = Place(parts.machine, 1)
    for places, complete in (
        ({}, False), ({0: place}, True), ({0: replace(place, known=False)}, False), ({0: Place("two")}, False)
    ):  # fmt: skip
        state.write_places(places)
        assert lifetime_on_machines(state, workers=None, address=None).complete is complete, places
    state.write_places({0: place})
    found = lifetime_on_machines(state, workers=None, address=None)
    assert found.figures() == nothing_known(complete=True).figures()
    devices, losses = losses_of_part(tmp_path / "one" / "shards" / state.devices_id / "part-0", [0])
    assert devices.tolist() == list(range(40)) and losses.levels["user"].shape == (40,) and losses.complete
    parts.folders()[0].rename(tmp_path / "away")
    assert lifetime_on_machines(state, workers=None, address=None).complete is False

"""State folders of devices that live elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.placement import Place, PlacedState, enrol_elsewhere, is_placed, state_at
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.ledger import LedgerDamaged
from ldpsim.devices.policy.policy import policy_for


def test_a_placed_folder_has_no_secret_and_no_ledger_and_keeps_places(tmp_path: Path) -> None:
    people = generate(40, seed=0)
    state = enrol_elsewhere(tmp_path / "state", people, policy_for([], people.facts), seed=7)
    assert {path.name for path in state.folder.iterdir()} == {"enrolment.json", "population", "shards.json"}
    assert (state.seed, list(state.shards), state.places()) == (7, [0], {})
    state.write_places({0: Place("one", 3, known=False)})
    again = state_at(tmp_path / "state")
    assert isinstance(again, PlacedState) and again.places() == {0: Place("one", 3, known=False)}
    assert again.devices_id == state.devices_id and again.open_collection("a", "1") == "1"
    with pytest.raises(LedgerDamaged, match="on other machines"):
        again.ledger(0)
    with pytest.raises(ValueError, match="holds enrolled devices already"):
        enrol_elsewhere(tmp_path / "state", people, state.policy, seed=7)


@pytest.mark.parametrize(
    "content",
    [None, "", "[]", '{"0": 5}', '{"0": {}}', '{"0": {"machine": 5}}', '{"x": {"machine": "one"}}',
     *(f'{{"0": {{"machine": "one", "epoch": {epoch}}}}}' for epoch in ('"1"', -1, 1.0, "NaN", 1 << 62)),
     '{"0": {"machine": "one", "known": 1}}', '{"1": {"machine": "one"}}', '{"-1": {"machine": "one"}}'],
)  # fmt: skip
def test_places_that_cannot_be_read_are_one_line(tmp_path: Path, content: str | None) -> None:
    """They are not taken for those of people without devices, who would get some."""
    people = generate(40, seed=0)
    state = enrol_elsewhere(tmp_path / "state", people, policy_for([], people.facts), seed=None)
    (state.folder / "shards.json").unlink()
    if content is not None:
        (state.folder / "shards.json").write_text(content)
    with pytest.raises(ValueError, match="shards.json cannot be read: the places of the devices are lost"):
        state.places()


def test_an_enrolment_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    for content in ("", "{", "null", "[]"):
        (tmp_path / "enrolment.json").write_text(content)
        assert not is_placed(tmp_path)
        with pytest.raises(ValueError, match="holds no enrolled devices|by a version that this one does not read"):
            state_at(tmp_path)


def test_a_folder_is_of_one_kind(tmp_path: Path) -> None:
    people = generate(40, seed=0)
    policy = policy_for([], people.facts)
    enrol(tmp_path / "here", people, policy, seed=None)
    elsewhere = enrol_elsewhere(tmp_path / "there", people, policy, seed=None)
    assert elsewhere.seed is None and not elsewhere.head["simulation_seeded"]
    assert [is_placed(tmp_path / name) for name in ("here", "there", "nowhere")] == [False, True, False]
    assert not isinstance(state_at(tmp_path / "here"), PlacedState)
    with pytest.raises(ValueError, match="its devices live in this folder"):
        PlacedState(tmp_path / "here")
    with pytest.raises(ValueError, match="its devices live on the machines of a Ray cluster"):
        State(tmp_path / "there")

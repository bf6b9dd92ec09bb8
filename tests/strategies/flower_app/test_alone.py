"""Covers given too."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from ldpsim.strategies.flower_app import alone
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions

ROOT = Path(__file__).parents[3]


def test_the_app_of_the_checkout_lists_the_keys_that_are_read() -> None:
    """The table in pyproject.toml is for `flwr run .`; an installed package writes it itself."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    assert listed == alone.default_config()
    assert {key: type(value) for key, value in listed.items()} == {
        key: type(value) for key, value in alone.default_config().items()
    }
    options = {spec.key: spec for spec in declared(RunOptions).values() if spec.flower}
    assert set(listed) == {*alone.OWN_KEYS, *options}
    for key, value in listed.items():
        assert not value or value == options[key].default, f"{key}: empty text and 0 mean not given"


class Told:
    """What a run does with nodes that say these things of themselves: (device, whether its state is its own)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, known: dict[int, tuple[int, bool]], connected: int) -> None:
        self.expected: list[int] = []
        self.simulated: list[tuple[Path, int]] = []
        self.deployed: list[object] = []

        def wait(grid: object, expected: int) -> list[int]:
            self.expected.append(expected)
            return list(range(connected))

        monkeypatch.setattr(alone, "wait_for_nodes", wait)
        monkeypatch.setattr(alone, "introduce", lambda grid, nodes, timeout: known)
        monkeypatch.setattr(
            alone, "_simulate", lambda config, state, enrolled, nodes, collect: self.simulated.append((state, nodes))
        )
        monkeypatch.setattr(alone, "run_deployed", lambda config, public, terms, *_: self.deployed.append(terms))

    def run(self, **config: str | int) -> None:
        alone.run_alone(None, SimpleNamespace(run_config=config, run_id=7))  # type: ignore[arg-type]


@pytest.mark.parametrize("own", [(True, True), (True, False), (False, True)])
def test_devices_of_nodes_are_not_enrolled_again(monkeypatch: pytest.MonkeyPatch, own: tuple[bool, bool]) -> None:
    """Also where one node alone has devices: a curator who enrols them would hold their secrets."""
    told = Told(monkeypatch, {1: (0, own[0]), 2: (1, own[1])}, connected=2)
    with pytest.raises(ValueError, match="have devices of their own, which a curator does not enrol"):
        told.run()
    assert not told.simulated and not told.deployed


def test_nodes_that_say_nothing_are_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(monkeypatch, {}, connected=2)
    with pytest.raises(ValueError, match="none of 2 nodes says which device it is"):
        told.run()
    assert not told.simulated


@pytest.mark.parametrize(("dataset", "everybody"), [("", 300), ("cora", 2708)])
def test_too_few_nodes_are_told_the_option_to_give(
    monkeypatch: pytest.MonkeyPatch, dataset: str, everybody: int
) -> None:
    """Flower's own default is two nodes."""
    monkeypatch.setattr(alone, "wait_for_nodes", lambda grid, expected: [5, 6])
    monkeypatch.setattr(alone, "introduce", lambda grid, nodes, timeout: {node: (node, False) for node in nodes})
    context = SimpleNamespace(run_config={"dataset": dataset}, run_id=7)
    with pytest.raises(ValueError, match="2 SuperNodes are 2 people, too few") as caught:
        alone.run_alone(None, context)  # type: ignore[arg-type]
    assert f'--federation-config "num-supernodes={everybody} client-resources-num-cpus=1"' in str(caught.value)


@pytest.mark.parametrize(("text", "says"), [
    (None, "No such file"), ("epsilon = ", "no configuration of a run"),
    ("collector-key = 'key'", "no key collector-key"), ("epsilon = [1]", "no key epsilon of this kind"),
])  # fmt: skip
def test_a_bad_configuration_is_one_line(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "run.toml").write_text(text)
    with pytest.raises(ValueError, match=says) as caught:
        alone.read_config(tmp_path / "run.toml")
    assert "\n" not in str(caught.value)

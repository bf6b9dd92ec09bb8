"""Lying devices among honest ones: who answers what, on both engines."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curator.methods import Question
from devices.data.population import Population
from devices.enrolment.state import State
from strategies.attacks.liars.attacks import ATTACKS
from strategies.attacks.liars.grid import LyingGrid, Memory, among
from strategies.attacks.liars.plan import LyingPlan
from strategies.engines.collect import collect
from strategies.engines.grids import LocalGrid, SiloGrid
from strategies.rounds.collect_once import Collected

ROOT = Path(__file__).resolve().parents[4]
LIARS = np.array([2, 17, 30])


def plan(population: Population, attack: str = "all-ones", lie: str = "response") -> LyingPlan:
    return LyingPlan(
        ATTACKS[attack], lie, ATTACKS[attack].goal, "all", population, LIARS, np.array([4, 9]), fakes=5, seed=3
    )


Asked = Callable[..., Collected]


@pytest.fixture
def asked(enrolled: Callable[..., State], ask: Callable[..., tuple[Question, ...]], population: Population) -> Asked:
    """Return what a fresh fleet reports, with or without liars."""

    def collected(lies: LyingPlan | None = None, **given: object) -> Collected:
        around = None if lies is None else among(lies)
        return collect(enrolled().folder, ask(), devices=len(population), engine="local", around=around, **given)

    return collected


@pytest.mark.parametrize("attack", ["all-ones", "fakes", "mimic", "extreme-bit", "copy"])
def test_honest_reports_stay_the_same_bytes(asked: Asked, population: Population, attack: str) -> None:
    """And a liar's report differs in the attacked attribute alone; its bytes decode."""
    honest = asked()
    for lie in ATTACKS[attack].lies:
        lied = asked(plan(population, attack, lie))
        assert set(lied.reports) == set(honest.reports)
        changed = {device for device in honest.reports if lied.reports[device] != honest.reports[device]}
        assert changed <= set(LIARS.tolist()) and changed
        other = "features" if attack in ("all-ones", "fakes", "mimic") else "adjacency"
        for device in LIARS.tolist():
            assert lied.answers[device][other] == honest.answers[device][other]


def test_responses_add_to_the_honest_row(asked: Asked, ask: Callable[..., tuple[Question, ...]],
                                         population: Population) -> None:  # fmt: skip
    mechanism = ask()[0].query.asks[0].mechanisms[0]
    honest, lied = asked(), asked(plan(population, "fakes"))
    for device in LIARS.tolist():
        before, after = (mechanism.decode(found.answers[device]["adjacency"][0], device=device)
                         for found in (honest, lied))  # fmt: skip
        assert not (before & ~after).any()
        claimed = mechanism.row(device, plan(population, "fakes").record(device, mechanism).neighbours)
        assert (after == before | claimed).all()


def test_input_lies_have_the_devices_own_noise(asked: Asked, population: Population) -> None:
    """Two collections from the same secrets give the same lies; they are noisy."""
    first, second = (asked(plan(population, "extreme-bit", "input")) for _ in range(2))
    assert first.reports == second.reports
    assert first.reports_sha256 != asked(plan(population, "extreme-bit")).reports_sha256


def test_a_liar_refuses_as_its_device_does(enrolled: Callable[..., State], ask: Callable[..., tuple[Question, ...]],
                                           population: Population) -> None:  # fmt: skip
    folder = enrolled(on_requery="refuse").folder
    given = {"devices": len(population), "engine": "local", "around": among(plan(population))}
    collect(folder, ask(), **given)
    again = collect(folder, ask("second"), **given)
    assert again.refused["REPORT_COLLECTED"] == len(population)


def test_the_same_reports_on_ray(ray_here: None, enrolled: Callable[..., State], population: Population, asked: Asked,
                                 ask: Callable[..., tuple[Question, ...]]) -> None:  # fmt: skip
    over_ray = collect(enrolled().folder, ask(), devices=len(population), engine="ray", workers=1,
                       around=among(plan(population)))  # fmt: skip
    assert over_ray.reports == asked(plan(population)).reports


def test_silos_and_devices_have_plans_of_their_own(
    population: Population, tmp_path: Path, enrolled: Callable[..., State]
) -> None:
    devices, silos = LocalGrid(enrolled().folder, 40), SiloGrid(tmp_path, 3)
    around = among(plan(population), None)
    assert isinstance(around(devices, tmp_path), LyingGrid) and around(silos, tmp_path) is silos
    around = among(None, replace(plan(population), liars=np.array([1])))
    assert around(devices, tmp_path) is devices and isinstance(around(silos, tmp_path), LyingGrid)


def test_messages_are_sent_one_a_device(population: Population, enrolled: Callable[..., State]) -> None:
    """A batch message would hide from the Grid which device it is for."""
    grid = LyingGrid(LocalGrid(enrolled().folder, 40), enrolled().folder, plan(population))
    assert not getattr(grid, "takes_batches", False)


def test_the_published_app_reaches_no_lie() -> None:
    """Nothing in `devices`, nor the apps that a collector ships, imports the edited app, over any number of steps."""
    seen: set[str] = set()
    waiting = ["devices.client_app", "devices.fleet", "devices.vault.server", "strategies.server_app",
               "strategies.flower_app.deployed"]  # fmt: skip
    while waiting:
        name = waiting.pop()
        path = ROOT / (name.replace(".", "/") + ".py")
        path = path if path.is_file() else ROOT / name.replace(".", "/") / "__init__.py"
        if name in seen or not path.is_file():
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    assert "devices.device" in seen and len(seen) > 50
    assert not {name for name in seen if name.startswith(("strategies.attacks.liars", "strategies.attacks.poison"))}


def test_honest_devices_answer_once_for_many_cells(asked: Asked, population: Population, enrolled: Callable[..., State],
                                                   ask: Callable[..., tuple[Question, ...]]) -> None:  # fmt: skip
    """The replies that are remembered are the bytes that a fresh fleet gives, at another budget other ones."""
    memory: Memory = {}
    first = collect(enrolled().folder, ask("first"), devices=40, engine="local", around=among(None, memory=memory))
    assert len(memory) == 40
    lies = plan(population)
    later = collect(enrolled().folder, ask("second"), devices=40, engine="local", around=among(lies, memory=memory))
    assert first.reports == asked().reports and later.reports == asked(lies).reports
    other = collect(enrolled(on_requery="refuse").folder, ask("third", 4.0), devices=40, engine="local",
                    around=among(None, memory=memory))  # fmt: skip
    assert other.refused["POLICY_REFUSED"] == 40 or other.reports != first.reports

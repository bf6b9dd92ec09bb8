"""Layers inside the packages: arrows between folders run down, no circle, no crowded folder, no long module."""

from __future__ import annotations

import graphlib
import re
from collections import Counter
from pathlib import Path

import pytest

import ldpsim.curator
from docs.layers import (
    CURATOR_FROM_DEVICES,
    LAYERS,
    PACKAGES,
    ROOT,
    folder_arrows,
    module_arrows,
    modules,
    unit,
    units_imported,
)

MOST_MODULES, MOST_LINES = 16, 500
# One file each of many of a kind: no cap, so that one more can be added.
FAMILIES = ("ldpsim.devices.mechanisms", "ldpsim.devices.datasets", "ldpsim.curator.methods")


def circle(arrows: set[tuple[str, str]]) -> list[str] | None:
    """Return one circle of any length, None where there is none."""
    graph: dict[str, set[str]] = {}
    for start, end in arrows:
        graph.setdefault(start, set()).add(end)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return None


def upward(package: str, arrows: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the arrows that do not go to a lower layer."""
    layer = {name: number for number, names in enumerate(LAYERS[package]) for name in names}
    return [(start, end) for start, end in sorted(arrows) if not layer[start] > layer[end]]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_between_modules(package: str) -> None:
    assert circle(module_arrows(ROOT, package)) is None


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_between_units_run_down(package: str) -> None:
    arrows = folder_arrows(ROOT, package)
    assert upward(package, arrows) == []
    assert circle(arrows) is None


@pytest.mark.parametrize("package", PACKAGES)
def test_every_unit_has_its_layer(package: str) -> None:
    placed = Counter(name for names in LAYERS[package] for name in names)
    assert max(placed.values()) == 1
    units = {unit(name) for name in modules(ROOT, package)}
    # an __init__ that imports nothing, and that nobody reads, needs no layer
    unused = {name for name in units if name.endswith("__init__")} - {
        n for a in folder_arrows(ROOT, package) for n in a
    }
    assert units - unused == set(placed)


def test_the_curator_imports_of_devices_what_it_says_and_reaches_none() -> None:
    """Arrows run down, so what lies below the draw and the ledger reaches neither them nor a device."""
    assert units_imported(ROOT, "curator", "devices") == set(CURATOR_FROM_DEVICES)
    below = next(number for number, names in enumerate(LAYERS["devices"]) if {"draw", "ledger"} <= set(names))
    assert {name for names in LAYERS["devices"][:below] for name in names} >= set(CURATOR_FROM_DEVICES)
    named = set(re.findall(r"``(\w+)``", ldpsim.curator.__doc__ or ""))  # paths of files have more than letters
    assert named == {*CURATOR_FROM_DEVICES, "devices", "strategies", "cli", "draw", "ledger"}


def test_an_import_of_a_device_is_seen(tmp_path: Path) -> None:
    """Inside a function too, and through the folder."""
    for name, text in {
        "curator/one.py": "def f():\n    from ldpsim.devices import device\n", "devices/device.py": "",
        "curator/two.py": "from ldpsim.devices.ledger.ledger import Ledger\n", "devices/ledger/ledger.py": "",
        "curator/three.py": "import ldpsim.devices.facts\n", "devices/facts.py": "", "devices/factsheet.py": "",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert units_imported(tmp_path, "curator", "devices") == {"device", "ledger", "facts"}


@pytest.mark.parametrize("package", ["devices", "curator", "strategies"])
def test_no_folder_is_crowded(package: str) -> None:
    folders = Counter(name.rpartition(".")[0] for name in modules(ROOT, package) if not name.endswith("__init__"))
    for folder, count in folders.items():
        assert count <= MOST_MODULES or folder.startswith(FAMILIES), f"{folder} holds {count} modules"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_long(package: str) -> None:
    for name, path in modules(ROOT, package).items():
        lines = len(path.read_text().splitlines())
        assert lines <= MOST_LINES, f"{name} has {lines} lines"

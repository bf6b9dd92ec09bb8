"""Architecture page: one screen, and it names every room and only files that exist."""

from __future__ import annotations

import re

from docs.rooms import FLOORS, ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()


def test_it_is_one_screen() -> None:
    assert len(PAGE.splitlines()) <= 60


def test_it_names_every_folder() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    for package in ("devices", "curator", "strategies"):
        rooms = {name.partition(".")[0] for names in FLOORS[package] for name in names} - {"__init__"}
        folders = {name for name in rooms if (ROOT / package / name).is_dir()}
        assert folders <= named, package


def test_the_files_that_it_names_exist() -> None:
    named = [name for name in re.findall(r"`([\w/]+\.py)`", PAGE) if "NAME" not in name]
    assert len(named) >= 6
    for name in named:
        assert (ROOT / name).is_file() or (ROOT / "devices" / name).is_file(), name


def test_the_number_of_files_is_what_is_listed() -> None:
    """At most 2 files for a mechanism, a method, a data set and an option; 3 for a level and a federated strategy."""
    rows = re.findall(r"^\| ([a-z ,]+) \| (.*) \| (\d) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 7
    for name, _, number in rows:
        assert int(number) <= (3 if name == "level" or "strategy" in name else 2), name

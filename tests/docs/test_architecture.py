"""Architecture page: one screen, and it names every folder and only files and functions that exist."""

from __future__ import annotations

import re

from docs.layers import LAYERS, ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()


def test_it_names_every_folder() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    for package in ("devices", "curator", "strategies"):
        units = {name.partition(".")[0] for names in LAYERS[package] for name in names} - {"__init__"}
        folders = {name for name in units if (ROOT / package / name).is_dir()}
        assert folders <= named, package


def test_the_files_and_functions_that_it_names_exist() -> None:
    """A function stands behind its file: `folder/file.py`, `function()`."""
    steps = re.findall(r"`(\w[\w/]*\.py)`((?:,? `\w[\w.]*\(\)`)*)", PAGE)
    assert len(steps) >= 15
    for file, functions in steps:
        if "NAME" in file:
            continue
        text = (ROOT / file).read_text()
        for name in re.findall(r"`([\w.]+)\(\)`", functions):
            assert re.search(rf"def {name.rpartition('.')[2]}\(", text), (file, name)
